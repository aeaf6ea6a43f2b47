package live

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
)

// sleepMark is the time, in seconds, of a command that only this package starts.
const sleepMark = "471147"

// A model that fails once in one of the known ways costs a turn and a wait, and
// one that never answers is cancelled: nothing of it is left.
func TestLiveModelFaultsAreRecordedAndTriedAgain(t *testing.T) {
	t.Parallel()
	faults := map[string]reply{"limit": codextest.Failure(429), "broken": codextest.Failure(500), "cut": codextest.CutOff()}
	r := newRig(t, agents(func(t turn) reply {
		fault, failing := faults[t.assignment]
		switch {
		case t.assignment == "silent" && t.at() == 0:
			return codextest.Exec(t.id(), "sleep "+sleepMark+" & sleep "+sleepMark)
		case t.assignment == "silent":
			return codextest.Reply{Hang: true}
		case failing && t.first:
			return fault
		}
		return work(t)
	}))
	r.team()
	for _, id := range []string{"limit", "broken", "cut", "silent"} {
		r.assign(id, "Meet a fault", outFile(id))
	}
	s := r.up("--exit-when-done", "--max-concurrent-runs", "4")
	r.until("the silent worker's command runs", func(context.Context) (bool, error) { return sleepers(t, sleepMark, r.repo) > 0, nil })
	r.must("assignment", "cancel", "--reason", "it is silent", "silent")
	doc := s.finish()
	wantStatus(t, doc, "accepted", "limit", "broken", "cut")
	wantStatus(t, doc, "cancelled", "silent")

	l := r.ledger()
	for id, kind := range map[string]string{"limit": "rate_limit", "broken": "server", "cut": "connection"} {
		wantTriedAgain(t, r.onlyRun(l, id), kind)
	}
	silent := r.onlyRun(l, "silent")
	if len(silent.Turns) != 1 || silent.Turns[0].Status != models.TurnInterrupted || silent.EndedAt == nil || silent.Status != models.RunCancelled {
		t.Errorf("the cancelled run: %+v, turns %+v", silent.Run, silent.Turns)
	}
	if n := sleepers(t, sleepMark, r.repo); n != 0 {
		t.Errorf("%d commands of the cancelled turn still run", n)
	}
	r.toldOnce(l)
	r.intact()
}

// An account whose usage limit is reached is asked for nothing until the reset that
// Codex tells, by no run, and then all go on.
func TestLiveUsageLimitHoldsEveryRunUntilItsReset(t *testing.T) {
	t.Parallel()
	const atOnce = 2
	var reset time.Time
	var first sync.Once
	r := newRig(t, agents(func(t turn) reply {
		first.Do(func() { reset = time.Now().Add(15 * time.Second).Truncate(time.Second) })
		if time.Now().Before(reset) {
			return codextest.UsageLimit(reset)
		}
		return work(t)
	}))
	r.team()
	for _, id := range []string{"one", "two", "three"} {
		r.assign(id, "Meet a limit", outFile(id))
	}
	doc := r.up("--exit-when-done", "--max-concurrent-runs", fmt.Sprint(atOnce)).finish()
	wantStatus(t, doc, "accepted", "one", "two", "three")
	refused := 0
	for _, q := range r.model.Requests() {
		if q.At.Before(reset) {
			refused++
		}
	}
	if refused == 0 || refused > atOnce {
		t.Errorf("the model was asked %d times before the reset, want once for each of the %d runs under way at most", refused, atOnce)
	}
	r.toldOnce(r.ledger())
	r.intact()
}

// wantTriedAgain checks that a failed turn is recorded with its kind and was tried
// again on the same thread after a wait.
func wantTriedAgain(t *testing.T, run ledger.RunDetail, kind string) {
	t.Helper()
	if len(run.Turns) != 2 || run.Turns[0].Status != models.TurnFailed || run.Turns[0].ErrorKind != kind || run.Turns[1].Status != models.TurnCompleted {
		t.Errorf("%s: turns %+v, want one failed of kind %s and one completed", run.AssignmentID, run.Turns, kind)
		return
	}
	for _, c := range run.Commands {
		if c.Type != models.CommandResume {
			continue
		}
		if c.Reason != "turn_failed" || c.Cause != run.Turns[0].ID || c.NotBefore == nil ||
			c.NotBefore.Sub(c.CreatedAt) < models.BackOff(1) || run.Turns[1].StartedAt.Before(*c.NotBefore) {
			t.Errorf("%s: resume %+v, second turn at %s", run.AssignmentID, c, run.Turns[1].StartedAt)
		}
		return
	}
	t.Errorf("%s: no resume command", run.AssignmentID)
}

// sleepers counts the marked commands that run in a folder.
func sleepers(t *testing.T, mark, dir string) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	check(t, err)
	n := 0
	for _, p := range processes {
		line, err := os.ReadFile(filepath.Join(p, "cmdline"))
		if err != nil || !bytes.Equal(line, []byte("sleep\x00"+mark+"\x00")) {
			continue // gone meanwhile, or another one
		}
		if cwd, err := os.Readlink(filepath.Join(p, "cwd")); err == nil && cwd == dir {
			n++
		}
	}
	return n
}
