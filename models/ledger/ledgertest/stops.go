package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

func stopTests() map[string]func(*env) {
	return map[string]func(*env){
		"cancel/claimed_work":        cancelClaimed,
		"cancel/from_every_status":   cancelEverywhere,
		"cancel/check_order":         cancelOrder,
		"cancel/closes_questions":    cancelClosesQuestions,
		"supersede/names_its_heir":   supersede,
		"supersede/refuses_bad_heir": supersedeRefused,
	}
}

func cancelClaimed(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	e.woken()
	a, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", new(2), "changed our mind")
	e.ok(err)
	same(e, "status", a.Status, models.AssignmentCancelled)
	same(e, "revision", a.Revision, 3)
	same(e, "no claim", a.ClaimedBy == "" && a.LeaseExpiresAt == nil && a.CompletedAt != nil, true)
	same(e, "the run stays named", a.ActiveRunID, c.Run.ID)
	r := e.run(c.Run.ID)
	same(e, "run", r.Status, models.RunCancelled)
	same(e, "run ended", r.EndedAt != nil, true)
	last := r.Events[len(r.Events)-1]
	same(e, "audit event", last.Type, models.EventAssignmentCancelled)
	same(e, "reason", last.Payload["reason"], any("changed our mind"))
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryClaim(agentA, "one"); return err })
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryHandOff(agentA, "one"); return err })
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.appendEvent(agentA, "one", "progress"); return err })
}

func cancelEverywhere(e *env) {
	reach := map[string]func(id string){
		"ready":   func(string) {},
		"claimed": func(id string) { e.claim(agentA, id) },
		"waiting": func(id string) {
			_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), e.claim(agentA, id).Run.ID, "?", "", nil)
			e.ok(err)
		},
		"handed": func(id string) { e.claim(agentA, id); e.handOff(agentA, id) },
		"fix": func(id string) {
			e.claim(agentA, id)
			_, err := e.decide(boss, e.handOff(agentA, id).ID, models.DecisionNeedsFix)
			e.ok(err)
		},
	}
	for id, get := range reach {
		e.create(id)
		get(id)
		a, err := e.l.CancelAssignment(e.ctx, ledger.As(ann), id, nil, "stop")
		e.ok(err)
		same(e, id, a.Status == models.AssignmentCancelled && a.HandoffEventID == "", true)
	}
	open, err := e.l.Runs(e.ctx, ledger.RunFilter{OpenOnly: true})
	e.ok(err)
	same(e, "open runs", len(open), 0)
}

func cancelOrder(e *env) {
	e.create("one")
	try := func(by models.Principal, id string, base *int) error {
		_, err := e.l.CancelAssignment(e.ctx, ledger.As(by), id, base, "r")
		return err
	}
	e.unchanged("one", models.CodeForbidden, func() error { return try(agentA, "one", new(7)) })
	e.refused(models.CodeNotFound, try(boss, "nowhere", new(7)))
	e.unchanged("one", models.CodeStaleRevision, func() error { return try(boss, "one", new(7)) })
	e.ok(try(boss, "one", new(1)))
	e.unchanged("one", models.CodeInvalidArgument, func() error { return try(boss, "one", new(2)) })
	_, handoff := e.handedOff("two")
	_, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	e.unchanged("two", models.CodeInvalidArgument, func() error { return try(boss, "two", nil) })
}

func cancelClosesQuestions(e *env) {
	e.create("one")
	ev, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), e.claim(agentA, "one").Run.ID, "?", "", nil)
	e.ok(err)
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, "stop")
	e.ok(err)
	e.unchanged("one", models.CodeInvalidArgument, func() error {
		_, err := e.l.RespondIntervention(e.ctx, ledger.As(ann), ev.ID, "yes")
		return err
	})
	open, err := e.l.Interventions(e.ctx, ledger.InterventionFilter{Status: "open"})
	e.ok(err)
	same(e, "open questions", len(open), 0)
}

func supersede(e *env) {
	e.create("one")
	e.create("heir")
	run, handoff := e.claim(agentA, "one").Run, e.handOff(agentA, "one")
	a, err := e.l.SupersedeAssignment(e.ctx, ledger.As(boss), "one", "heir", new(3), "split differently")
	e.ok(err)
	same(e, "status", a.Status, models.AssignmentSuperseded)
	same(e, "column", a.SupersededBy, "heir")
	same(e, "metadata", a.Metadata["superseded_by"], any("heir"))
	same(e, "run", e.run(run.ID).Status, models.RunSuperseded)
	last := e.events("one", models.EventAssignmentSuperseded)
	same(e, "event names it", len(last) == 1 && last[0].Payload["superseded_by"] == "heir", true)
	for _, call := range []func() error{
		func() error { _, err := e.tryClaim(agentA, "one"); return err },
		func() error { _, err := e.appendEvent(boss, "one", "note"); return err },
		func() error { _, err := e.tryHandOff(agentA, "one"); return err },
	} {
		e.unchanged("one", models.CodeInvalidArgument, call)
	}
	e.unchanged("one", models.CodeStaleRevision, func() error { _, err := e.decide(boss, handoff.ID, models.DecisionAccept); return err })
}

func supersedeRefused(e *env) {
	e.create("one")
	e.create("dead")
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "dead", nil, "no")
	e.ok(err)
	by := func(p models.Principal, heir string) error {
		_, err := e.l.SupersedeAssignment(e.ctx, ledger.As(p), "one", heir, nil, "r")
		return err
	}
	e.unchanged("one", models.CodeForbidden, func() error { return by(agentA, "dead") })
	e.unchanged("one", models.CodeInvalidArgument, func() error { return by(boss, "one") })
	e.unchanged("one", models.CodeNotFound, func() error { return by(boss, "nowhere") })
	e.unchanged("one", models.CodeInvalidArgument, func() error { return by(boss, "dead") })
}
