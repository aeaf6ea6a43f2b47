package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"coxswain/models"
)

// Spec is one hook to run.
type Spec struct {
	Guard   []string // the command that runs Guard, such as cox hook-guard
	Command string   // for /bin/sh -c
	Dir     string
	Env     []string // besides Environment
	Timeout time.Duration
}

// Outcome is how a hook ended.
type Outcome struct {
	ExitCode int // -1 when it was killed or never began
	TimedOut bool
	Output   string // its end, at most maxOutput bytes
	Took     time.Duration
}

// OK tells whether the hook succeeded.
func (o Outcome) OK() bool { return o.ExitCode == 0 }

// Summary is how it ended in a few words.
func (o Outcome) Summary() string {
	switch {
	case o.TimedOut:
		return fmt.Sprintf("took longer than its timeout, %s in all", o.Took.Round(time.Second))
	case o.ExitCode < 0:
		return "could not be run"
	}
	return fmt.Sprintf("exited with %d", o.ExitCode)
}

const (
	// maxOutput is how much of the output's end is kept in memory, in bytes.
	maxOutput = 16 << 10
	// killWait is how long the guard may take to kill the group.
	killWait = 5 * time.Second
)

// visible are the variables of the worker that a hook sees, as far as they are set.
var visible = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}

// Environment is what every hook sees of the worker's environment.
func Environment() []string {
	var out []string
	for _, name := range visible {
		if value, set := os.LookupEnv(name); set {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// Run runs a hook to its end. An error means that its end is not known, since ctx
// ended before: INTERRUPTED. Every other failure is an Outcome.
func Run(ctx context.Context, s Spec) (Outcome, error) {
	began := time.Now()
	timeout := time.NewTimer(s.Timeout)
	defer timeout.Stop()
	g, err := start(s)
	if err != nil {
		return Outcome{ExitCode: -1, Output: err.Error()}, nil
	}
	out := Outcome{}
	select {
	case <-g.done:
	case <-timeout.C:
		out.TimedOut = true
		g.kill()
	case <-ctx.Done():
		g.kill()
		return Outcome{}, models.Errorf(models.CodeInterrupted, "the hook was given up").Because(ctx.Err())
	}
	out.ExitCode, out.Output, out.Took = g.cmd.ProcessState.ExitCode(), g.output.text(), time.Since(began)
	if out.TimedOut {
		out.ExitCode = -1
	}
	return out, nil
}

// guarded is a running guard with its hook.
type guarded struct {
	cmd    *exec.Cmd
	line   *os.File // held open for as long as the hook may run
	output *tail
	done   chan struct{}
}

func start(s Spec) (*guarded, error) {
	if len(s.Guard) == 0 {
		return nil, errors.New("no guard is set")
	}
	in, line, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, s.Guard[1:]...), s.Command)
	g := &guarded{cmd: exec.Command(s.Guard[0], args...), line: line, output: &tail{limit: maxOutput}, done: make(chan struct{})}
	g.cmd.Dir, g.cmd.Env, g.cmd.Stdin = s.Dir, append(Environment(), s.Env...), in
	g.cmd.Stdout, g.cmd.Stderr = g.output, g.output
	g.cmd.WaitDelay = killWait // what left the group may keep the output open
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = g.cmd.Start()
	_ = in.Close() // the guard has its own
	if err != nil {
		_ = line.Close()
		return nil, err
	}
	go func() {
		_ = g.cmd.Wait() // the outcome is read from the process state
		_ = line.Close()
		close(g.done)
	}()
	return g, nil
}

// kill lets the guard kill the hook, and kills the guard when it does not.
func (g *guarded) kill() {
	_ = g.line.Close()
	late := time.NewTimer(killWait)
	defer late.Stop()
	select {
	case <-g.done:
	case <-late.C:
		_ = g.cmd.Process.Kill()
		<-g.done
	}
}

// tail is a writer that keeps the last bytes.
type tail struct {
	kept  []byte
	limit int
}

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) text() string { return strings.ToValidUTF8(string(t.kept), "\uFFFD") }
