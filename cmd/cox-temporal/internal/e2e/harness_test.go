package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"coxswain/cmd/internal/errorwords"
)

// patience bounds every wait; a healthy server needs about a second.
const patience = 90 * time.Second

// binary is the executable under test.
var binary string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if binary = os.Getenv("COX_TEMPORAL_BIN"); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "cox-temporal-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system's temporary folder is cleared anyway
	binary = filepath.Join(dir, "cox-temporal")
	build := exec.Command("go", "build", "-o", binary, "coxswain/cmd/cox-temporal")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build cox-temporal:", err)
		return 1
	}
	return m.Run()
}

// ready is the line that a server prints.
type ready struct {
	OK            bool     `json:"ok"`
	Address       string   `json:"address"`
	UI            string   `json:"ui"`
	Namespace     string   `json:"namespace"`
	Namespaces    []string `json:"namespaces"`
	Database      string   `json:"db"`
	PID           int      `json:"pid"`
	ServerVersion string   `json:"server_version"`
}

// process is a started server. It ends with the test, and with the test
// process too, because it holds the other end of its standard input.
type process struct {
	ready
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *safeBuffer
	exited chan struct{}
}

// start starts a server on free ports and waits until it is ready.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{stderr: &safeBuffer{}, exited: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{"--json", "--port", "0", "--ui-port", "0", "--exit-with-stdin"}, args...)...)
	p.cmd.Stderr = p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, childStdout, err := os.Pipe() // not StdoutPipe, which Wait would close under the reader
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdout.Close() })
	p.cmd.Stdout = childStdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is read from ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() { p.kill(t) })
	if err := childStdout.Close(); err != nil { // the child has its own copy
		t.Fatal(err)
	}
	p.awaitReady(t, stdout)
	return p
}

// awaitReady reads the ready line.
func (p *process) awaitReady(t *testing.T, stdout io.Reader) {
	t.Helper()
	line := make(chan []byte, 1)
	go func() {
		first, _ := bufio.NewReader(stdout).ReadBytes('\n') // empty when the server ended
		line <- first
	}()
	select {
	case raw := <-line:
		if err := json.Unmarshal(raw, &p.ready); err != nil || !p.OK {
			t.Fatalf("the first line is %q (%v); stderr:\n%s", raw, err, p.stderr)
		}
	case <-time.After(patience):
		t.Fatalf("not ready after %s; stderr:\n%s", patience, p.stderr)
	}
}

// stop ends the server as its parent would and returns its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	return p.wait(t)
}

// wait waits for the end of the process and returns its exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("still running after %s; stderr:\n%s", patience, p.stderr)
		return -1
	}
}

// kill ends the process at once; one that has ended already is fine.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	p.wait(t)
}

// dial connects to the server.
func (p *process) dial(t *testing.T) client.Client {
	t.Helper()
	return dial(t, p.Address, p.Namespace)
}

func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.DialContext(deadline(t), client.Options{HostPort: address, Namespace: namespace, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// outcome is what a process that ended by itself left.
type outcome struct {
	stdout, stderr string
	code           int
}

// run runs the program to its end.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%v did not end within %s; stderr:\n%s", args, patience, &stderr)
	}
	if err := errorwords.Check(stdout.Bytes(), cmd.ProcessState.ExitCode()); err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return outcome{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

// deadline returns a context that ends with the test's patience.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// safeBuffer collects output while it is read.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// quiet drops the SDK's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
