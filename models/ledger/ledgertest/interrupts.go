package ledgertest

import (
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func interruptTests() map[string]func(*env) {
	return map[string]func(*env){
		"interrupt/stops_and_goes_on_by_the_answer": interruptAndAnswer,
		"interrupt/answered_before_it_was_done":     interruptAnsweredEarly,
		"interrupt/only_people_stop":                interruptRoles,
		"interrupt/refuses_what_it_cannot_stop":     interruptRefused,
		"interrupt/same_request_stops_once":         interruptReplayed,
		"interrupt/cancel_of_a_stopped_run":         interruptThenCancel,
		"interrupt/stop_of_a_team":                  stopTeam,
	}
}

// commands are the commands of a run, as "type state cause", oldest first.
func (e *env) commands(run string, kind models.CommandType) []models.Command {
	e.Helper()
	var out []models.Command
	for _, c := range e.run(run).Commands {
		if c.Type == kind {
			out = append(out, c)
		}
	}
	return out
}

// stoppedTurn ends the first turn of a stopped run as its node does.
func (e *env) stoppedTurn(cmd models.Command) {
	e.Helper()
	_, open, err := e.l.BeginCommand(e.ctx, cmd.ID, "test")
	e.ok(err)
	same(e, "the interrupt is open", open, true)
	e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-1", Status: models.TurnInterrupted}))
	e.ok(e.l.FinishCommand(e.ctx, cmd.ID, "test", "turn_interrupted"))
}

func interruptAndAnswer(e *env) {
	e.node()
	run, by := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.woken()
	asked, err := e.l.InterruptRun(e.ctx, ledger.As(ann), run.ID, "it rewrites the wrong module")
	e.ok(err)
	same(e, "lane", e.lane("one"), "awaiting_human")
	same(e, "run", e.run(run.ID).Status, models.RunAwaitingHuman)
	same(e, "says who and why", strings.Contains(asked.Prompt, ann.ActorID) && strings.Contains(asked.Prompt, "wrong module"), true)
	same(e, "assignment woken", e.woken()[ledger.AssignmentWorkflow("one")], true)
	stops := e.commands(run.ID, models.CommandInterrupt)
	same(e, "interrupts", len(stops), 1)
	same(e, "its cause is the person's event", stops[0].Cause, e.events("one", models.EventInterruptRequested)[0].ID)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryHandOff(by, "one"); return err })

	e.stoppedTurn(stops[0])
	r := e.run(run.ID)
	same(e, "the turn", r.Turns[0].Status, models.TurnInterrupted)
	same(e, "the run lives", r.EndedAt == nil, true)
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	same(e, "nothing is planned while a person is asked", len(plan.Commands)+plan.Asks, 0)

	e.clock.advance(time.Minute)
	e.ok(e.answer(ann, asked.ID, "leave that module alone"))
	resumes := e.commands(run.ID, models.CommandResume)
	same(e, "resumes", len(resumes), 1)
	same(e, "on the same thread", resumes[0].BindingID, run.BindingID)
	same(e, "because of the answer", resumes[0].Reason, "answered")
	same(e, "lane", e.lane("one"), "running")
}

func interruptAnsweredEarly(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	asked, err := e.l.InterruptRun(e.ctx, ledger.As(ann), run.ID, "")
	e.ok(err)
	e.clock.advance(time.Second)
	e.ok(e.answer(ann, asked.ID, "go on after all"))
	same(e, "no resume beside the interrupt", len(e.commands(run.ID, models.CommandResume)), 0)
	e.stoppedTurn(e.commands(run.ID, models.CommandInterrupt)[0])
	same(e, "the turn was stopped, not lost", e.run(run.ID).Turns[0].Status, models.TurnInterrupted)
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	same(e, "one resume", len(plan.Commands) == 1 && plan.Commands[0].Reason == "answered", true)
}

func interruptRoles(e *env) {
	e.node()
	run, by := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	for _, p := range []models.Principal{agentA, boss, by, {ActorID: "cox", Role: models.RoleNode}, {ActorID: ann.ActorID, Role: models.RoleHuman, BindingID: by.BindingID}} {
		e.unchanged("one", models.CodeForbidden, func() error { _, err := e.l.InterruptRun(e.ctx, ledger.As(p), run.ID, "x"); return err })
		e.unchanged("one", models.CodeForbidden, func() error { _, err := e.l.Stop(e.ctx, ledger.As(p), ledger.StopFilter{}, "x"); return err })
	}
	e.unchanged("one", models.CodeSecretDetected, func() error {
		_, err := e.l.InterruptRun(e.ctx, ledger.As(ann), run.ID, "password=hunter2hunter2")
		return err
	})
}

func interruptRefused(e *env) {
	e.node()
	stop := func(id string) error { _, err := e.l.InterruptRun(e.ctx, ledger.As(ann), id, "x"); return err }
	e.refused(models.CodeNotFound, stop("run_none"))
	e.create("outside", func(n *models.NewAssignment) { n.AllowedPaths = []string{"elsewhere"} })
	outside := e.claim(agentA, "outside").Run
	e.unchanged("outside", models.CodeInvalidArgument, func() error { return stop(outside.ID) })

	run, by := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	asked := e.ask(by, run.ID, "which?")
	e.endTurn("thread-one", "turn-1")
	refusal := e.unchanged("one", models.CodeInvalidArgument, func() error { return stop(run.ID) })
	same(e, "names the question at rest", refusal.Details["intervention_id"], any(asked.ID))
	e.ok(e.answer(ann, asked.ID, "this"))
	w := e.beginOpen(run.ID, models.CommandResume)
	e.ok(e.l.QueueMessage(e.ctx, w.Command.ID, "test", "go on"))
	e.startTurn("thread-one", "turn-2")
	e.ok(stop(run.ID))
	refusal = e.unchanged("one", models.CodeInvalidArgument, func() error { return stop(run.ID) })
	same(e, "stopped already", refusal.Details["intervention_id"] != nil, true)

	handed, by := e.managed("two")
	e.handOff(by, "two")
	e.unchanged("two", models.CodeInvalidArgument, func() error { return stop(handed.ID) })
}

// beginOpen takes over the open command of a type about a run.
func (e *env) beginOpen(run string, kind models.CommandType) ledger.Work {
	e.Helper()
	for _, c := range e.commands(run, kind) {
		if c.State.Open() {
			w, open, err := e.l.BeginCommand(e.ctx, c.ID, "test")
			e.ok(err)
			same(e, "the command is open", open, true)
			return w
		}
	}
	e.Fatalf("run %s has no open %s", run, kind)
	return ledger.Work{}
}

func interruptReplayed(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	first, err := e.l.InterruptRun(e.ctx, ledger.As(ann).Request("stop-1"), run.ID, "x")
	e.ok(err)
	again := ledger.As(ann).Request("stop-1")
	second, err := e.l.InterruptRun(e.ctx, again, run.ID, "x")
	e.ok(err)
	same(e, "the first answer", second.ID, first.ID)
	same(e, "replayed", again.Replayed, true)
	same(e, "interrupts", len(e.commands(run.ID, models.CommandInterrupt)), 1)
}

func interruptThenCancel(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	_, err := e.l.InterruptRun(e.ctx, ledger.As(ann), run.ID, "x")
	e.ok(err)
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(ann), "one", nil, "no use")
	e.ok(err)
	same(e, "one interrupt at a time", len(e.commands(run.ID, models.CommandInterrupt)), 1)
	e.stoppedTurn(e.commands(run.ID, models.CommandInterrupt)[0])
	same(e, "the cancel is next", e.begin(models.CommandInterrupt).Command.Cause, e.events("one", models.EventAssignmentCancelled)[0].ID)
}

func stopTeam(e *env) {
	e.node()
	working, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.create("outside", func(n *models.NewAssignment) { n.AllowedPaths = []string{"elsewhere"} })
	outside := e.claim(agentA, "outside").Run
	e.refused(models.CodeNotFound, func() error {
		_, err := e.l.Stop(e.ctx, ledger.As(ann), ledger.StopFilter{TeamID: "nobody"}, "")
		return err
	}())
	out, err := e.l.Stop(e.ctx, ledger.As(ann), ledger.StopFilter{TeamID: crew}, "the disk is full")
	e.ok(err)
	same(e, "loops", len(out.Loops) == 1 && out.Loops[0] == crew, true)
	same(e, "stopped", len(out.Questions) == 1 && out.Questions[0].RunID == working.ID, true)
	same(e, "not managed", len(out.Left) == 1 && out.Left[0].RunID == outside.ID && out.Left[0].Next != "", true)
	e.create("later", func(n *models.NewAssignment) { n.AllowedPaths = []string{"later"} })
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	same(e, "nothing new starts", len(plan.Commands), 0)
	same(e, "lane", e.lane("one"), "awaiting_human")
}
