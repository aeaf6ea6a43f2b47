package ledgertest

import (
	"slices"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func interventionTests() map[string]func(*env) {
	return map[string]func(*env){
		"intervention/question_and_answer":        askAndAnswer,
		"intervention/every_question_is_answered": askTwice,
		"intervention/wrong_answers":              wrongAnswers,
		"intervention/own_question":               ownQuestion,
		"intervention/restarts_the_deadlines":     answerRestarts,
		"intervention/only_of_a_live_run":         askLive,
		"intervention/filters":                    questionFilters,
		"intervention/kinds":                      questionKinds,
	}
}

func (e *env) ask(by models.Principal, run, prompt string) models.Event {
	e.Helper()
	ev, err := e.l.RequestIntervention(e.ctx, ledger.As(by), run, prompt, "", nil)
	e.ok(err)
	return ev
}

func (e *env) answer(by models.Principal, id, text string) error {
	_, err := e.l.RespondIntervention(e.ctx, ledger.As(by), id, text)
	return err
}

func askAndAnswer(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	packet := map[string]any{"options": []string{"a", "b"}}
	ev, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, "a or b?", "design_choice", packet)
	e.ok(err)
	same(e, "lane", e.lane("one"), "awaiting_human")
	same(e, "run", e.run(c.Run.ID).Status, models.RunAwaitingHuman)
	same(e, "revision", e.assignment("one").Revision, c.Assignment.Revision)
	open, err := e.l.Interventions(e.ctx, ledger.InterventionFilter{RunID: c.Run.ID, Status: "open"})
	e.ok(err)
	same(e, "open", len(open), 1)
	same(e, "id of its event", open[0].ID, ev.ID)
	sameJSON(e, "decision packet", open[0].Packet, packet)
	e.woken()
	answered, err := e.l.RespondIntervention(e.ctx, ledger.As(ann), ev.ID, "a")
	e.ok(err)
	same(e, "answers the question", answered.ReviewedEventID, ev.ID)
	same(e, "lane", e.lane("one"), "running")
	same(e, "run", e.run(c.Run.ID).Status, models.RunRunning)
	iv := e.run(c.Run.ID).Interventions[0]
	same(e, "recorded", iv.Status == "answered" && iv.Response == "a" && iv.RespondedBy == ann.ActorID && iv.AnsweredAt != nil, true)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
}

func askTwice(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	first, second := e.ask(agentA, c.Run.ID, "first?"), e.ask(boss, c.Run.ID, "second?")
	e.ok(e.answer(ann, first.ID, "yes"))
	same(e, "one is still open", e.lane("one"), "awaiting_human")
	same(e, "run", e.run(c.Run.ID).Status, models.RunAwaitingHuman)
	e.ok(e.answer(ann, second.ID, "yes"))
	same(e, "all are answered", e.lane("one"), "running")
	same(e, "run", e.run(c.Run.ID).Status, models.RunRunning)
}

func wrongAnswers(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	beat, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "x")
	e.ok(err)
	ev := e.ask(agentA, c.Run.ID, "which?")
	e.unchanged("one", models.CodeForbidden, func() error { return e.answer(agentB, ev.ID, "a") })
	for _, id := range []string{"", "evt_none", beat.ID} {
		e.unchanged("one", models.CodeNotFound, func() error { return e.answer(ann, id, "a") })
	}
	e.unchanged("one", models.CodeInvalidArgument, func() error { return e.answer(ann, ev.ID, "  ") })
	e.ok(e.answer(ann, ev.ID, "a"))
	e.unchanged("one", models.CodeInvalidArgument, func() error { return e.answer(ann, ev.ID, "b") })
}

func ownQuestion(e *env) {
	e.create("one")
	ev := e.ask(agentA, e.claim(agentA, "one").Run.ID, "may I?")
	for _, role := range []models.Role{models.RoleAgent, models.RoleIntegrator, models.RoleHuman} {
		e.unchanged("one", models.CodeForbidden, func() error {
			return e.answer(models.Principal{ActorID: agentA.ActorID, Role: role}, ev.ID, "yes, I may")
		})
	}
}

func answerRestarts(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	ev := e.ask(agentA, c.Run.ID, "which?")
	e.clock.advance(5 * time.Hour)
	e.ok(e.answer(ann, ev.ID, "a"))
	r, until := e.run(c.Run.ID), e.clock.Now().Add(time.Hour)
	same(e, "run", r.LeaseExpiresAt.Equal(until), true)
	same(e, "claim", e.assignment("one").LeaseExpiresAt.Equal(until), true)
	same(e, "task", r.Task.ExpiresAt.Equal(until), true)
}

func askLive(e *env) {
	run, _ := e.handedOff("one")
	try := func(id, prompt string) error {
		_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), id, prompt, "", nil)
		return err
	}
	e.unchanged("one", models.CodeInvalidArgument, func() error { return try(run.ID, "too late?") })
	e.refused(models.CodeNotFound, try("run_none", "?"))
	e.create("two")
	c := e.claim(agentA, "two")
	e.unchanged("two", models.CodeInvalidArgument, func() error { return try(c.Run.ID, " ") })
}

func questionFilters(e *env) {
	e.create("one")
	e.ask(agentA, e.claim(agentA, "one").Run.ID, "which?")
	count := func(f ledger.InterventionFilter) int {
		list, err := e.l.Interventions(e.ctx, f)
		e.ok(err)
		return len(list)
	}
	same(e, "of the team", count(ledger.InterventionFilter{WorkspaceID: space, TeamID: crew}), 1)
	same(e, "of another team", count(ledger.InterventionFilter{TeamID: "nobody"}), 0)
	same(e, "answered", count(ledger.InterventionFilter{Status: "answered"}), 0)
}

// A kind is free text, but nobody may pass for what the planner asks by itself.
func questionKinds(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	ask := func(kind string) error {
		_, err := e.l.RequestIntervention(e.ctx, ledger.As(boss), c.Run.ID, "which?", kind, nil)
		return err
	}
	for _, kind := range append(models.ReservedInterventionKinds(), " review_ignored ", "two\x1b[2Jlines", strings.Repeat("x", 501)) {
		refusal := e.unchanged("one", models.CodeInvalidArgument, func() error { return ask(kind) })
		same(e, "field", refusal.Details["field"], any("intervention_kind"))
	}
	for _, kind := range []string{"", "decision", "a choice of design"} {
		e.ok(ask(kind))
	}
	list, err := e.l.Interventions(e.ctx, ledger.InterventionFilter{RunID: c.Run.ID})
	e.ok(err)
	kinds := []string{}
	for _, q := range list {
		kinds = append(kinds, q.Kind)
	}
	slices.Sort(kinds)
	sameJSON(e, "kinds", kinds, []string{"a choice of design", "decision", "question"})
}
