package e2e_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// absence is how long the worker is away: more than two lives of a claim, or, with
// COX_E2E_LONG, a whole minute.
func absence() time.Duration {
	if os.Getenv("COX_E2E_LONG") != "" {
		return time.Minute
	}
	return 12 * time.Second
}

// TestAWorkerAwayCostsNoClaim kills the worker for longer than the claims of its runs
// live: one works, one asks a person, one waits for a review, one backs off. All go on
// as the same run on the same thread, and nothing is orphaned.
func TestAWorkerAwayCostsNoClaim(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.ok(&struct{}{}, "team", "create", "--workspace", theSite, "team-reviewed")
	h.assign("working", "slow:5s")
	h.assign("asking", "ask")
	h.assign("limited", "fail:rate_limit")
	h.assign("reviewed", "ignore", "--team", "team-reviewed")
	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	l := h.ledger(h.state())
	for _, team := range []string{theTeam, "team-reviewed"} {
		_, _, err := l.ConfigureLoop(t.Context(), ledger.As(models.Principal{ActorID: "human:ann", Role: models.RoleHuman}), team, models.LoopSettings{
			Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 9, RunLeaseTTLSeconds: 5, ReviewNudgeSeconds: 3600,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	h.becomes("asking", models.AssignmentAwaitingHuman)
	h.becomes("reviewed", models.AssignmentAwaitingReview)
	within(t, time.Minute, "every run has begun, and one failed", func() bool {
		begun := events(t, l, ledger.EventFilter{Types: []string{models.EventTurnStarted}, TeamID: theTeam})
		failed := events(t, l, ledger.EventFilter{Types: []string{models.EventTurnEnded}, AssignmentID: "limited"})
		return len(begun) >= 3 && len(failed) > 0
	})
	w.signal(syscall.SIGKILL)
	w.wait(time.Minute)
	<-time.After(absence()) // it is the time itself that must do nothing

	w = h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	h.becomes("working", models.AssignmentAccepted)
	h.respond(h.question("asking"), "go on")
	h.becomes("asking", models.AssignmentAccepted)
	h.ok(&struct{}{}, "review", "accept", "--note", "good", h.shown("reviewed").HandoffEventID)
	within(t, time.Minute, "the failed turn is tried again", func() bool {
		return len(events(t, l, ledger.EventFilter{Types: []string{models.EventTurnStarted}, AssignmentID: "limited"})) > 1
	})
	h.ok(&struct{}{}, "assignment", "cancel", "--reason", "enough", "limited")
	for _, id := range []string{"working", "asking", "limited", "reviewed"} {
		h.oneThread(l, id, 1)
	}
	if lost := events(t, l, ledger.EventFilter{Types: []string{models.EventTaskVanished, models.EventRunStale}}); len(lost) != 0 {
		t.Errorf("claims were lost: %+v", lost)
	}
	w.interrupt()
	h.toldOnce(l)
}
