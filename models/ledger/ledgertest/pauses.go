package ledgertest

import (
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func pauseTests() map[string]func(*env) {
	return map[string]func(*env){
		"pause/starts_nothing_and_outlives_settings": pauseHolds,
		"pause/by_whom":                    pauseRoles,
		"pause/stop_holds_starts":          stopHoldsStarts,
		"pause/stop_holds_messages":        stopHoldsMessages,
		"pause/stop_silences_integrators":  stopSilences,
		"pause/stop_and_resume_twice":      stopTwice,
		"pause/answered_run_is_not_halted": answeredRunGoesOn,
	}
}

var wholeCrew = ledger.StopFilter{TeamID: crew}

func (e *env) pause() *models.LoopPause {
	e.Helper()
	t, err := e.l.Team(e.ctx, crew)
	e.ok(err)
	return t.Pause
}

func (e *env) stop() ledger.Stopped {
	e.Helper()
	out, err := e.l.Stop(e.ctx, ledger.As(ann), wholeCrew, "the disk is full")
	e.ok(err)
	return out
}

func (e *env) goOn() ledger.Resumed {
	e.Helper()
	out, err := e.l.GoOn(e.ctx, ledger.As(ann), wholeCrew, "go on")
	e.ok(err)
	return out
}

func (e *env) toHalt() []models.Binding {
	e.Helper()
	out, err := e.l.ToHalt(e.ctx, "node-1")
	e.ok(err)
	return out
}

func pauseHolds(e *env) {
	e.node()
	e.managed("one")
	e.create("two", func(n *models.NewAssignment) { n.AllowedPaths = []string{"two"} })
	e.woken()
	done, err := e.l.PauseLoops(e.ctx, ledger.As(ann), wholeCrew, "the release is cut")
	e.ok(err)
	same(e, "live runs", done.Live, 1)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	_, _, err = e.l.ConfigureLoop(e.ctx, ledger.As(boss), crew, models.LoopSettings{Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 9})
	e.ok(err)
	for _, plan := range []func() (ledger.PlanResult, error){
		func() (ledger.PlanResult, error) { return e.l.PlanTeam(e.ctx, crew) },
		func() (ledger.PlanResult, error) { return e.l.PlanOnce(e.ctx, crew) },
	} {
		out, err := plan()
		e.ok(err)
		same(e, "nothing new starts", len(out.Commands), 0)
		same(e, "why", len(out.LeftOut) == 1 && out.LeftOut[0].Code == "paused" &&
			strings.Contains(out.LeftOut[0].Reason, "human:ann") && strings.Contains(out.LeftOut[0].Reason, "the release is cut") &&
			strings.Contains(out.LeftOut[0].Reason, "cox loop resume --team "+crew), true)
	}
	e.startTurn("thread-one", "turn-1") // live work goes on
	_, err = e.l.PauseLoops(e.ctx, ledger.As(boss), wholeCrew, "another reason")
	e.ok(err)
	same(e, "the first pause stands", e.pause().By, ann.ActorID)
	back, err := e.l.ResumeLoops(e.ctx, ledger.As(ann), wholeCrew)
	e.ok(err)
	same(e, "resumed", len(back.Loops) == 1 && len(back.Off) == 0 && len(back.Waiting) == 0, true)
	same(e, "no pause", e.pause() == nil, true)
	e.begin(models.CommandStart)
	same(e, "who and when", len(e.teamEvents(models.EventLoopPaused)) == 1 && len(e.teamEvents(models.EventLoopResumed)) == 1, true)
}

func (e *env) teamEvents(kind string) []models.Event {
	e.Helper()
	list, err := e.l.Events(e.ctx, ledger.EventFilter{TeamID: crew, Types: []string{kind}})
	e.ok(err)
	return list
}

func pauseRoles(e *env) {
	_, err := e.l.PauseLoops(e.ctx, ledger.As(agentA), wholeCrew, "")
	e.refused(models.CodeForbidden, err)
	_, err = e.l.PauseLoops(e.ctx, ledger.As(ann), ledger.StopFilter{TeamID: "nobody"}, "")
	e.refused(models.CodeNotFound, err)
	e.stop()
	_, err = e.l.GoOn(e.ctx, ledger.As(boss), wholeCrew, "x")
	e.refused(models.CodeForbidden, err)
	_, err = e.l.PauseLoops(e.ctx, ledger.As(ann), wholeCrew, "")
	e.ok(err)
	same(e, "a stop is not weakened", e.pause().Stopped(), true)
}

// A run that is only starting is held, whether its command was taken up or not, and
// starts once when the stop is lifted.
func stopHoldsStarts(e *env) {
	e.node()
	e.create("one", func(n *models.NewAssignment) { n.AllowedPaths = []string{"one"} })
	w := e.begin(models.CommandStart)
	kept, err := e.l.RecordThread(e.ctx, w.Command.ID, "test", "thread-one")
	e.ok(err)
	same(e, "thread kept", kept, true)
	out := e.stop()
	same(e, "held", len(out.Held) == 1 && out.Held[0].ID == w.Run.ID && len(out.Questions) == 0, true)
	e.ok(e.l.ClaimRun(e.ctx, w.Command.ID, "test", ledger.Claim{Prompt: "go"}))
	same(e, "not claimed", e.run(w.Run.ID).Status, models.RunStarting)
	_, open, err := e.l.BeginCommand(e.ctx, w.Command.ID, "other")
	e.ok(err)
	same(e, "not taken up", open, false)
	step, err := e.l.NextAssignmentStep(e.ctx, "one")
	e.ok(err)
	same(e, "nothing to do", step.Command == nil && step.WakeAt == nil, true)
	e.woken()
	e.goOn()
	same(e, "assignment woken", e.woken()[ledger.AssignmentWorkflow("one")], true)
	_, open, err = e.l.BeginCommand(e.ctx, w.Command.ID, "other")
	e.ok(err)
	same(e, "taken up", open, true)
	e.ok(e.l.ClaimRun(e.ctx, w.Command.ID, "other", ledger.Claim{Prompt: "go"}))
	same(e, "claimed by the same run", e.assignment("one").ActiveRunID, w.Run.ID)
}

func stopHoldsMessages(e *env) {
	e.node()
	run, _ := e.managed("one")
	out := e.stop()
	same(e, "asked", len(out.Questions) == 1 && out.Questions[0].RunID == run.ID, true)
	m, err := e.l.BeginMessage(e.ctx, "thread-one", "test")
	e.ok(err)
	same(e, "nothing is sent", m == nil, true)
	same(e, "and nothing is dropped", e.run(run.ID).Messages[0].State, models.OutboxPending)
	next, err := e.l.NextMessage(e.ctx, "thread-one")
	e.ok(err)
	same(e, "nothing is due", next.Message == nil && next.WakeAt == nil, true)
	same(e, "the interrupt does not wait for it", len(e.commands(run.ID, models.CommandInterrupt)), 1)
	e.woken()
	e.goOn()
	same(e, "sender woken", e.woken()[ledger.DeliveryWorkflow("thread-one")], true)
	e.startTurn("thread-one", "turn-1")
	same(e, "one prompt", len(e.run(run.ID).Messages), 1)
}

func stopSilences(e *env) {
	e.node()
	_, by := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.handOff(by, "one")
	e.endTurn("thread-one", "turn-1")
	e.reviewing("turn-2")
	same(e, "before the stop nothing is to be halted", len(e.toHalt()), 0)
	e.stop()
	halted := e.toHalt()
	same(e, "the integrator's turn", len(halted) == 1 && halted[0].ThreadID == "thread-boss", true)
	e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: "thread-boss", TurnID: "turn-2", Status: models.TurnInterrupted}))
	same(e, "halted", len(e.toHalt()), 0)
	e.clock.advance(2 * time.Minute) // the nudge is due again
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	same(e, "no nudge", len(plan.Commands)+plan.Asks, 0)
	e.goOn()
	e.begin(models.CommandNudge)
}

// reviewing starts the integrator's turn to which the next nudge leads.
func (e *env) reviewing(turn string) {
	e.Helper()
	w := e.begin(models.CommandNudge)
	_, err := e.l.RecordThread(e.ctx, w.Command.ID, "test", "thread-boss")
	e.ok(err)
	e.ok(e.l.QueueMessage(e.ctx, w.Command.ID, "test", "review"))
	e.startTurn("thread-boss", turn)
}

func stopTwice(e *env) {
	e.node()
	e.managed("one")
	e.startTurn("thread-one", "turn-1")
	first := e.stop()
	same(e, "teams", len(first.Loops), 1)
	again := e.stop()
	same(e, "nothing more", len(again.Loops)+len(again.Questions)+len(again.Held), 0)
	same(e, "it says what waits", len(again.Left) == 1 && again.Left[0].Next != "", true)
	back := e.goOn()
	same(e, "goes on", len(back.Loops) == 1 && len(back.Runs) == 1, true)
	back = e.goOn()
	same(e, "once", len(back.Loops)+len(back.Runs), 0)
}

func answeredRunGoesOn(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	q := e.stop().Questions[0]
	same(e, "its turn is to be halted", len(e.toHalt()), 1)
	e.stoppedTurn(e.commands(run.ID, models.CommandInterrupt)[0])
	e.ok(e.answer(ann, q.ID, "only the docs"))
	resume := e.commands(run.ID, models.CommandResume)[0].ID
	_, open, err := e.l.BeginCommand(e.ctx, resume, "test")
	e.ok(err)
	same(e, "the answer resumes it", open, true)
	e.ok(e.l.QueueMessage(e.ctx, resume, "test", "only the docs"))
	e.startTurn("thread-one", "turn-2")
	same(e, "the answered run works", len(e.toHalt()), 0)
	same(e, "while the team stays stopped", e.pause().Stopped(), true)
}
