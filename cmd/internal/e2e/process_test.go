package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"coxswain/cmd/internal/errorwords"
)

// output keeps what a process writes, for readers beside it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// process is a started command.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err output
	began    time.Time
	done     chan struct{}
}

// start starts cox and leaves it running. It is killed with the test at the
// latest.
func (h *home) start(args ...string) *process {
	h.t.Helper()
	return h.startProgram(built.cox, args...)
}

func (h *home) startProgram(path string, args ...string) *process {
	h.t.Helper()
	p := &process{t: h.t, cmd: h.command(path, args...), began: time.Now(), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.WaitDelay = 10 * time.Second // a child that holds the output must not hang the test
	if err := p.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the exit code is read from the state
	}()
	h.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // usually gone already
		<-p.done
	})
	return p
}

// wait waits for the end and returns the exit code, -1 when it did not end in
// time or was killed.
func (p *process) wait(limit time.Duration) int {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.done:
		code := p.cmd.ProcessState.ExitCode()
		if err := errorwords.Check([]byte(p.out.String()), code); err != nil && code >= 0 {
			p.t.Errorf("%v: %v", p.cmd.Args, err)
		}
		return code
	case <-t.C:
		return -1
	}
}

// ends waits for the end with an exit code.
func (p *process) ends(code int, limit time.Duration) {
	p.t.Helper()
	if got := p.wait(limit); got != code {
		p.t.Fatalf("%v: exit %d, want %d within %s\nstdout: %s\nstderr: %s", p.cmd.Args, got, code, limit, p.out.String(), p.err.String())
	}
}

// says waits until the process has written a text on either output.
func (p *process) says(limit time.Duration, text string) {
	p.t.Helper()
	said := func() bool { return strings.Contains(p.out.String()+p.err.String(), text) }
	if !until(limit, func() bool { return said() || p.hasEnded() }) || !said() {
		p.t.Fatalf("%v did not say %q\nstdout: %s\nstderr: %s", p.cmd.Args, text, p.out.String(), p.err.String())
	}
}

// answers waits for a document on stdout alone and decodes it.
func (p *process) answers(limit time.Duration, doc any) {
	p.t.Helper()
	if !until(limit, func() bool { return json.Unmarshal([]byte(p.out.String()), doc) == nil || p.hasEnded() }) || p.hasEnded() {
		p.t.Fatalf("%v did not answer\nstdout: %s\nstderr: %s", p.cmd.Args, p.out.String(), p.err.String())
	}
}

func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// interrupt is Ctrl-C: the process has to end without failure.
func (p *process) interrupt() {
	p.t.Helper()
	p.signal(os.Interrupt)
	p.ends(0, time.Minute)
}

// found is a process of this test.
type found struct {
	pid  int
	args string
}

func (f found) String() string { return fmt.Sprintf("%d %s", f.pid, f.args) }

// processes are those whose environment or command line names the home's folder,
// whoever started them.
func (h *home) processes() []found {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		h.t.Fatal(err)
	}
	var out []found
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // a process that just ended has none
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))  // as above, and others' cannot be read
		if bytes.Contains(args, []byte(h.dir)) || bytes.Contains(env, []byte(h.dir)) {
			out = append(out, found{pid, strings.TrimSpace(string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})))})
		}
	}
	return out
}

// logs are the ends of the logs that children wrote, for a failure's report.
func (h *home) logs() {
	if !h.t.Failed() {
		return
	}
	for _, pattern := range []string{"state/cox/*.log", "tmp/cox-demo-*/state/*.log"} {
		files, err := filepath.Glob(filepath.Join(h.dir, pattern))
		if err != nil {
			h.t.Error(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				h.t.Error(err)
			}
			h.t.Logf("%s ends:\n%s", file, text[max(0, len(text)-4000):])
		}
	}
}

// noProcessLeft fails the test when one of its processes outlives it, and ends it.
func (h *home) noProcessLeft() {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		h.t.Log("processes that are left behind are looked for on Linux only")
		return
	}
	until(20*time.Second, func() bool { return len(h.processes()) == 0 })
	for _, p := range h.processes() {
		h.t.Errorf("left behind: process %s", p)
		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			h.t.Error(err)
		}
	}
}
