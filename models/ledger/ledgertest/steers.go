package ledgertest

import (
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

func steerTests() map[string]func(*env) {
	return map[string]func(*env){
		"steer/reaches_the_active_turn":     steerActive,
		"steer/refused":                     steerRefused,
		"steer/of_a_run_that_ended":         steerEnded,
		"steer/unread_words_hold_nothing":   steerUnread,
		"steer/arrival_wakes_the_sender":    steerArrives,
		"steer/same_request_is_said_once":   steerReplayed,
		"steer/begins_a_turn_and_no_resume": steerIdle,
	}
}

func (e *env) say(run, words string) (models.OutboxItem, error) {
	return e.l.SteerRun(e.ctx, ledger.As(ann), ledger.Steering{RunID: run, Message: words, Text: "framed: " + words})
}

// sending takes over the next message of the first thread.
func (e *env) sending() *ledger.Message {
	e.Helper()
	m, err := e.l.BeginMessage(e.ctx, "thread-one", "test")
	e.ok(err)
	return m
}

func steerActive(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.woken()
	item, err := e.say(run.ID, "mind the tests")
	e.ok(err)
	same(e, "the sender is woken", e.woken()[ledger.DeliveryWorkflow("thread-one")], true)
	recorded := e.events("one", models.EventSteerRequested)
	same(e, "the words are recorded", recorded[0].Payload["message"], any("mind the tests"))
	same(e, "the id follows from the event", item.ID, models.SteerID(recorded[0].ID))
	m := e.sending()
	same(e, "framed", m.Text, "framed: mind the tests")
	owned, err := e.l.SteeringInto(e.ctx, m.Item.ID, "test", "turn-1")
	e.ok(err)
	same(e, "owned", owned, true)
	e.ok(e.l.Delivered(e.ctx, m.Item.ID, "test", "turn-1", false))
	r := e.run(run.ID)
	same(e, "one turn", len(r.Turns), 1)
	last := r.Messages[len(r.Messages)-1]
	same(e, "receipt", last.State == models.OutboxDelivered && last.TurnID == "turn-1" && last.DeliveredAt != nil, true)
}

func steerRefused(e *env) {
	e.node()
	run, by := e.managed("one")
	e.refused(models.CodeNotFound, func() error { _, err := e.say("run_none", "x"); return err }())
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.say(run.ID, "  "); return err })
	e.unchanged("one", models.CodeInvalidArgument, func() error {
		_, err := e.say(run.ID, strings.Repeat("x", ledger.MaxMessage+1))
		return err
	})
	e.unchanged("one", models.CodeSecretDetected, func() error { _, err := e.say(run.ID, "use password=hunter2hunter2"); return err })
	for _, p := range []models.Principal{agentA, boss, by} {
		e.unchanged("one", models.CodeForbidden, func() error {
			_, err := e.l.SteerRun(e.ctx, ledger.As(p), ledger.Steering{RunID: run.ID, Message: "x", Text: "x"})
			return err
		})
	}
	asked := e.ask(by, run.ID, "which?")
	refusal := e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.say(run.ID, "x"); return err })
	same(e, "the question is answered instead", strings.Contains(refusal.Next, asked.ID), true)
	e.create("outside", func(n *models.NewAssignment) { n.AllowedPaths = []string{"elsewhere"} })
	outside := e.claim(agentA, "outside").Run
	e.unchanged("outside", models.CodeInvalidArgument, func() error { _, err := e.say(outside.ID, "x"); return err })

	_, other := e.managed("two")
	e.handOff(other, "two")
	e.endTurn("thread-two", "turn-2")
	w := e.begin(models.CommandNudge)
	e.refused(models.CodeForbidden, func() error { _, err := e.say(w.Binding.ID, "accept it"); return err }())
}

func steerEnded(e *env) {
	e.node()
	run, by := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	item, err := e.say(run.ID, "and a changelog")
	e.ok(err)
	e.handOff(by, "one")
	same(e, "nothing is sent", e.sending() == nil, true)
	for _, m := range e.run(run.ID).Messages {
		if m.ID == item.ID {
			same(e, "dropped", m.State, models.OutboxDropped)
		}
	}
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.say(run.ID, "too late"); return err })
}

// steerUnread: words that wait behind a running command keep neither a stop nor a
// stale turn's question back.
func steerUnread(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	_, err := e.say(run.ID, "hurry")
	e.ok(err)
	m := e.sending()
	_, err = e.l.SteeringInto(e.ctx, m.Item.ID, "test", "turn-1")
	e.ok(err)
	e.ok(e.l.DeliveryWaits(e.ctx, m.Item.ID, "test", "not read yet"))
	flying, err := e.l.MessageInFlight(e.ctx, "thread-one")
	e.ok(err)
	same(e, "begins no turn", flying, false)
	_, err = e.l.InterruptRun(e.ctx, ledger.As(ann), run.ID, "too slow")
	e.ok(err)
	same(e, "interrupts", len(e.commands(run.ID, models.CommandInterrupt)), 1)
	e.stoppedTurn(e.commands(run.ID, models.CommandInterrupt)[0])
	again := e.sending()
	same(e, "looked for once more", again != nil && again.Again, true)
	wanted, err := e.l.StillWanted(e.ctx, again.Item.ID, "test")
	e.ok(err)
	same(e, "and not sent again", wanted, false)
}

func steerArrives(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	item, err := e.say(run.ID, "hurry")
	e.ok(err)
	e.sending()
	_, err = e.l.SteeringInto(e.ctx, item.ID, "test", "turn-1")
	e.ok(err)
	e.ok(e.l.DeliveryWaits(e.ctx, item.ID, "test", "not read yet"))
	next, err := e.l.NextMessage(e.ctx, "thread-one")
	e.ok(err)
	same(e, "waits", next.Message == nil && next.WakeAt != nil, true)
	e.woken()
	_, err = e.l.TurnStarted(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-1", CauseID: item.ID})
	e.ok(err)
	same(e, "woken", e.woken()[ledger.DeliveryWorkflow("thread-one")], true)
	next, err = e.l.NextMessage(e.ctx, "thread-one")
	e.ok(err)
	same(e, "looked for at once", next.Message != nil, true)
}

func steerReplayed(e *env) {
	e.node()
	run, _ := e.managed("one")
	s := ledger.Steering{RunID: run.ID, Message: "once", Text: "once"}
	first, err := e.l.SteerRun(e.ctx, ledger.As(ann).Request("say-1"), s)
	e.ok(err)
	second, err := e.l.SteerRun(e.ctx, ledger.As(ann).Request("say-1"), s)
	e.ok(err)
	same(e, "the first answer", second.ID, first.ID)
	same(e, "said once", len(e.events("one", models.EventSteerRequested)), 1)
}

// steerIdle: between two turns the words begin the next one, and no resume is
// planned beside them.
func steerIdle(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	_, err := e.say(run.ID, "and a changelog")
	e.ok(err)
	e.endTurn("thread-one", "turn-1")
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	same(e, "no resume", len(plan.Commands), 0)
	m := e.sending()
	same(e, "still wanted", m != nil && m.Item.Kind == models.PromptSteer, true)
	e.ok(e.l.Delivered(e.ctx, m.Item.ID, "test", "turn-2", false))
	same(e, "turns", len(e.run(run.ID).Turns), 2)
}
