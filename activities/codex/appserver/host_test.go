package appserver_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/codextest"
	"coxswain/models"
)

// childOptions run the test binary as a Codex of a behaviour.
func childOptions(t *testing.T, behaviour string) appserver.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return appserver.Options{
		Bin: self, Env: append(os.Environ(), childVariable+"="+behaviour), CodexHome: t.TempDir(),
		CloseTimeout: 300 * time.Millisecond, RequestTimeout: 5 * time.Second,
	}
}

func openChild(t *testing.T, options appserver.Options) *appserver.Host {
	t.Helper()
	host, err := appserver.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		wantGroupGone(t, host.PID())
	})
	return host
}

// wantGroupGone proves that no process of the child's group is left. The kernel
// may need a moment to reap a killed orphan.
func wantGroupGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for syscall.Kill(-pid, 0) == nil {
		if time.Now().After(deadline) {
			t.Fatalf("process group %d is still there", pid)
		}
		runtime.Gosched()
	}
}

func wantKind(t *testing.T, err error, want codex.ErrorKind) {
	t.Helper()
	if codex.KindOf(err) != want {
		t.Errorf("error %v, want kind %s", err, want)
	}
}

func wantDone(t *testing.T, host *appserver.Host, within time.Duration) {
	t.Helper()
	select {
	case <-host.Done():
	case <-time.After(within):
		t.Fatalf("the host did not end within %s", within)
	}
}

func TestChildDiesBeforeTheFirstFrame(t *testing.T) {
	t.Parallel()
	_, err := appserver.Open(t.Context(), childOptions(t, "dies"))
	wantKind(t, err, codex.ErrStartup)
	for _, want := range []string{"exit status 127", "cannot open shared object"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not tell %q", err, want)
		}
	}
	if codex.Happened(err) {
		t.Error("a failed start leaves nothing open")
	}
}

func TestNoExecutable(t *testing.T) {
	t.Parallel()
	_, err := appserver.Open(t.Context(), appserver.Options{Bin: filepath.Join(t.TempDir(), "codex")})
	wantKind(t, err, codex.ErrNotFound)
}

func TestStderrWithoutNewlineDoesNotBlock(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "noisy"))
	thread, err := host.ReadThread(t.Context(), "t")
	if err != nil || thread.Status != codex.ThreadActive || thread.CWD != "/w" || host.Version() != "9.9.9" {
		t.Errorf("read: %+v %v, version %s", thread, err, host.Version())
	}
}

func TestGarbageLinesAreSkipped(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "garbage"))
	if _, err := host.ReadThread(t.Context(), "t"); err != nil {
		t.Error(err)
	}
}

func TestBigLineIsRead(t *testing.T) {
	t.Parallel()
	options := childOptions(t, "big")
	options.RequestTimeout = codextest.Patience
	host := openChild(t, options)
	if thread, err := host.ReadThread(t.Context(), "t"); err != nil || len(thread.ID) != 3<<20 {
		t.Errorf("read %d bytes, %v", len(thread.ID), err)
	}
}

func TestClosedOutputOfALivingChildEndsTheHost(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "closes"))
	_, err := host.ReadThread(t.Context(), "t")
	wantKind(t, err, codex.ErrClosed)
	if !codex.Happened(err) {
		t.Error("what was asked of a host that ended is unknown")
	}
	wantDone(t, host, 5*time.Second)
	wantKind(t, host.Err(), codex.ErrClosed)
	_, err = host.LoadedThreads(t.Context())
	wantKind(t, err, codex.ErrClosed)
	wantGroupGone(t, host.PID())
}

func TestHugeLineEndsTheHost(t *testing.T) {
	t.Parallel()
	options := childOptions(t, "huge")
	options.RequestTimeout = codextest.Patience // writing that much takes its time
	host := openChild(t, options)
	_, err := host.ReadThread(t.Context(), "t")
	wantKind(t, err, codex.ErrClosed)
	wantDone(t, host, 5*time.Second)
	if err := host.Err(); err == nil || !strings.Contains(err.Error(), "message too long") {
		t.Errorf("the host ended with %v", err)
	}
}

func TestNoAnswerTimesOut(t *testing.T) {
	t.Parallel()
	options := childOptions(t, "mute")
	options.RequestTimeout = 100 * time.Millisecond
	host := openChild(t, options)
	_, err := host.ReadThread(t.Context(), "t")
	wantKind(t, err, codex.ErrTimeout)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = host.ReadThread(ctx, "t")
	wantKind(t, err, codex.ErrTimeout)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v hides the cancellation", err)
	}
}

func TestCloseFailsWhatIsOpen(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "mute"))
	failed := make(chan error, 1)
	go func() {
		_, err := host.ReadThread(context.Background(), "t")
		failed <- err
	}()
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	wantKind(t, <-failed, codex.ErrClosed)
	if err := host.Err(); err != nil {
		t.Errorf("a closed host failed: %v", err)
	}
}

func TestCloseEndsAStubbornGroup(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "stubborn"))
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	wantGroupGone(t, host.PID())
}

func TestKilledChildEndsTheHost(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "mute"))
	if err := syscall.Kill(host.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantDone(t, host, 5*time.Second)
	if err := host.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the host ended with %v", err)
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal; elsewhere the end of stdin ends Codex")
	}
	options := childOptions(t, "parent")
	parent := exec.Command(options.Bin)
	parent.Env = options.Env
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-pid, 0); err != nil {
		t.Fatalf("the child is gone too early: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("a killed parent ended well")
	}
	wantGroupGone(t, pid)
}

func TestInterruptWaitsForTheStartOfItsTurn(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "plain"))
	turn, err := host.StartTurn(t.Context(), "t", codex.TurnInput{Text: "x", ClientMessageID: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.InterruptTurn(t.Context(), "t", turn.ID); err != nil {
		t.Errorf("interrupt right after the start: %v", err)
	}
}

func TestServerRequestsAreAnsweredByPolicy(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "asks"))
	events := codextest.Record(t, host)
	thread, err := host.ReadThread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	want := `0{"code":-32601,"message":"not answered here: made/up"} 1{"decision":"decline"} ` +
		`2{"action":"accept","content":{}} 3{"action":"decline"}`
	if thread.CWD != want {
		t.Errorf("answers\n%s\nwant\n%s", thread.CWD, want)
	}
	for method, want := range map[string]codex.ServerRequest{
		"made/up": {ID: "0", Method: "made/up", Answer: "refused_unknown", Class: models.RiskUnknown, Why: "nobody here can answer this request"},
		"item/commandExecution/requestApproval": {
			ID: "1", Method: "item/commandExecution/requestApproval", Answer: "declined", Detail: "rm -r x",
			Class: models.RiskDestructive, Why: "the policy asks nobody",
		},
	} {
		e := events.Wait(t, method, func(e codex.Event) bool { return e.Request.Method == method })
		if e.Type != codex.EventServerRequest || e.ThreadID != "t" || e.Request != want {
			t.Errorf("event %+v, want %+v", e, want)
		}
	}
	e := events.Wait(t, "accepted tool", func(e codex.Event) bool { return e.Request.Answer == "accepted" })
	if e.Request.Detail != "cox/heartbeat" {
		t.Errorf("detail %q tells more or less than the tool", e.Request.Detail)
	}
}

func TestUndecidedRequestIsDeclinedInTime(t *testing.T) {
	t.Parallel()
	options := childOptions(t, "asks")
	options.AnswerTimeout = 50 * time.Millisecond
	options.Policy = func(ctx context.Context, _ models.ApprovalRequest) (models.Ruled, time.Duration) {
		<-ctx.Done()
		return models.Ruled{Ruling: models.RulingAccept}, 0
	}
	host := openChild(t, options)
	thread, err := host.ReadThread(t.Context(), "t")
	if err != nil || strings.Contains(thread.CWD, "accept") {
		t.Errorf("answers %s, %v", thread.CWD, err)
	}
}

func TestProbeTellsWhatAnotherCodexCannotDo(t *testing.T) {
	t.Parallel()
	options := childOptions(t, "plain")
	options.ProofDir = t.TempDir()
	host := openChild(t, options)
	probe, err := host.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if probe.Capabilities["can_steer_turn"] || probe.Capabilities["can_clean_terminals"] || !probe.Capabilities["can_read_thread"] {
		t.Errorf("capabilities %v", probe.Capabilities)
	}
	if probe.SandboxProved {
		t.Fatal("a shell without a sandbox was proved")
	}
	for _, want := range []string{
		"writable thread can read a denied file", "writable thread can write .git", "writable thread can connect to loopback",
		"read-only thread can write the workspace", "read-only thread can write outside",
	} {
		if !strings.Contains(probe.SandboxDetail, want) {
			t.Errorf("detail %q does not say %q", probe.SandboxDetail, want)
		}
	}
	if left, err := os.ReadDir(options.ProofDir); err != nil || len(left) != 0 {
		t.Errorf("the proof left %v (%v)", left, err)
	}
}

func TestSlowSubscriberGetsEveryEventInOrder(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "floods"))
	begin, seen, all := make(chan struct{}), 0, make(chan struct{})
	t.Cleanup(host.Subscribe(func(e codex.Event) {
		<-begin // until the queue is full and the child is held back
		if e.Item.ID != strconv.Itoa(seen) {
			t.Errorf("event %d is item %s", seen, e.Item.ID)
		}
		if seen++; seen == floodLength {
			close(all)
		}
	}))
	if _, err := host.ReadThread(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	close(begin)
	select {
	case <-all:
	case <-time.After(codextest.Patience):
		t.Fatal("not every event was delivered")
	}
}

func TestBlockedSubscriberDoesNotBlockClose(t *testing.T) {
	t.Parallel()
	host := openChild(t, childOptions(t, "floods"))
	stuck, full := make(chan struct{}), make(chan struct{}, 1)
	t.Cleanup(host.Subscribe(func(codex.Event) {
		select {
		case full <- struct{}{}:
		default:
		}
		<-stuck
	}))
	if _, err := host.ReadThread(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	<-full
	closed := make(chan error, 1)
	go func() { closed <- host.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(codextest.Patience):
		t.Error("close waits for a subscriber")
	}
	close(stuck)
}

// A proof that the node has stored for the same Codex and profile is not made
// again; one for another key is worth nothing.
func TestAStoredProofIsBelieved(t *testing.T) {
	t.Parallel()
	options := childOptions(t, "plain")
	options.ProofDir = t.TempDir()
	var asked string
	stored := true
	options.Proved = func(_ context.Context, key string) (string, bool) { asked = key; return "proved before", stored }
	host := openChild(t, options)
	probe, err := host.Probe(t.Context())
	if err != nil || !probe.SandboxProved || probe.SandboxDetail != "proved before" {
		t.Fatalf("probe %+v, %v", probe, err)
	}
	if want := appserver.ProfileKey(host.Version()); asked != want || probe.ProofKey != want {
		t.Errorf("asked for %s, recorded %s, want %s", asked, probe.ProofKey, want)
	}
	stored = false
	if probe, err = host.Probe(t.Context()); err != nil || probe.SandboxProved || probe.ProofKey != asked {
		t.Errorf("without a stored proof: %+v, %v", probe, err)
	}
}
