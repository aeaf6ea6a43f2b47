package fake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	stderrKept   = 16 << 10         // bytes of an agent's stderr that an error may quote
	writeTimeout = 10 * time.Second // for an agent that does not read its input
	drainTimeout = time.Second      // for pipes that outlive the agent
)

// child is the agent's process with its pipes. Its group is its own.
type child struct {
	cmd    *exec.Cmd
	stdout *os.File
	stderr tail
	exited chan struct{} // closed when the process was reaped and its group killed
	state  string        // how it ended, after exited
	failed bool          // it ended by a signal or with a code other than 0, after exited

	writing sync.Mutex
	stdin   *os.File
}

type childPipes struct{ inR, inW, outR, outW, errR, errW *os.File }

func openPipes() (childPipes, error) {
	var p childPipes
	for _, pair := range [][2]**os.File{{&p.inR, &p.inW}, {&p.outR, &p.outW}, {&p.errR, &p.errW}} {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(p.inR, p.inW, p.outR, p.outW, p.errR, p.errW)
			return p, err
		}
		*pair[0], *pair[1] = r, w
	}
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // a pipe's end: nothing is buffered, nothing can be lost
		}
	}
}

// spawn starts an agent.
func spawn(argv, env []string, dir string) (*child, error) {
	pipes, err := openPipes()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.inR, pipes.outW, pipes.errW
	cmd.SysProcAttr = ownGroup(syscall.SIGTERM)
	c := &child{cmd: cmd, stdin: pipes.inW, stdout: pipes.outR, exited: make(chan struct{})}
	started := make(chan error)
	go c.live(pipes, started)
	if err := <-started; err != nil {
		closeAll(pipes.inR, pipes.inW, pipes.outR, pipes.outW, pipes.errR, pipes.errW)
		return nil, err
	}
	return c, nil
}

// live starts the process and waits for its end. It keeps its OS thread for all
// that time: the parent-death signal is sent when the thread that started a
// process ends.
func (c *child) live(pipes childPipes, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.cmd.Start(); err != nil {
		started <- err
		return
	}
	closeAll(pipes.inR, pipes.outW, pipes.errW)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		// The error is the end of the stream or of our patience with it.
		_, _ = io.Copy(&c.stderr, pipes.errR)
	}()
	started <- nil
	err := c.cmd.Wait()
	c.state, c.failed = c.cmd.ProcessState.String(), err != nil
	killGroup(c.cmd.Process.Pid)
	limit := time.Now().Add(drainTimeout)
	// Without deadlines the readers would only wait for the pipes' last writer.
	_ = pipes.errR.SetReadDeadline(limit)
	_ = c.stdout.SetReadDeadline(limit)
	<-drained
	closeAll(pipes.errR)
	close(c.exited)
}

// send writes one line to the agent.
func (c *child) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.stdin.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = c.stdin.Write(append(data, '\n'))
	return err
}

// stop ends the agent: SIGTERM, so that it can end its own commands, and after
// the grace SIGKILL for the group. It returns when the agent was reaped.
func (c *child) stop(grace time.Duration) {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		killGroup(c.cmd.Process.Pid)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
		killGroup(c.cmd.Process.Pid)
		<-c.exited
	}
}

// stopWhen stops the agent when one of the contexts is done, and returns when
// the agent was reaped.
func (c *child) stopWhen(a, b context.Context, grace time.Duration) {
	select {
	case <-c.exited:
	case <-a.Done():
		c.stop(grace)
	case <-b.Done():
		c.stop(grace)
	}
}

// release closes what is left of the pipes after the agent's end.
func (c *child) release() { closeAll(c.stdin, c.stdout) }

// describe tells how the agent ended, for an error text.
func (c *child) describe() string {
	text := c.state
	if end := c.stderr.String(); end != "" {
		text += "; stderr ends: " + cut(end[max(0, len(end)-1000):], 1000)
	}
	return text
}

// killGroup ends what is left of a process group. An error means that nothing
// is.
func killGroup(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGKILL) }

// tail keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-stderrKept):]...)
	if over := len(t.data) - stderrKept; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// String is the kept end as one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.data), "?")), " ")
}

// cut shortens a text to at most n bytes of valid UTF-8.
func cut(text string, n int) string {
	if len(text) > n {
		text = text[:n]
		for i := 1; i < 4 && len(text) > 0; i++ { // at most three bytes of a split rune
			if r := text[len(text)-i:]; r[0]&0xC0 != 0x80 {
				if strings.ToValidUTF8(r, "") != r {
					text = text[:len(text)-i]
				}
				break
			}
		}
	}
	return strings.ToValidUTF8(text, "?")
}
