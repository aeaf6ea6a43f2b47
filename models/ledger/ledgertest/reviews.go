package ledgertest

import (
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func reviewTests() map[string]func(*env) {
	return map[string]func(*env){
		"review/accept":                        reviewAccept,
		"review/reject":                        reviewReject,
		"review/needs_fix":                     reviewNeedsFix,
		"review/only_handoffs_are_decided":     reviewOnlyHandoffs,
		"review/own_work":                      reviewOwnWork,
		"review/decided_once":                  reviewOnce,
		"review/leftover_of_a_cancelled_one":   reviewLeftover,
		"review/an_older_handoff":              reviewOlder,
		"review/commit_must_be_the_handoffs":   reviewCommit,
		"review/check_order":                   reviewOrder,
		"review/event_after_handoff_keeps_it":  reviewAfterEvent,
		"review/pending_is_filtered_and_dated": reviewPending,
	}
}

// handedOff makes an assignment whose run was handed off by agent A.
func (e *env) handedOff(id string) (run models.Run, handoff models.Event) {
	e.Helper()
	e.create(id)
	c := e.claim(agentA, id)
	return c.Run, e.handOff(agentA, id)
}

func reviewAccept(e *env) {
	run, handoff := e.handedOff("one")
	e.unchanged("one", models.CodeForbidden, func() error { _, err := e.decide(agentA, handoff.ID, models.DecisionAccept); return err })
	e.woken()
	ev, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	same(e, "type", ev.Type, models.EventIntegratorReview)
	same(e, "reviewed event", ev.ReviewedEventID, handoff.ID)
	sameJSON(e, "payload", ev.Payload, map[string]any{"decision_note": "looked at it", "reviewed_event": map[string]any{
		"event_id": handoff.ID, "type": models.EventHandoffSubmitted, "payload": map[string]any{"summary": "done"},
	}})
	a, r := e.assignment("one"), e.run(run.ID)
	same(e, "assignment", a.Status, models.AssignmentAccepted)
	same(e, "revision", a.Revision, 4)
	same(e, "completed", a.CompletedAt != nil && a.HandoffEventID == "", true)
	same(e, "run", r.Status, models.RunCompletedGatePassed)
	same(e, "ended", r.EndedAt != nil, true)
	same(e, "the decision stands in the run", r.Events[len(r.Events)-1].ID, ev.ID)
	same(e, "pending", len(e.pending()), 0)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	for _, call := range []func() error{
		func() error { _, err := e.tryClaim(agentA, "one"); return err },
		func() error { _, err := e.appendEvent(agentA, "one", "progress"); return err },
		func() error { _, err := e.tryHandOff(agentA, "one"); return err },
		func() error { _, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), run.ID, "x"); return err },
	} {
		e.unchanged("one", models.CodeInvalidArgument, call)
	}
}

func reviewReject(e *env) {
	run, handoff := e.handedOff("one")
	_, err := e.decide(ann, handoff.ID, models.DecisionReject)
	e.ok(err)
	same(e, "lane", e.lane("one"), "rejected")
	same(e, "run", e.run(run.ID).Status, models.RunCompletedGateFailed)
	same(e, "completed", e.assignment("one").CompletedAt != nil, true)
}

func reviewNeedsFix(e *env) {
	run, handoff := e.handedOff("one")
	_, err := e.decide(boss, handoff.ID, models.DecisionNeedsFix)
	e.ok(err)
	a := e.assignment("one")
	same(e, "lane", e.lane("one"), "needs_fix")
	same(e, "no holder", a.ClaimedBy == "" && a.LeaseExpiresAt == nil && a.CompletedAt == nil, true)
	same(e, "pending", len(e.pending()), 0)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.appendEvent(agentA, "one", "progress"); return err })
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryHandOff(agentA, "one"); return err })
	c := e.claim(agentB, "one") // another actor need not wait for an expiry
	same(e, "attempt", c.Run.Attempt, 2)
	same(e, "former run", e.run(run.ID).Status, models.RunCompletedGateFailed)
	same(e, "former end", e.run(run.ID).EndedAt != nil, true)
}

func reviewOnlyHandoffs(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	report, err := e.appendEvent(agentA, "one", "evidence_report")
	e.ok(err)
	beat, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "x")
	e.ok(err)
	same(e, "pending", len(e.pending()), 0)
	for _, id := range []string{report.ID, beat.ID, e.events("one")[0].ID} {
		e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.decide(boss, id, models.DecisionAccept); return err })
	}
	handoff := e.handOff(agentA, "one")
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.decide(boss, report.ID, models.DecisionReject); return err })
	_, err = e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.decide(boss, report.ID, models.DecisionReject); return err })
}

func reviewOwnWork(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	e.clock.advance(2 * 3600e9)
	e.claim(agentB, "one")
	handoff := e.handOff(agentB, "one")
	for _, actor := range []string{agentA.ActorID, agentB.ActorID} { // every attempt counts, whatever the role
		for _, role := range []models.Role{models.RoleIntegrator, models.RoleHuman} {
			by := models.Principal{ActorID: actor, Role: role}
			e.unchanged("one", models.CodeForbidden, func() error { _, err := e.decide(by, handoff.ID, models.DecisionAccept); return err })
		}
	}
	_, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
}

func reviewOnce(e *env) {
	_, handoff := e.handedOff("one")
	_, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	e.unchanged("one", models.CodeStaleRevision, func() error { _, err := e.decide(ann, handoff.ID, models.DecisionReject); return err })
}

func reviewLeftover(e *env) {
	_, handoff := e.handedOff("one")
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, "no longer wanted")
	e.ok(err)
	same(e, "pending", len(e.pending()), 0)
	e.unchanged("one", models.CodeStaleRevision, func() error { _, err := e.decide(boss, handoff.ID, models.DecisionAccept); return err })
}

func reviewOlder(e *env) {
	_, older := e.handedOff("one")
	_, err := e.decide(boss, older.ID, models.DecisionNeedsFix)
	e.ok(err)
	e.claim(agentA, "one")
	newer := e.handOff(agentA, "one")
	refusal := e.unchanged("one", models.CodeStaleRevision, func() error { _, err := e.decide(boss, older.ID, models.DecisionAccept); return err })
	same(e, "names the open handoff", refusal.Details["handoff_event_id"], any(newer.ID))
}

func reviewCommit(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	handoff, err := e.l.SubmitHandoff(e.ctx, ledger.As(agentA), ledger.HandoffRequest{AssignmentID: "one", HeadCommit: commit})
	e.ok(err)
	with := func(head string) error {
		_, err := e.l.Decide(e.ctx, ledger.As(boss), ledger.DecideRequest{EventID: handoff.ID, Decision: models.DecisionAccept, HeadCommit: head})
		return err
	}
	for _, head := range []string{"", "abcdef1"} {
		refusal := e.unchanged("one", models.CodeStaleRevision, func() error { return with(head) })
		same(e, "names the recorded commit", refusal.Details["head_commit"], any(commit))
	}
	e.ok(with(commit))
	_, handoff = e.handedOff("two")
	e.unchanged("two", models.CodeStaleRevision, func() error { return with(commit) })
}

func reviewOrder(e *env) {
	try := func(by models.Principal, event string, d models.Decision, base *int) error {
		_, err := e.l.Decide(e.ctx, ledger.As(by), ledger.DecideRequest{EventID: event, Decision: d, Base: base})
		return err
	}
	e.refused(models.CodeForbidden, try(agentB, "evt_none", "odd", nil))
	e.refused(models.CodeInvalidArgument, try(boss, "evt_none", "odd", nil))
	e.refused(models.CodeNotFound, try(boss, "evt_none", models.DecisionAccept, nil))
	_, handoff := e.handedOff("one")
	e.refused(models.CodeStaleRevision, try(boss, handoff.ID, models.DecisionAccept, new(2)))
	e.ok(try(boss, handoff.ID, models.DecisionAccept, new(3)))
}

func reviewAfterEvent(e *env) {
	_, handoff := e.handedOff("one")
	_, err := e.appendEvent(boss, "one", "note")
	e.ok(err)
	p := e.pending()
	same(e, "still pending", len(p) == 1 && p[0].Event.ID == handoff.ID, true)
	same(e, "its revision is the assignment's", p[0].Revision, 4)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.appendEvent(agentA, "one", "progress"); return err })
	_, err = e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
}

func reviewPending(e *env) {
	_, first := e.handedOff("one")
	_, second := e.handedOff("two")
	p := e.pending()
	same(e, "oldest first", len(p) == 2 && p[0].Event.ID == first.ID && p[1].Event.ID == second.ID, true)
	e.clock.advance(90 * time.Second)
	_, third := e.handedOff("three")
	p = e.pending()
	same(e, "pending since", p[0].PendingSince.Equal(first.CreatedAt) && p[0].PendingSeconds == 90 && p[2].PendingSeconds == 0, true)
	same(e, "no reminder, no escalation", p[0].Nudges == 0 && p[0].LastNudgeAt == nil && p[0].EscalationID == "", true)
	for name, c := range map[string]struct {
		f    ledger.ReviewFilter
		want int
	}{
		"old enough": {ledger.ReviewFilter{MinAge: 90 * time.Second}, 2}, "too young": {ledger.ReviewFilter{MinAge: 91 * time.Second}, 0},
		"of an assignment": {ledger.ReviewFilter{AssignmentID: third.AssignmentID}, 1}, "escalated": {ledger.ReviewFilter{Escalated: true}, 0},
	} {
		list, err := e.l.PendingReviews(e.ctx, c.f)
		e.ok(err)
		same(e, name, len(list), c.want)
	}
	none, err := e.l.PendingReviews(e.ctx, ledger.ReviewFilter{TeamID: "nobody"})
	e.ok(err)
	same(e, "of another team", len(none), 0)
	mine, err := e.l.PendingReviews(e.ctx, ledger.ReviewFilter{WorkspaceID: space, TeamID: crew})
	e.ok(err)
	same(e, "of the team", len(mine), 3)
}
