package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// killPoint is the n-th event of a type, at which the worker is killed.
type killPoint struct {
	event string
	most  int // so many of them come in every demo
}

// killPoints lie at the arrows of an assignment's life.
func killPoints() []killPoint {
	return []killPoint{
		{models.EventTurnStarted, 4},
		{models.EventHandoffSubmitted, 3},
		{models.EventReviewNudgeDispatched, 1},
		{models.EventRunClaimed, 4},
		{models.EventCommandDispatched, 5},
	}
}

// TestWorkerKilledHalfWay kills the worker at several points of a demo. The
// supervisor starts it again and the demo ends as if nothing had been.
func TestWorkerKilledHalfWay(t *testing.T) {
	for _, seed := range seeds(t) {
		point := killPoints()[seed%uint64(len(killPoints()))]
		random := rand.New(rand.NewPCG(seed, 1))
		n, pace := 1+random.IntN(point.most), time.Duration(20+random.IntN(180))*time.Millisecond
		t.Run(fmt.Sprintf("seed=%d/%s-%d", seed, point.event, n), func(t *testing.T) {
			t.Parallel()
			killAt(t, point.event, n, pace)
		})
	}
}

// seeds are those of this run: one that is to be repeated, or the first few.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	if text := os.Getenv("COX_E2E_SEED"); text != "" {
		return []uint64{number(t, text)}
	}
	count := uint64(len(killPoints()))
	if text := os.Getenv("COX_E2E_SEEDS"); text != "" {
		count = number(t, text)
	}
	var out []uint64
	for seed := range count {
		out = append(out, seed)
	}
	return out
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func killAt(t *testing.T, event string, n int, pace time.Duration) {
	e := shared.get(t)
	h := newHome(t)
	p := h.start("up", "--demo", "--exit-when-done", "--json", "--address", e.Address, "--fake-pace", pace.String())
	state := h.demoState()
	l := h.ledger(state)
	h.seen(l, event, n)
	pid, running := worker.Running(state)
	if !running {
		t.Fatal("no worker runs half-way")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed worker %d at %s %d, pace %s", pid, event, n, pace)
	p.ends(0, demoLimit)
	var doc demoDoc
	oneDocument(t, p.out.String(), &doc)
	h.fourAccepted(doc)
	h.nothingTwice(l, doc)
}

// demoState waits for the state directory that a demo makes.
func (h *home) demoState() string {
	h.t.Helper()
	var found []string
	within(h.t, time.Minute, "the demo makes its ledger", func() bool {
		var err error
		if found, err = filepath.Glob(filepath.Join(h.env["TMPDIR"], "cox-demo-*", "state", "ledger.db")); err != nil {
			h.t.Fatal(err)
		}
		return len(found) == 1
	})
	return filepath.Dir(found[0])
}

// seen waits for the n-th event of a type.
func (h *home) seen(l *ledger.Ledger, event string, n int) {
	h.t.Helper()
	within(h.t, 2*time.Minute, fmt.Sprintf("%d events %s", n, event), func() bool {
		return len(events(h.t, l, ledger.EventFilter{Types: []string{event}})) >= n
	})
}

func events(t *testing.T, l *ledger.Ledger, f ledger.EventFilter) []models.Event {
	t.Helper()
	f.Limit = 2000
	found, err := l.Events(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// nothingTwice checks the ledger and the threads' own histories after a crash.
func (h *home) nothingTwice(l *ledger.Ledger, doc demoDoc) {
	h.t.Helper()
	if starts := events(h.t, l, ledger.EventFilter{Types: []string{models.EventNodeStarted}}); len(starts) != 2 {
		h.t.Errorf("the node was started %d times, want twice", len(starts))
	}
	known := map[string]bool{}
	for _, a := range doc.Assignments {
		for kind, want := range map[string]int{models.EventRunClaimed: 1, models.EventHandoffSubmitted: 1, models.EventIntegratorReview: 1} {
			if got := events(h.t, l, ledger.EventFilter{AssignmentID: a.ID, Types: []string{kind}}); len(got) != want {
				h.t.Errorf("%s: %d events %s, want %d", a.ID, len(got), kind, want)
			}
		}
		runs, err := l.Runs(context.Background(), ledger.RunFilter{AssignmentID: a.ID})
		if err != nil {
			h.t.Fatal(err)
		}
		if len(runs) != 1 || runs[0].EndedAt == nil {
			h.t.Errorf("%s: runs %+v, want one that has ended", a.ID, runs)
		}
		known[a.ThreadID] = true
		h.lostTurnsWereResumed(l, a.ID)
	}
	for _, e := range events(h.t, l, ledger.EventFilter{Types: []string{models.EventTurnStarted}}) {
		if id, _ := e.Payload["thread_id"].(string); e.AssignmentID == "" {
			known[id] = true // the integrator's
		}
	}
	if len(known) != 5 {
		h.t.Errorf("threads %v, want one for each assignment and the integrator", known)
	}
	messages(h.t, doc.StateDir, known)
}

// lostTurnsWereResumed checks that every turn that was lost before the handoff was
// followed by another one of the same run.
func (h *home) lostTurnsWereResumed(l *ledger.Ledger, assignment string) {
	h.t.Helper()
	lost, handedOff := false, false
	for _, e := range events(h.t, l, ledger.EventFilter{AssignmentID: assignment}) {
		switch {
		case e.Type == models.EventHandoffSubmitted:
			handedOff = true
		case e.Type == models.EventTurnEnded && e.Payload["status"] == string(models.TurnLost) && !handedOff:
			lost = true
		case e.Type == models.EventTurnStarted:
			lost = false
		}
	}
	if lost {
		h.t.Errorf("%s: a lost turn was not resumed", assignment)
	}
}

// fakeThread is the history of a thread as the fake keeps it.
type fakeThread struct {
	ID    string
	Turns []struct{ Status string }
	Items []struct {
		Type     string
		ClientID string `json:"client_id"`
		Text     string
	}
}

// messages reads all histories: each message is there once, every turn has ended, and
// no thread is there that the ledger does not know.
func messages(t *testing.T, stateDir string, known map[string]bool) {
	t.Helper()
	for _, thread := range eachMessageOnce(t, stateDir) {
		if !known[thread.ID] {
			t.Errorf("thread %s belongs to nobody", thread.ID)
		}
		for _, turn := range thread.Turns {
			if turn.Status == "in_progress" {
				t.Errorf("a turn of thread %s never ended", thread.ID)
			}
		}
	}
}

// eachMessageOnce checks that every thread was told something and nothing twice, and
// returns the threads.
func eachMessageOnce(t *testing.T, stateDir string) []fakeThread {
	t.Helper()
	all := histories(t, stateDir)
	for _, thread := range all {
		var ids []string
		for _, item := range thread.Items {
			if item.Type == "userMessage" {
				ids = append(ids, item.ClientID)
			}
		}
		slices.Sort(ids)
		if len(ids) == 0 || ids[0] == "" || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("thread %s has messages %q, want each once", thread.ID, ids)
		}
	}
	return all
}

func histories(t *testing.T, stateDir string) []fakeThread {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(stateDir, "fake", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no thread's history: ", err)
	}
	var out []fakeThread
	for _, file := range files {
		raw, err := os.ReadFile(file)
		var thread fakeThread
		if err = errors.Join(err, json.Unmarshal(raw, &thread)); err != nil {
			t.Fatal(err)
		}
		out = append(out, thread)
	}
	return out
}
