package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

const commit = "a63a2bd3dbb3787b52b3cc644449d76979191f63"

func handoffTests() map[string]func(*env) {
	return map[string]func(*env){
		"handoff/reaches_review":      handoffReaches,
		"handoff/needs_a_claim":       handoffNeedsClaim,
		"handoff/only_once":           handoffOnce,
		"handoff/not_while_waiting":   handoffWaiting,
		"handoff/head_commit":         handoffCommit,
		"handoff/after_a_late_expiry": handoffLate,
		"handoff/check_order":         handoffOrder,
	}
}

func handoffReaches(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	e.woken()
	ev := e.handOff(agentA, "one")
	a, r := e.assignment("one"), e.run(c.Run.ID)
	same(e, "lane", e.lane("one"), "awaiting_review")
	same(e, "the open handoff", a.HandoffEventID, ev.ID)
	same(e, "revision", a.Revision, 3)
	same(e, "event revision", ev.AssignmentRevision, 3)
	same(e, "no claim to expire", a.LeaseExpiresAt == nil, true)
	same(e, "holder for display", a.ClaimedBy, agentA.ActorID)
	same(e, "run", r.Status, models.RunCompletedGatePassed)
	same(e, "handed off", r.HandedOffAt != nil && r.HandedOffAt.Equal(ev.CreatedAt), true)
	same(e, "an unmanaged run ends with the decision", r.EndedAt == nil, true)
	p := e.pending()
	same(e, "pending", len(p), 1)
	same(e, "pending event", p[0].Event.ID, ev.ID)
	same(e, "worker", p[0].WorkerActorID, agentA.ActorID)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	e.unchanged("one", models.CodeInvalidArgument, func() error {
		_, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "x")
		return err
	})
}

func handoffNeedsClaim(e *env) {
	e.create("one")
	for _, by := range []models.Principal{agentA, ann, boss} {
		e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryHandOff(by, "one"); return err })
	}
}

func handoffOnce(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	e.handOff(agentA, "one")
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryHandOff(agentA, "one"); return err })
	same(e, "pending", len(e.pending()), 1)
}

func handoffWaiting(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, "which?", "", nil)
	e.ok(err)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryHandOff(agentA, "one"); return err })
	same(e, "lane", e.lane("one"), "awaiting_human")
}

func handoffCommit(e *env) {
	e.create("one")
	e.create("two")
	c := e.claim(agentA, "one")
	try := func(id, head string, payload map[string]any) (models.Event, error) {
		return e.l.SubmitHandoff(e.ctx, ledger.As(agentA), ledger.HandoffRequest{AssignmentID: id, HeadCommit: head, Payload: payload})
	}
	for _, bad := range []string{"HEAD", "main", "--all", "a63"} {
		e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := try("one", bad, nil); return err })
	}
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := try("one", commit, map[string]any{"head_commit": "abcdef1"}); return err })
	ev, err := try("one", commit, nil)
	e.ok(err)
	same(e, "in the event", ev.Payload["head_commit"], any(commit))
	same(e, "in the run", e.run(c.Run.ID).HeadCommit, commit)
	same(e, "in the review", e.pending()[0].HeadCommit, commit)
	c = e.claim(agentA, "two")
	_, err = try("two", "", map[string]any{"head_commit": commit})
	e.ok(err)
	same(e, "from the payload", e.run(c.Run.ID).HeadCommit, commit)
}

func handoffLate(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	e.clock.advance(2 * 3600e9)
	e.handOff(agentA, "one")
	same(e, "lane", e.lane("one"), "awaiting_review")
}

func handoffOrder(e *env) {
	try := func(by models.Principal, id string, base *int) error {
		_, err := e.l.SubmitHandoff(e.ctx, ledger.As(by), ledger.HandoffRequest{AssignmentID: id, Base: base})
		return err
	}
	e.refused(models.CodeForbidden, try(models.Principal{ActorID: "node-1", Role: models.RoleNode}, "nowhere", nil))
	e.refused(models.CodeNotFound, try(agentA, "nowhere", new(1)))
	e.create("one")
	e.refused(models.CodeStaleRevision, try(agentA, "one", new(9)))
	e.refused(models.CodeInvalidArgument, try(agentA, "one", new(1)))
	e.claim(agentA, "one")
	e.refused(models.CodeForbidden, try(agentB, "one", new(2)))
}
