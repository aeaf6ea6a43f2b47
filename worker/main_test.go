package worker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	sdk "go.temporal.io/sdk/worker"

	"coxswain/models/ledger/pgtest"
)

// uncachedEnv makes the test process replay every workflow from its start at each
// task. The cache's size is a setting of the whole process.
const uncachedEnv = "COX_TEST_UNCACHED"

// built are the executables that the tests start.
var built struct{ cox, temporal string }

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(uncachedEnv) != "" {
		sdk.SetStickyWorkflowCacheSize(0)
	}
	dir, err := os.MkdirTemp("", "cox-worker-")
	if err == nil {
		defer os.RemoveAll(dir) // a leftover in the temporary folder harms nobody
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return pgtest.Main(m)
}

// build finds the executables, or builds cox.
func build(dir string) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	if built.temporal = os.Getenv("COX_TEMPORAL_BIN"); built.temporal == "" {
		built.temporal = filepath.Join(root, "bin", "cox-temporal")
	}
	if _, err := os.Stat(built.temporal); err != nil {
		built.temporal = ""
	}
	if built.cox = os.Getenv("COX_BIN"); built.cox != "" {
		return nil
	}
	built.cox = filepath.Join(dir, "cox")
	cmd := exec.Command("go", "build", "-o", built.cox, "./cmd/cox")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building cox: %w\n%s", err, out)
	}
	return nil
}

// startTemporal starts a server in memory that ends with the test, or at the
// latest with this process, and returns its address. Where none is built the test
// is skipped, but under CI it fails.
func startTemporal(t *testing.T) string {
	t.Helper()
	if built.temporal == "" {
		const why = "cox-temporal is not built: make build, or set COX_TEMPORAL_BIN"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	cmd := exec.Command(built.temporal, "--json", "--headless", "--port", "0", "--log-level", "never", "--exit-with-stdin")
	in, err := cmd.StdinPipe()
	ok(t, err)
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { stopProcess(t, cmd, in) })
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n') // an end without a line is the empty line
		line <- text
		_, _ = io.Copy(io.Discard, out) // until the server closes it
	}()
	var said struct {
		Address string `json:"address"`
	}
	select {
	case text := <-line:
		ok(t, json.Unmarshal([]byte(text), &said))
	case <-time.After(time.Minute):
		t.Fatal("cox-temporal is not ready after a minute")
	}
	return said.Address
}

// stopProcess closes the process's input and waits for its end.
func stopProcess(t *testing.T, cmd *exec.Cmd, in io.Closer) {
	t.Helper()
	_ = in.Close() // it may have ended already
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("cox-temporal did not end and is killed")
		_ = cmd.Process.Kill() // it may end at this moment
		<-done
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %s: %s", limit, what)
		}
	}
}
