package appserver

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/internal/lastwords"
)

const stderrKept = 16 << 10

// process is the app-server child with its pipes. Its group is its own.
type process struct {
	stdin  *os.File
	stdout *os.File
	stderr *ring
	pid    int
	exited chan struct{} // closed when the child was reaped
	state  string        // how it ended, after exited
	grace  time.Duration
	stop   sync.Once
}

// spawn starts the child. Its stderr is drained from the first byte on.
func spawn(bin string, args, env []string, grace time.Duration) (*process, error) {
	files, err := openPipes()
	if err != nil {
		return nil, &codex.Error{Kind: codex.ErrStartup, Message: "pipes for codex", Cause: err}
	}
	cmd := exec.Command(bin, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, files.inR, files.outW, files.errW
	cmd.SysProcAttr = childAttributes()
	p := &process{
		stdin: files.inW, stdout: files.outR, stderr: newRing(stderrKept),
		exited: make(chan struct{}), grace: grace,
	}
	started := make(chan error)
	go p.run(cmd, files, started)
	if err := <-started; err != nil {
		files.close()
		kind := codex.ErrStartup
		if errors.Is(err, os.ErrNotExist) {
			kind = codex.ErrNotFound
		}
		return nil, &codex.Error{Kind: kind, Message: "starting " + bin, Cause: err}
	}
	return p, nil
}

// run starts the child, waits for it and ends what is left of its group. It
// keeps its OS thread for all that time, because the parent-death signal is sent
// when the thread that started the child ends.
func (p *process) run(cmd *exec.Cmd, files pipes, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	files.closeChildEnds()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.stderr.drain(lastwords.From(files.errR))
	}()
	started <- nil
	err := cmd.Wait()
	p.state = cmd.ProcessState.String()
	if err != nil && cmd.ProcessState == nil {
		p.state = err.Error()
	}
	p.signal(syscall.SIGKILL)
	p.closeReaders(files, drained)
	close(p.exited)
}

// closeReaders ends the waiting for more in the pipes, not the reading of what the
// child left there: a grandchild outside the group may hold them open, and the one
// who listens may be slow.
func (p *process) closeReaders(files pipes, drained <-chan struct{}) {
	limit := time.Now().Add(time.Second)
	_ = files.errR.SetReadDeadline(limit) // where none can be set, the reader waits for the last writer instead
	_ = p.stdout.SetReadDeadline(limit)   // as above
	<-drained
	_ = files.errR.Close() // read-only: nothing can be lost
}

// signal sends to the whole group. An error means that the group is gone.
func (p *process) signal(sig syscall.Signal) { _ = syscall.Kill(-p.pid, sig) }

// end stops the child: end of input first, then SIGTERM, then SIGKILL, each
// after the grace. It returns when the child was reaped.
func (p *process) end() {
	p.stop.Do(func() {
		_ = p.stdin.Close() // a second close is the only error
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			if p.waitExit(p.grace) {
				return
			}
			p.signal(sig)
		}
	})
	<-p.exited
}

func (p *process) gone() <-chan struct{} { return p.exited }

func (p *process) release() { _ = p.stdout.Close() } // read to its end, or given up

func (p *process) waitExit(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// describe tells how an ended child ended, for an error text.
func (p *process) describe() string {
	text := "codex ended (" + p.state + ")"
	if tail := p.stderr.String(); tail != "" {
		const most = 2000
		text += "; stderr ends: " + tail[max(0, len(tail)-most):]
	}
	return text
}

type pipes struct{ inR, inW, outR, outW, errR, errW *os.File }

func openPipes() (pipes, error) {
	var p pipes
	for _, pair := range [][2]**os.File{{&p.inR, &p.inW}, {&p.outR, &p.outW}, {&p.errR, &p.errW}} {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return p, err
		}
		*pair[0], *pair[1] = r, w
	}
	return p, nil
}

func (p pipes) closeChildEnds() { closeAll(p.inR, p.outW, p.errW) }

func (p pipes) close() { closeAll(p.inR, p.inW, p.outR, p.outW, p.errR, p.errW) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // nothing was written through this end
		}
	}
}
