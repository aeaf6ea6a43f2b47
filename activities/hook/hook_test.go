package hook_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain/activities/hook"
	"coxswain/models"
)

// The test binary plays the guard, and a worker that is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("HOOK_TEST_ROLE") {
	case "guard":
		os.Exit(hook.Guard(os.Stdin, os.Stdout, os.Args[len(os.Args)-1]))
	case "worker":
		_, _ = hook.Run(context.Background(), spec(os.Getenv("HOOK_TEST_DIR"), os.Getenv("HOOK_TEST_COMMAND")))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func spec(dir, command string) hook.Spec {
	return hook.Spec{
		Guard: []string{os.Args[0]}, Command: command, Dir: dir, Timeout: time.Minute,
		Env: []string{"HOOK_TEST_ROLE=guard", "COX_RUN=run-1"},
	}
}

func run(t *testing.T, s hook.Spec) hook.Outcome {
	t.Helper()
	out, err := hook.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHookRunsInItsFolderWithAShortEnvironment(t *testing.T) {
	t.Setenv("MY_TOKEN", "hidden")
	dir := t.TempDir()
	out := run(t, spec(dir, `pwd; echo "run $COX_RUN"; echo "token [$MY_TOKEN]" >&2; touch made; exit 3`))
	if out.OK() || out.ExitCode != 3 || out.TimedOut {
		t.Errorf("got %+v", out)
	}
	for _, part := range []string{filepath.Base(dir), "run run-1", "token []"} {
		if !strings.Contains(out.Output, part) {
			t.Errorf("the output lacks %q: %s", part, out.Output)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestHookSucceedsAndItsOutputIsBounded(t *testing.T) {
	out := run(t, spec(t.TempDir(), `i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done`))
	if !out.OK() || len(out.Output) > 16<<10 || !strings.HasSuffix(out.Output, "line 19999\n") {
		t.Errorf("%d bytes, exit %d, end %q", len(out.Output), out.ExitCode, out.Output[max(0, len(out.Output)-40):])
	}
}

// sleeper is a command whose background process writes its id, and that waits.
const sleeper = `sleep 300 & echo $! > pid; wait`

func TestTimeoutKillsTheWholeGroup(t *testing.T) {
	s := spec(t.TempDir(), sleeper)
	s.Timeout = 3 * time.Second // enough for a shell on a busy machine to begin
	out := run(t, s)
	if !out.TimedOut || out.OK() {
		t.Errorf("got %+v", out)
	}
	waitGone(t, s.Dir)
}

func TestWhatAHookLeavesRunningEndsWithIt(t *testing.T) {
	s := spec(t.TempDir(), `sleep 300 >/dev/null 2>&1 & echo $! > pid`)
	if out := run(t, s); !out.OK() {
		t.Errorf("got %+v", out)
	}
	waitGone(t, s.Dir)
}

func TestHookIsGivenUpWithItsContext(t *testing.T) {
	s := spec(t.TempDir(), sleeper)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { _, err := hook.Run(ctx, s); failed <- err }()
	waitPid(t, s.Dir)
	cancel()
	if err := <-failed; !models.IsCode(err, models.CodeInterrupted) {
		t.Errorf("got %v", err)
	}
	waitGone(t, s.Dir)
}

// kill -9 of the worker leaves no hook behind.
func TestHookEndsWithAKilledWorker(t *testing.T) {
	dir := t.TempDir()
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), "HOOK_TEST_ROLE=worker", "HOOK_TEST_DIR="+dir, "HOOK_TEST_COMMAND="+sleeper)
	worker.Stdout, worker.Stderr = io.Discard, io.Discard
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	waitPid(t, dir)
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	waitGone(t, dir)
}

func TestAHookThatCannotBeRunFails(t *testing.T) {
	s := spec(filepath.Join(t.TempDir(), "missing"), "true")
	if out := run(t, s); out.OK() || out.ExitCode != -1 || out.Output == "" {
		t.Errorf("got %+v", out)
	}
}

func waitPid(t *testing.T, dir string) int {
	t.Helper()
	var pid int
	await(t, "the hook's process", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

func waitGone(t *testing.T, dir string) {
	t.Helper()
	pid := waitPid(t, dir)
	await(t, "the end of the hook's process", func() bool { return !running(pid) })
}

// running tells whether a process is there and no zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ready() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(10 * time.Millisecond)
	}
}
