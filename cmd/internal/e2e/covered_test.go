package e2e_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// somebody is another person than the one who types.
func somebody() *ledger.Call {
	return ledger.As(models.Principal{ActorID: "human:somebody", Role: models.RoleHuman})
}

// TestLoopGivesBackWhatWasThere covers a team whose loop was on already.
func TestLoopGivesBackWhatWasThere(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	l := h.ledger(h.state())
	before, _, err := l.ConfigureLoop(t.Context(), somebody(), theTeam, models.LoopSettings{
		Enabled: true, AdapterKind: models.AdapterKindFake, PollIntervalSeconds: 7, MaxConcurrentRuns: 5, ReviewNudgeSeconds: 33,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"loop", "up"} {
		p := h.start(command, "--adapter", "fake", "--address", e.Address, "--max-concurrent-runs", "2")
		p.says(time.Minute, "loop is on for "+theTeam)
		p.interrupt()
		if !strings.Contains(p.out.String(), "loop of "+theTeam+" goes on as before (set by ") {
			t.Errorf("cox %s does not say what it leaves:\n%s", command, p.out.String())
		}
		after, err := l.Team(t.Context(), theTeam)
		if err != nil {
			t.Fatal(err)
		}
		after.Loop.SetBy = before.Loop.SetBy // the ledger names who wrote last
		if after.Loop != before.Loop {
			t.Errorf("cox %s left %+v, there was %+v", command, after.Loop, before.Loop)
		}
	}
}

// TestUpTellsWhoTurnedTheLoopOff waits for work that nothing will start any more.
func TestUpTellsWhoTurnedTheLoopOff(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("long", "slow:30s")
	p := h.start("up", "--exit-when-done", "--json", "--adapter", "fake", "--address", e.Address)
	p.says(time.Minute, "loop is on for "+theTeam)
	l := h.ledger(h.state())
	if _, _, err := l.ConfigureLoop(t.Context(), somebody(), theTeam, models.LoopSettings{AdapterKind: models.AdapterKindFake}); err != nil {
		t.Fatal(err)
	}
	p.ends(3, time.Minute)
	var doc failureDoc
	oneDocument(t, p.out.String(), &doc)
	if doc.Error.Code != string(models.CodeVersionConflict) || !strings.Contains(doc.Error.Message, "turned off by human:somebody") || doc.Error.Next != "cox up" {
		t.Errorf("the end is %+v", doc.Error)
	}
}

// TestInterruptedWaitIsNoSuccess is Ctrl-C before the work has ended.
func TestInterruptedWaitIsNoSuccess(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("long", "slow:30s")
	p := h.start("up", "--exit-when-done", "--json", "--adapter", "fake", "--address", e.Address)
	p.says(time.Minute, "turn started")
	p.signal(os.Interrupt)
	p.ends(130, time.Minute)
	var doc failureDoc
	oneDocument(t, p.out.String(), &doc)
	report, ok := doc.Error.Details["report"].(map[string]any)
	if doc.Error.Code != string(models.CodeInterrupted) || !ok || report["assignments"] == nil {
		t.Errorf("the end is %+v", doc.Error)
	}
	if left := h.processes(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
