package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"coxswain/models/ledger/pgtest"
)

// built are the executables under test.
var built struct{ cox, temporal string }

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cox-e2e-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		return complain(err)
	}
	shared.dir = dir
	defer shared.stop()
	defer pgtest.Stop()
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// build finds the executables, or builds cox.
func build(dir string) error {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		return err
	}
	built.temporal = os.Getenv("COX_TEMPORAL_BIN")
	if built.temporal == "" {
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

// needTemporal skips a test where cox-temporal is not built; under CI that is a
// failure.
func needTemporal(t *testing.T) {
	t.Helper()
	if built.temporal != "" {
		return
	}
	const why = "cox-temporal is not built: make build, or set COX_TEMPORAL_BIN"
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// engine is what cox-temporal says of itself when it is ready.
type engine struct {
	Address   string `json:"address"`
	UI        string `json:"ui"`
	Namespace string `json:"namespace"`
	PID       int    `json:"pid"`
}

// shared is one Temporal in memory for all tests that need any: ledgers keep
// apart by the prefixes of their ids.
var shared sharedEngine

type sharedEngine struct {
	dir  string
	once sync.Once
	cmd  *exec.Cmd
	engine
	err error
}

func (s *sharedEngine) get(t *testing.T) engine {
	t.Helper()
	needTemporal(t)
	s.once.Do(func() { s.err = s.start() })
	if s.err != nil {
		t.Fatal("the shared Temporal did not start:", s.err)
	}
	return s.engine
}

func (s *sharedEngine) start() error {
	s.cmd = exec.Command(built.temporal, "--json", "--port", "0", "--headless", "--log-level", "error")
	s.cmd.Env = []string{"HOME=" + s.dir, "TMPDIR=" + s.dir, "PATH=" + os.Getenv("PATH")}
	var log bytes.Buffer
	s.cmd.Stderr = &log
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.cmd = nil
		return err
	}
	giveUp := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() }) // ends the read below
	defer giveUp.Stop()
	if err := json.NewDecoder(out).Decode(&s.engine); err != nil {
		return fmt.Errorf("%w: %s", err, log.String())
	}
	return nil
}

func (s *sharedEngine) stop() {
	if s.cmd == nil {
		return
	}
	giveUp := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer giveUp.Stop()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // a process that is gone needs none
	_ = s.cmd.Wait()                          // how it ends matters to nobody here
}
