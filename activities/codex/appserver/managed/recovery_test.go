package managed_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/appserver/managed"
	"coxswain/activities/codex/codextest"
	"coxswain/models"
)

// A killed server leaves its link and the socket that it leads to. Both go, and
// another's socket in the same folder stays.
func TestAKilledServersSocketIsCleanedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	host := w.open(t)
	links, err := filepath.Glob(filepath.Join(w.state, "app-server", "s-*"))
	if err != nil || len(links) != 1 {
		t.Fatalf("sockets %v, %v", links, err)
	}
	target, err := os.Readlink(links[0])
	if err != nil {
		t.Fatal(err)
	}
	other := newWorld(t, codextest.Directives(nil))
	neighbour := other.open(t)
	if err := syscall.Kill(-host.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-host.Done()
	killed := host.PID() // may still be on its way out
	if pid, err := managed.Stop(t.Context(), w.state, 0); err != nil || pid != 0 && pid != killed {
		t.Errorf("stopped %d, %v", pid, err)
	}
	for _, path := range []string{links[0], target} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	if _, err := neighbour.LoadedThreads(t.Context()); err != nil {
		t.Errorf("the neighbour's server: %v", err)
	}
	if _, err := other.open(t).LoadedThreads(t.Context()); err != nil {
		t.Errorf("the neighbour's socket: %v", err)
	}
}

// An empty thread outlives the host that started it. It takes its first turn from
// another one, which resumes it then.
func TestAnEmptyThreadTakesItsFirstTurnFromAnotherHost(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, func(codextest.Request) codextest.Reply { return codextest.Slow("long answer", release) })
	first := w.open(t)
	thread, err := first.StartThread(t.Context(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := w.open(t)
	if ids, err := second.LoadedThreads(t.Context()); err != nil || !slices.Contains(ids, thread.ID) || second.Holds(thread.ID) {
		t.Fatalf("loaded %v, held %t, %v", ids, second.Holds(thread.ID), err)
	}
	if _, err := second.ResumeThread(t.Context(), thread.ID, w.spec); codex.KindOf(err) != codex.ErrUnknownID {
		t.Errorf("resuming an empty thread: %v", err)
	}
	if turns, err := second.ListTurns(t.Context(), thread.ID, 1); err != nil || len(turns) != 0 {
		t.Errorf("turns of an empty thread: %v, %v", turns, err)
	}
	turn, err := second.StartTurn(t.Context(), thread.ID, codex.TurnInput{Text: "go", ClientMessageID: "msg-1"})
	if err != nil {
		t.Fatal(err)
	}
	w.model.Wait(t, "the turn's request", func(r codextest.Request) bool { return r.User == "go" })
	events := codextest.Record(t, second)
	if back, err := second.ResumeThread(t.Context(), thread.ID, w.spec); err != nil || back.Status != codex.ThreadActive {
		t.Fatalf("resume: %+v %v", back, err)
	}
	close(release)
	if end := events.WaitEnded(t, turn.ID); end.Status != codex.TurnCompleted {
		t.Errorf("turn %+v", end)
	}
}

// After an upgrade the running server is adopted with its turns, and known to be
// outdated; once it was stopped, the installed Codex is started.
func TestAnUpgradedCodexTakesOverWhenTheServerWasStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	first := w.open(t)
	if _, _, outdated, err := managed.Outdated(t.Context(), w.state, w.options); err != nil || outdated {
		t.Errorf("the same Codex is outdated: %t, %v", outdated, err)
	}
	record := filepath.Join(w.state, "app-server", "server.json")
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(codextest.Version), []byte("0.1.0"), 1)
	if err := os.WriteFile(record, text, 0o600); err != nil { // as if that had been running
		t.Fatal(err)
	}
	if second := w.open(t); second.PID() != first.PID() {
		t.Errorf("process %d was replaced by %d", first.PID(), second.PID())
	}
	if running, installed, outdated, err := managed.Outdated(t.Context(), w.state, w.options); err != nil || !outdated || running != "0.1.0" || installed != codextest.Version {
		t.Errorf("running %s, installed %s, outdated %t, %v", running, installed, outdated, err)
	}
	if pid, err := managed.Stop(t.Context(), w.state, codextest.Patience); err != nil || pid != first.PID() {
		t.Errorf("stopped %d, %v", pid, err)
	}
	if third := w.open(t); third.PID() == first.PID() {
		t.Error("the outdated server goes on")
	}
	if _, _, outdated, err := managed.Outdated(t.Context(), w.state, w.options); err != nil || outdated {
		t.Errorf("the new server is outdated: %t, %v", outdated, err)
	}
}

func TestTwoThatStartAtOnceShareOneServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	hosts := make([]*appserver.Host, 4)
	var g errgroup.Group
	for i := range hosts {
		g.Go(func() (err error) {
			hosts[i], err = managed.Open(t.Context(), w.state, w.options)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, host := range hosts {
		if host.PID() != hosts[0].PID() {
			t.Errorf("processes %d and %d", hosts[0].PID(), host.PID())
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The next host learns the token totals of a turn that ended before or while its thread
// was resumed. Of one whose end it sees it hears the totals only with a later answer of
// the model: Codex does not repeat them.
func TestTotalsOfATurnThatEndsAsItsThreadIsResumed(t *testing.T) {
	t.Parallel()
	const moments = 8
	release := make(chan struct{})
	w := newWorld(t, func(codextest.Request) codextest.Reply { return codextest.Slow("long answer", release) })
	first := w.open(t)
	threads := make([]codex.Thread, moments)
	turns := make([]codex.Turn, moments)
	for i := range threads {
		threads[i], turns[i] = w.begin(t, first, "go")
	}
	w.model.Wait(t, "the last turn's request", func(codextest.Request) bool { return len(w.model.Requests()) == moments })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := w.open(t)
	events := codextest.Record(t, second)
	for i, thread := range threads {
		if i == 1 {
			close(release) // all turns end while the threads are resumed one after the other
		}
		if _, err := second.ResumeThread(t.Context(), thread.ID, w.spec); err != nil {
			t.Fatal(err)
		}
	}
	for _, turn := range turns {
		events.Wait(t, "the totals of "+turn.ID, func(e codex.Event) bool {
			return e.TurnID == turn.ID && (e.Type == codex.EventTurnEnded || e.Type == codex.EventTokens && e.Tokens.Total > 0)
		})
	}
}

// A usage limit is told with the time of its reset, which is what holds every run of
// the account.
func TestUsageLimitTellsItsReset(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	w := newWorld(t, func(codextest.Request) codextest.Reply { return codextest.UsageLimit(reset) })
	host := w.open(t)
	events := codextest.Record(t, host)
	_, turn := w.begin(t, host, "go")
	if end := events.WaitEnded(t, turn.ID); end.Status != codex.TurnFailed || end.ErrorKind != "usage_limit" {
		t.Errorf("the turn ended as %+v", end)
	}
	told := events.Wait(t, "the account's limits", func(e codex.Event) bool { return e.Type == codex.EventRateLimits })
	if at := models.ResetOf(told.Limits); !at.Equal(reset) {
		t.Errorf("the reset is read as %s from %v, want %s", at, told.Limits, reset)
	}
}
