package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command says how to start a child.
type Command struct {
	Name string   // for messages
	Path string   // executable
	Args []string // without the executable
	Env  []string
	Log  io.Writer // its stderr
}

// Child is a started process.
type Child struct {
	name  string
	cmd   *exec.Cmd
	ready chan string // its first line on stdout
	done  chan struct{}

	mu  sync.Mutex
	err error
}

// Start starts a child. Its first line on stdout is its ready line; the rest of
// stdout is discarded.
func Start(c Command) (*Child, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Stderr = c.Env, c.Log
	cmd.SysProcAttr = ownGroup()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	if err := startOnThread(cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	child := &Child{name: c.Name, cmd: cmd, ready: make(chan string, 1), done: make(chan struct{})}
	go child.wait(out)
	return child, nil
}

func (c *Child) wait(out io.Reader) {
	r := bufio.NewReaderSize(out, 64<<10)
	line, err := r.ReadString('\n')
	if err == nil {
		c.ready <- strings.TrimSpace(line)
	}
	_, copyErr := io.Copy(io.Discard, r)
	err = c.cmd.Wait()
	c.mu.Lock()
	c.err = errors.Join(err, copyErr)
	c.mu.Unlock()
	close(c.done)
}

// PID is the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the child has ended; Err then says how.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err is how the child ended, nil for exit code 0.
func (c *Child) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Ready waits for the ready line.
func (c *Child) Ready(ctx context.Context) (string, error) {
	select {
	case line := <-c.ready:
		return line, nil
	case <-c.done:
		select {
		case line := <-c.ready: // it was ready, and ended right after
			return line, nil
		default:
		}
		return "", fmt.Errorf("%s ended before it was ready: %w", c.name, orExited(c.Err()))
	case <-ctx.Done():
		return "", fmt.Errorf("%s was not ready in time: %w", c.name, ctx.Err())
	}
}

func orExited(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Stop asks the child to end and kills its group after the grace time. It returns
// when the child is gone; again is harmless.
func (c *Child) Stop(grace time.Duration) {
	c.signal(syscall.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
	}
	c.signal(syscall.SIGKILL)
	<-c.done
}

// signal reaches the child's whole group; a group that is gone needs none.
func (c *Child) signal(s syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, s) }
