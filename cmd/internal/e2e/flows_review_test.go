package e2e_test

import (
	"fmt"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// decisions are the verdicts about an assignment, in order.
func (h *home) decisions(l *ledger.Ledger, id string) (out []string) {
	h.t.Helper()
	for _, e := range events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventIntegratorReview}}) {
		out = append(out, e.Status)
	}
	return out
}

func (h *home) wantDecisions(l *ledger.Ledger, id string, want ...string) {
	h.t.Helper()
	if got := h.decisions(l, id); fmt.Sprint(got) != fmt.Sprint(want) {
		h.t.Errorf("decisions about %s: %v, want %v", id, got, want)
	}
}

func fixOnTheSameThread(h *home, l *ledger.Ledger, id string) {
	h.becomes(id, models.AssignmentAccepted)
	runs := h.oneThread(l, id, 2)
	if runs[0].ResumeOfRunID != runs[1].ID || runs[1].Status != models.RunCompletedGateFailed {
		h.t.Errorf("runs %+v", runs)
	}
	h.wantDecisions(l, id, models.EventNeedsFix, models.EventAccepted)
	h.workerWasTold(l, id, []string{"Your assignment is"}, []string{"the decision is needs_fix", "Please add one more line", runs[0].ID})
}

func rejected(h *home, l *ledger.Ledger, id string) {
	h.becomes(id, models.AssignmentRejected)
	h.oneThread(l, id, 1)
	h.wantDecisions(l, id, models.EventRejected)
	h.workerWasTold(l, id, []string{"Your assignment is"})
}

// reviewerAsks lets the integrator ask a person about a handoff: no nudge names it
// until the answer, and the next one quotes it.
func reviewerAsks(h *home, l *ledger.Ledger, id string) {
	q := h.question(id)
	if a := h.shown(id); a.Status != models.AssignmentAwaitingReview || q.RequestedBy != models.IntegratorID("team-"+id) {
		h.t.Errorf("while %s asks, %s is %s", q.RequestedBy, id, a.Status)
	}
	before := h.nudges(l, id)
	h.respond(q, "the release needs it")
	h.becomes(id, models.AssignmentAccepted)
	h.wantDecisions(l, id, models.EventAccepted)
	if after := h.nudges(l, id); after != before+1 || before != 1 {
		h.t.Errorf("%d nudges before the answer and %d in all, want 1 and 2", before, after)
	}
	if !h.integratorWasTold("May the scripted integrator accept assignment "+id, "the release needs it", q.ID) {
		h.t.Error("the integrator was not told the answer")
	}
	h.workerWasTold(l, id, []string{"Your assignment is"})
}

// nudges counts the nudges that named the assignment's handoff.
func (h *home) nudges(l *ledger.Ledger, id string) int {
	h.t.Helper()
	handoffs := events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventHandoffSubmitted}})
	if len(handoffs) != 1 {
		h.t.Fatalf("%s: %d handoffs", id, len(handoffs))
	}
	n := 0
	for _, e := range events(h.t, l, ledger.EventFilter{Types: []string{models.EventReviewNudgeDispatched}}) {
		named, _ := e.Payload["pending_event_ids"].([]any)
		for _, event := range named {
			if event == handoffs[0].ID {
				n++
			}
		}
	}
	return n
}

func followUp(h *home, l *ledger.Ledger, id string) {
	h.becomes(id, models.AssignmentAccepted)
	h.becomes(id+"-more", models.AssignmentAccepted)
	more := h.shown(id + "-more")
	if more.CreatedBy != models.IntegratorID(theTeam) || more.TeamID != theTeam || more.Revision < 2 {
		h.t.Errorf("the follow-up %+v", more)
	}
	h.workerWasTold(l, id+"-more", []string{"Your assignment is `" + id + "-more`"})
}

// replacedByTheIntegrator ends handed-off work in favour of a new assignment.
func replacedByTheIntegrator(h *home, l *ledger.Ledger, id string) {
	h.becomes(id, models.AssignmentSuperseded)
	h.becomes(id+"-again", models.AssignmentAccepted)
	if a := h.shown(id); a.SupersededBy != id+"-again" || a.HandoffEventID != "" {
		h.t.Errorf("superseded as %+v", a)
	}
	h.oneThread(l, id, 1)
	h.wantDecisions(l, id)
	h.workerWasTold(l, id, []string{"Your assignment is"})
}

// escalated waits for the question about a review that nobody takes: it comes after
// three nudges, each at its interval.
func (h *home) escalated(l *ledger.Ledger, id string) models.Intervention {
	h.t.Helper()
	q := h.question(id)
	if q.Kind != "review_ignored" || h.shown(id).Status != models.AssignmentAwaitingReview {
		h.t.Errorf("asked %+v while it is %s", q, h.shown(id).Status)
	}
	if n := h.nudges(l, id); n < 3 || n > 4 {
		h.t.Errorf("a person was asked after %d nudges", n)
	}
	within(h.t, time.Minute, "the integrator learns that a person was asked", func() bool {
		return h.integratorWasTold("so a person was asked in", "`"+q.ID+"`")
	})
	return q
}

// ignoredReview is decided by a person, once the integrator has ignored it.
func ignoredReview(h *home, l *ledger.Ledger, id string) {
	h.escalated(l, id)
	if n := h.nudges(l, id); n != 4 {
		h.t.Errorf("%d messages about it, want 3 nudges and one that a person was asked", n)
	}
	h.ok(&struct{}{}, "review", "accept", "--note", "it is fine", id)
	h.becomes(id, models.AssignmentAccepted)
	open, err := l.Interventions(h.t.Context(), ledger.InterventionFilter{Status: "open"})
	for _, q := range open {
		if q.AssignmentID == id {
			h.t.Errorf("a question is left open: %+v, %v", q, err)
		}
	}
}

// ignoredUntilTold is decided by the integrator once a person answers the question.
func ignoredUntilTold(h *home, l *ledger.Ledger, id string) {
	q := h.escalated(l, id)
	h.respond(q, "accept it please")
	h.becomes(id, models.AssignmentAccepted)
	if !h.integratorWasTold("accept it please", q.ID) {
		h.t.Error("the integrator was not told the answer")
	}
	h.wantDecisions(l, id, models.EventAccepted)
}
