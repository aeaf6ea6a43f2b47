package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

func attentionTests() map[string]func(*env) {
	return map[string]func(*env){
		"attention/raise_changes_no_status": raiseAttention,
		"attention/same_id_again":           raiseReplayed,
		"attention/refused":                 raiseRefused,
		"attention/board":                   attentionBoard,
		"attention/red_is_an_open_question": attentionRed,
		"attention/hidden_with_its_work":    attentionHidden,
		"attention/after_a_takeover":        attentionTakeover,
	}
}

func attention(change ...func(*models.Attention)) models.Attention {
	a := models.Attention{
		Level: models.AttentionYellow, Target: models.TargetHuman, DedupeKey: "api-limit", ReasonCode: "slow",
		WhyNow: "the limit is near", RecommendedAction: "raise the limit",
	}
	for _, fn := range change {
		fn(&a)
	}
	return a
}

func (e *env) raise(by models.Principal, run, id string, a models.Attention) (models.Event, bool, error) {
	c := ledger.As(by)
	ev, err := e.l.RaiseAttention(e.ctx, c, ledger.AttentionUpdate{RunID: run, ClientUpdateID: id, Attention: a})
	return ev, c.Replayed, err
}

func (e *env) board(target string, green bool) ledger.AttentionBoard {
	e.Helper()
	b, err := e.l.AttentionBoard(e.ctx, crew, target, green)
	e.ok(err)
	return b
}

func raiseAttention(e *env) {
	a := e.create("one")
	c := e.claim(agentA, "one")
	before := e.run(c.Run.ID).Run
	source := e.events("one")[0]
	ev, _, err := e.raise(agentA, c.Run.ID, "u-1", attention(func(a *models.Attention) { a.Blocking, a.SourceEventIDs = true, []string{source.ID} }))
	e.ok(err)
	same(e, "type", ev.Type, models.EventAttentionRaised)
	same(e, "status", ev.Status, models.EventObserved)
	same(e, "revision", e.assignment("one").Revision, c.Assignment.Revision)
	sameJSON(e, "the run", e.run(c.Run.ID).Run, before)
	b := e.board(models.TargetHuman, false)
	same(e, "yellow", b.Counts, models.AttentionCounts{Yellow: 1})
	have := b.Items[0]
	same(e, "event", have.EventID == ev.ID && have.Sequence == ev.Sequence && have.CreatedAt.Equal(ev.CreatedAt), true)
	same(e, "place", have.RunID == c.Run.ID && have.AssignmentID == "one" && have.WorkspaceID == space && have.Title == a.Title, true)
	same(e, "owner", have.OwnerActorID, agentA.ActorID)
	same(e, "blocking", have.Blocking, true)
	sameJSON(e, "sources", have.SourceEventIDs, []string{source.ID})
	sameJSON(e, "digest", b.Digest, models.DigestOf(nil))
}

func raiseReplayed(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	first, _, err := e.raise(agentA, c.Run.ID, "u-1", attention())
	e.ok(err)
	again, replayed, err := e.raise(agentA, c.Run.ID, "u-1", attention())
	e.ok(err)
	same(e, "the first event again", replayed && again.ID == first.ID, true)
	e.unchanged("one", models.CodeIdempotencyConflict, func() error {
		_, _, err := e.raise(agentA, c.Run.ID, "u-1", attention(func(a *models.Attention) { a.Target = "integrator" }))
		return err
	})
	// a brief's ids are not an attention's
	_, _, err = e.checkpoint(agentA, c.Run.ID, "u-1", e.lastSequence(c.Run.ID), brief())
	e.ok(err)
}

func raiseRefused(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	for field, change := range map[string]func(*models.Attention){
		"level": func(a *models.Attention) { a.Level = models.AttentionRed }, "target": func(a *models.Attention) { a.Target = "all" },
		"why_now": func(a *models.Attention) { a.WhyNow = "" },
	} {
		refusal := e.unchanged("one", models.CodeInvalidArgument, func() error { _, _, err := e.raise(agentA, c.Run.ID, "u", attention(change)); return err })
		same(e, "field", refusal.Details["field"], any(field))
	}
	e.unchanged("one", models.CodeNotFound, func() error {
		_, _, err := e.raise(agentA, c.Run.ID, "u", attention(func(a *models.Attention) { a.SourceEventIDs = []string{"evt_none"} }))
		return err
	})
	e.unchanged("one", models.CodeSecretDetected, func() error {
		_, _, err := e.raise(agentA, c.Run.ID, "u", attention(func(a *models.Attention) { a.RecommendedAction = "-----BEGIN OPENSSH PRIVATE KEY-----" }))
		return err
	})
	e.unchanged("one", models.CodeForbidden, func() error { _, _, err := e.raise(agentB, c.Run.ID, "u", attention()); return err })
	_, _, err := e.raise(agentA, "run_none", "u", attention())
	e.refused(models.CodeNotFound, err)
	e.handOff(agentA, "one")
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, _, err := e.raise(agentA, c.Run.ID, "u", attention()); return err })
}

func attentionBoard(e *env) {
	e.create("one")
	e.create("two")
	one, two := e.claim(agentA, "one"), e.claim(agentB, "two")
	raise := func(by models.Principal, run, id string, change func(*models.Attention)) {
		_, _, err := e.raise(by, run, id, attention(change))
		e.ok(err)
	}
	raise(agentA, one.Run.ID, "u-1", func(*models.Attention) {})
	raise(agentB, two.Run.ID, "u-1", func(a *models.Attention) { a.Level = models.AttentionGreen })
	raise(agentA, one.Run.ID, "u-2", func(a *models.Attention) { a.WhyNow = "the limit is reached" }) // replaces the first
	raise(agentA, one.Run.ID, "u-3", func(a *models.Attention) { a.DedupeKey, a.Target = "design", "integrator" })
	b := e.board(models.TargetHuman, false)
	same(e, "counts", b.Counts, models.AttentionCounts{Yellow: 1, Green: 1})
	same(e, "shown", len(b.Items) == 1 && b.Items[0].WhyNow == "the limit is reached", true)
	b = e.board(models.TargetHuman, true)
	same(e, "green last", len(b.Items) == 2 && b.Items[1].Level == models.AttentionGreen, true)
	same(e, "the integrator's", len(e.board("integrator", true).Items), 1)
	raise(agentA, one.Run.ID, "u-4", func(a *models.Attention) { a.DedupeKey = "design" }) // now for people
	same(e, "moved away", len(e.board("integrator", true).Items), 0)
	same(e, "moved here", e.board(models.TargetHuman, false).Counts.Yellow, 2)
	nobody := e.board("nobody", true)
	same(e, "an unknown target", nobody.Counts, models.AttentionCounts{})
	same(e, "an unknown target's items", len(nobody.Items), 0)
	_, err := e.l.AttentionBoard(e.ctx, "no-team", models.TargetHuman, false)
	e.refused(models.CodeNotFound, err)
}

func attentionRed(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, _, err := e.raise(agentA, c.Run.ID, "u-1", attention())
	e.ok(err)
	q, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, "Which key?", "decision", map[string]any{"options": []string{"a", "b"}})
	e.ok(err)
	b := e.board(models.TargetHuman, false)
	same(e, "counts", b.Counts, models.AttentionCounts{Red: 1, Yellow: 1})
	red := b.Items[0]
	same(e, "red comes first", red.Level, models.AttentionRed)
	same(e, "key", red.DedupeKey, "intervention:"+q.ID)
	same(e, "question", red.WhyNow, "Which key?")
	sameJSON(e, "decision packet", red.DecisionPacket, map[string]any{"options": []string{"a", "b"}})
	same(e, "blocking", red.Blocking, true)
	same(e, "people alone see it", e.board("integrator", true).Counts, models.AttentionCounts{})
	e.ok(e.answer(ann, q.ID, "the first"))
	same(e, "after the answer", e.board(models.TargetHuman, false).Counts, models.AttentionCounts{Yellow: 1})
}

func attentionHidden(e *env) {
	for id, end := range map[string]func(){
		"cancelled": func() {
			_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "cancelled", nil, "no")
			e.ok(err)
		},
		"accepted": func() {
			_, err := e.decide(boss, e.handOff(agentA, "accepted").ID, models.DecisionAccept)
			e.ok(err)
		},
		"rejected": func() {
			_, err := e.decide(boss, e.handOff(agentA, "rejected").ID, models.DecisionReject)
			e.ok(err)
		},
	} {
		e.create(id)
		c := e.claim(agentA, id)
		_, _, err := e.raise(agentA, c.Run.ID, "u-1", attention())
		e.ok(err)
		same(e, id+" before", e.board(models.TargetHuman, true).Counts.Yellow, 1)
		end()
		same(e, id+" after", e.board(models.TargetHuman, true).Counts, models.AttentionCounts{})
	}
}

// A question of a run that lost its claim is nobody's any more.
func attentionTakeover(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	e.ask(agentA, c.Run.ID, "which?")
	same(e, "red", e.board(models.TargetHuman, false).Counts.Red, 1)
	e.clock.advance(2 * 3600e9)
	e.claim(agentB, "one")
	same(e, "red after the takeover", e.board(models.TargetHuman, false).Counts.Red, 0)
}
