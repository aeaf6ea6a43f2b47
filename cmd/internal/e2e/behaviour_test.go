package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// TestTurnsThatGoAstray runs agents that do not simply do their work, all beside
// one another on one stack.
func TestTurnsThatGoAstray(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	for id, behaviour := range map[string]string{
		"cancelled": "hang", "superseded": "hang", "replacement": "", "silent": "no_handoff_told",
		"reminded": "no_handoff_once", "fixed": "needs_fix_once", "asking": "ask", "limited": "fail:rate_limit", "rejected": "reject",
	} {
		h.assign(id, behaviour)
	}
	up := h.start("up", "--adapter", "fake", "--address", e.Address, "--max-concurrent-runs", "9", "--review-nudge-interval", "2")
	l := h.ledger(h.state())
	for name, check := range map[string]func(*home, *ledger.Ledger){
		"cancel": cancelEndsTheTurn, "supersede": supersedeEndsTheTurn, "no handoff": noHandoffAsksAPerson, "reminder": reminderIsEnough,
		"needs fix": fixOnTheSameThread, "ask": answerGoesOn, "rate limit": rateLimitBacksOff, "reject": rejected,
	} {
		t.Run(name, func(t *testing.T) {
			sub := *h // fails on its own
			sub.t = t
			check(&sub, l)
		})
	}
	within(t, time.Minute, "no agent outlives its turn", func() bool {
		return !strings.Contains(fmt.Sprint(h.processes()), "fake-agent")
	})
	up.interrupt()
}

// turns are the ended turns of an assignment's runs, in order.
func turns(h *home, l *ledger.Ledger, assignment string) []models.Event {
	h.t.Helper()
	return events(h.t, l, ledger.EventFilter{AssignmentID: assignment, Types: []string{models.EventTurnEnded}})
}

func cancelEndsTheTurn(h *home, l *ledger.Ledger) {
	h.called(l, "cancelled", models.AssignmentCancelled, "cancel", "--reason", "no longer wanted", "cancelled")
}

func supersedeEndsTheTurn(h *home, l *ledger.Ledger) {
	h.called(l, "superseded", models.AssignmentSuperseded, "supersede", "--by", "replacement", "--reason", "done elsewhere", "superseded")
}

// called calls a hanging assignment off: its turn is interrupted and its run ends.
func (h *home) called(l *ledger.Ledger, id string, want models.AssignmentStatus, args ...string) {
	h.t.Helper()
	// The agent hangs after its heartbeat; before, it could end by itself because
	// its calls are refused.
	within(h.t, time.Minute, "its agent hangs", func() bool {
		return len(events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventRunHeartbeat}})) == 1
	})
	h.ok(&struct{}{}, append([]string{"assignment"}, args...)...)
	within(h.t, time.Minute, "its run ends", func() bool {
		runs, err := l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: id})
		return err == nil && len(runs) == 1 && runs[0].EndedAt != nil
	})
	if a := h.shown(id); a.Status != want {
		h.t.Errorf("%s is %s", id, a.Status)
	}
	ended := turns(h, l, id)
	if len(ended) != 1 || ended[0].Payload["status"] != string(models.TurnInterrupted) {
		h.t.Errorf("turns %+v, want one interrupted", ended)
	}
}

func noHandoffAsksAPerson(h *home, l *ledger.Ledger) {
	h.becomes("silent", models.AssignmentAwaitingHuman)
	if ended := turns(h, l, "silent"); len(ended) != 2 {
		h.t.Errorf("%d turns before a person was asked, want the first and one reminder", len(ended))
	}
	h.respond("silent", "hand off what you have")
	h.becomes("silent", models.AssignmentAccepted)
	if ended := turns(h, l, "silent"); len(ended) != 3 {
		h.t.Errorf("%d turns in all, want 3", len(ended))
	}
	h.oneThread(l, "silent", 1)
}

// respond answers the one open question of an assignment.
func (h *home) respond(id, text string) {
	h.t.Helper()
	var doc struct{ Interventions []models.Intervention }
	h.ok(&doc, "intervention", "list", "--team", theTeam)
	for _, question := range doc.Interventions {
		if question.AssignmentID == id {
			h.ok(&struct{}{}, "intervention", "respond", "--response", text, question.ID)
			return
		}
	}
	h.t.Fatalf("no open question of %s in %+v", id, doc.Interventions)
}

// oneThread checks that all runs of an assignment were on one thread.
func (h *home) oneThread(l *ledger.Ledger, id string, want int) {
	h.t.Helper()
	runs, err := l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: id})
	if err != nil || len(runs) != want {
		h.t.Fatalf("%s: %d runs, want %d (%v)", id, len(runs), want, err)
	}
	for _, r := range runs {
		if r.SessionRef == "" || r.SessionRef != runs[0].SessionRef || r.EndedAt == nil {
			h.t.Errorf("%s: run %+v is not on thread %s, or has not ended", id, r, runs[0].SessionRef)
		}
	}
}

func reminderIsEnough(h *home, l *ledger.Ledger) {
	h.becomes("reminded", models.AssignmentAccepted)
	if asked := events(h.t, l, ledger.EventFilter{AssignmentID: "reminded", Types: []string{models.EventInterventionRequested}}); len(asked) != 0 {
		h.t.Errorf("a person was asked: %+v", asked)
	}
	h.oneThread(l, "reminded", 1)
}

func fixOnTheSameThread(h *home, l *ledger.Ledger) {
	h.becomes("fixed", models.AssignmentAccepted)
	h.oneThread(l, "fixed", 2)
	if decided := events(h.t, l, ledger.EventFilter{AssignmentID: "fixed", Types: []string{models.EventIntegratorReview}}); len(decided) != 2 ||
		decided[0].Status != models.EventNeedsFix || decided[1].Status != models.EventAccepted {
		h.t.Errorf("decisions %+v", decided)
	}
}

func answerGoesOn(h *home, l *ledger.Ledger) {
	h.becomes("asking", models.AssignmentAwaitingHuman)
	h.respond("asking", "yes, go on")
	h.becomes("asking", models.AssignmentAccepted)
	h.oneThread(l, "asking", 1)
}

// rateLimitBacksOff waits for the second try: it comes after a back-off, on the
// same run, and the failure is told.
func rateLimitBacksOff(h *home, l *ledger.Ledger) {
	within(h.t, 2*time.Minute, "a second try fails too", func() bool { return len(turns(h, l, "limited")) >= 2 })
	failed := turns(h, l, "limited")
	for _, e := range failed {
		if e.Payload["status"] != string(models.TurnFailed) || e.Payload["error_kind"] != "rate_limit" {
			h.t.Errorf("turn %+v", e.Payload)
		}
	}
	started := events(h.t, l, ledger.EventFilter{AssignmentID: "limited", Types: []string{models.EventTurnStarted}})
	if wait := started[1].CreatedAt.Sub(failed[0].CreatedAt); wait < models.BackOff(1) || started[1].RunID != started[0].RunID {
		h.t.Errorf("tried again after %s, want %s, run %s after %s", wait, models.BackOff(1), started[1].RunID, started[0].RunID)
	}
	h.callOffLimited(l)
}

// callOffLimited calls the failing assignment off between two turns: its run ends at once.
func (h *home) callOffLimited(l *ledger.Ledger) {
	h.t.Helper()
	h.ok(&struct{}{}, "assignment", "cancel", "--reason", "the model is overloaded", "limited")
	within(h.t, time.Minute, "its run ends", func() bool {
		runs, err := l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: "limited"})
		return err == nil && len(runs) == 1 && runs[0].EndedAt != nil
	})
}

func rejected(h *home, l *ledger.Ledger) {
	h.becomes("rejected", models.AssignmentRejected)
	h.oneThread(l, "rejected", 1)
}
