package managed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/appserver/managed"
	"coxswain/activities/codex/codextest"
	"coxswain/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a hermetic real Codex, its scripted model and the state directory of a
// node. Its server ends with the test.
type world struct {
	model   *codextest.Server
	options appserver.Options
	spec    codex.ThreadSpec
	state   string
}

func newWorld(t *testing.T, model codextest.Model) *world {
	t.Helper()
	bin := codextest.Binary(t)
	root := t.TempDir()
	w := &world{model: codextest.NewServer(t, model), state: filepath.Join(root, "state")}
	codexHome := codextest.WriteHome(t, root, w.model.BaseURL())
	for _, dir := range []string{"workspace", "state", "temp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.options = appserver.Options{Bin: bin, CodexHome: codexHome, ProofDir: root, Env: codextest.Env(codexHome)}
	w.spec = codex.ThreadSpec{
		CWD: filepath.Join(root, "workspace"), Model: codextest.ModelSlug, Writable: true,
		DenyPaths: []string{w.state}, TempDir: filepath.Join(root, "temp"),
	}
	t.Cleanup(func() { w.stop(t) })
	return w
}

func (w *world) open(t *testing.T) *appserver.Host {
	t.Helper()
	host, err := managed.Open(t.Context(), w.state, w.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return host
}

// stop ends the server at once and proves that nothing of it is left.
func (w *world) stop(t *testing.T) {
	t.Helper()
	pid, err := managed.Stop(context.Background(), w.state, 0)
	if err != nil {
		t.Error(err)
	}
	if pid != 0 {
		wantGone(t, pid)
	}
}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(codextest.Patience)
	for !errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) {
		if time.Now().After(deadline) {
			t.Fatalf("process group %d is still there", pid)
		}
		runtime.Gosched()
	}
}

func (w *world) begin(t *testing.T, host codex.Adapter, text string) (codex.Thread, codex.Turn) {
	t.Helper()
	thread, err := host.StartThread(t.Context(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := host.StartTurn(t.Context(), thread.ID, codex.TurnInput{Text: text, ClientMessageID: "msg-1"})
	if err != nil {
		t.Fatal(err)
	}
	return thread, turn
}

func TestConformanceOverTheSocket(t *testing.T) {
	codextest.Binary(t)
	codextest.Conformance(t, func(t *testing.T) codextest.Setup {
		w := newWorld(t, codextest.Directives(nil))
		w.options.Policy = codextest.AskPeople
		return codextest.Setup{
			Spec: w.spec, Outlives: true,
			Open: func(ctx context.Context) (codex.Adapter, error) { return managed.Open(ctx, w.state, w.options) },
		}
	})
}

func TestAServerIsAdoptedAndItsStreamingTurnGoesOn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, func(codextest.Request) codextest.Reply { return codextest.Slow("long answer", release) })
	first := w.open(t)
	thread, turn := w.begin(t, first, "go")
	w.model.Wait(t, "the turn's request", func(r codextest.Request) bool { return r.User == "go" })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := w.open(t)
	if second.PID() != first.PID() {
		t.Fatalf("process %d was replaced by %d", first.PID(), second.PID())
	}
	events := codextest.Record(t, second)
	if back, err := second.ResumeThread(t.Context(), thread.ID, w.spec); err != nil || back.Status != codex.ThreadActive {
		t.Fatalf("resume: %+v %v", back, err)
	}
	close(release)
	if end := events.WaitEnded(t, turn.ID); end.Status != codex.TurnCompleted {
		t.Errorf("turn %+v", end)
	}
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if probe, err := second.Probe(t.Context()); err != nil || probe.Transport != "unix" || probe.Version != codextest.Version {
		t.Errorf("probe %+v, %v", probe, err)
	}
}

// A request that nobody has answered when its host goes is shown to the next one,
// under the same id, and answered there.
func TestAnApprovalThatWaitedForAHostIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	w.spec.AskPerson, w.options.Policy = true, codextest.AskPeople
	first := w.open(t)
	asked := codextest.Record(t, first)
	isRequest := func(e codex.Event) bool { return e.Type == codex.EventServerRequest }
	thread, turn := w.begin(t, first, "@ask touch ../outside")
	before := asked.Wait(t, "server request", isRequest)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := w.open(t)
	events := codextest.Record(t, second)
	gone := second.AnswerRequest(t.Context(), codex.RequestRef{ThreadID: thread.ID, TurnID: turn.ID, ID: before.Request.ID}, codex.Answer{Verdict: models.VerdictAccept})
	if codex.KindOf(gone) != codex.ErrRequestGone {
		t.Errorf("an answer before the thread is held: %v", gone)
	}
	if _, err := second.ResumeThread(t.Context(), thread.ID, w.spec); err != nil {
		t.Fatal(err)
	}
	again := events.Wait(t, "server request", isRequest)
	if again.Request.ID != before.Request.ID || again.TurnID != before.TurnID || again.Request.Answer != "" {
		t.Errorf("request %+v, before %+v", again, before)
	}
	if err := second.AnswerRequest(t.Context(), codex.RequestRef{ThreadID: thread.ID, TurnID: turn.ID, ID: again.Request.ID}, codex.Answer{Verdict: models.VerdictAccept}); err != nil {
		t.Fatal(err)
	}
	events.Wait(t, "its end", func(e codex.Event) bool {
		return e.Type == codex.EventRequestResolved && e.Request.ID == again.Request.ID
	})
	if end := events.WaitEnded(t, turn.ID); end.Status != codex.TurnCompleted {
		t.Errorf("turn %+v", end)
	}
	if _, err := os.Stat(filepath.Join(w.spec.CWD, "..", "outside")); err != nil {
		t.Errorf("the accepted command was not run: %v", err)
	}
}

func TestAServerThatDoesNotFitIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	first := w.open(t)
	other := codextest.WriteHome(t, t.TempDir(), w.model.BaseURL())
	w.options.CodexHome, w.options.Env = other, codextest.Env(other)
	second := w.open(t)
	if second.PID() == first.PID() {
		t.Error("a server of another home was adopted")
	}
	wantGone(t, first.PID())
	select {
	case <-first.Done():
	case <-time.After(codextest.Patience):
		t.Error("the host of the ended server goes on")
	}
}

func TestAKilledServerIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	first := w.open(t)
	if err := syscall.Kill(-first.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.Done():
	case <-time.After(codextest.Patience):
		t.Fatal("the host of the killed server goes on")
	}
	if codex.KindOf(first.Err()) != codex.ErrClosed {
		t.Errorf("the host ended with %v", first.Err())
	}
	second := w.open(t)
	events := codextest.Record(t, second)
	_, turn := w.begin(t, second, "@say one")
	if end := events.WaitEnded(t, turn.ID); end.Status != codex.TurnCompleted {
		t.Errorf("turn %+v", end)
	}
}

func TestALongStateDirectoryMeetsNoLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	w.state = filepath.Join(w.state, strings.Repeat("long", 30), strings.Repeat("path", 30))
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if host := w.open(t); host.PID() == 0 {
		t.Error("no server")
	}
}

func TestStopLetsTurnsEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, func(codextest.Request) codextest.Reply { return codextest.Slow("long answer", release) })
	host := w.open(t)
	thread, turn := w.begin(t, host, "go")
	w.model.Wait(t, "the turn's request", func(r codextest.Request) bool { return r.User == "go" })
	stopped := make(chan error, 1)
	go func() {
		_, err := managed.Stop(context.Background(), w.state, codextest.Patience)
		stopped <- err
	}()
	for refused := error(nil); refused == nil; {
		if _, refused = host.StartThread(t.Context(), w.spec); refused != nil && codex.KindOf(refused) != codex.ErrDraining {
			t.Errorf("while it drains: %v", refused)
		}
	}
	close(release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	wantGone(t, host.PID())
	if pid, running := managed.Running(w.state); running {
		t.Errorf("process %d is still recorded", pid)
	}
	if left, err := filepath.Glob(filepath.Join(w.state, "app-server", "s-*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
	turns, err := w.open(t).ListTurns(t.Context(), thread.ID, 0)
	if err != nil || len(turns) != 1 || turns[0].ID != turn.ID || turns[0].Status != codex.TurnCompleted {
		t.Errorf("turns after the stop: %+v %v", turns, err)
	}
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestAHangingTurnDelaysTheStopOnlySoLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	host := w.open(t)
	events := codextest.Record(t, host)
	w.begin(t, host, "@hang")
	events.WaitDelivered(t, "msg-1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the second Ctrl-C
	if pid, err := managed.Stop(ctx, w.state, time.Hour); err != nil || pid != host.PID() {
		t.Errorf("stopped %d, %v", pid, err)
	}
	wantGone(t, host.PID())
}
