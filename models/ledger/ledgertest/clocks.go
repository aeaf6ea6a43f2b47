package ledgertest

import (
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func clockTests() map[string]func(*env) {
	return map[string]func(*env){
		"clock/notices_alone_do_not_keep_a_turn":       clockNotices,
		"clock/output_keeps_a_turn":                    clockOutput,
		"clock/a_stalled_turn_that_goes_on_is_revived": clockRevived,
		"clock/an_answer_restarts_the_clocks":          clockAnswered,
		"clock/a_handoff_revives_its_turn":             clockHandoff,
		"clock/stop_interrupts_and_goes_on_later":      clockStop,
		"clock/total_and_silence":                      clockTotal,
		"clock/waiting_for_a_person_stands_still":      clockWaiting,
		"clock/a_gap_in_the_watch_counts_for_nothing":  clockGap,
		"clock/off_is_never":                           clockOff,
		"clock/a_turn_after_its_run_names_its_work":    clockAfterRun,
		"lease/a_node_away_costs_no_claim":             leaseAway,
		"lease/a_stalled_turn_is_not_renewed":          leaseStalled,
		"lease/every_state_outlives_a_short_absence":   leaseStates,
	}
}

// working starts a run whose turn is active.
func (e *env) working(id string) models.Run {
	e.Helper()
	run, _ := e.managed(id)
	e.startTurn("thread-"+id, "turn-"+id)
	return run
}

func (e *env) reconcile() ledger.Reconciled {
	e.Helper()
	out, err := e.l.Reconcile(e.ctx)
	e.ok(err)
	return out
}

func (e *env) deadline() time.Time {
	e.Helper()
	t, err := e.l.NextDeadline(e.ctx)
	e.ok(err)
	if t == nil {
		e.Fatalf("nothing waits for a time")
	}
	return *t
}

// heard reports what was heard of the turn of assignment one.
func (e *env) heard(change func(*ledger.TurnReport)) {
	e.Helper()
	r := ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-one", Sign: true}
	change(&r)
	e.ok(e.l.TurnProgress(e.ctx, r))
}

// questions are the open questions of a kind about an assignment.
func (e *env) questions(id, kind string) []models.Intervention {
	e.Helper()
	all, err := e.l.Interventions(e.ctx, ledger.InterventionFilter{Status: "open"})
	e.ok(err)
	var out []models.Intervention
	for _, iv := range all {
		if iv.AssignmentID == id && iv.Kind == kind {
			out = append(out, iv)
		}
	}
	return out
}

func clockNotices(e *env) {
	e.node()
	run := e.working("one")
	limits := map[string]any{"primary": map[string]any{"usedPercent": 40.0}}
	e.heard(func(r *ledger.TurnReport) { r.Tokens.Total = 9 })
	for range 5 {
		e.clock.advance(time.Minute)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
		e.heard(func(r *ledger.TurnReport) { r.Limits, r.Tokens.Total = limits, 9 })
	}
	same(e, "within the limit", e.reconcile().Overdue, 0)
	same(e, "the clock looks again", e.deadline(), e.clock.Now().Add(models.ReportDelay))
	e.clock.advance(models.ReportDelay)
	same(e, "on time", e.reconcile().Overdue, 1)
	same(e, "once", e.reconcile().Overdue, 0)
	stale := e.events("one", models.EventRunStale)
	same(e, "events", len(stale), 1)
	same(e, "cause", stale[0].Payload["cause"], any("stall"))
	asked := e.questions("one", models.AskStale)
	same(e, "questions", len(asked), 1)
	same(e, "says what ran out", strings.Contains(asked[0].Prompt, "stall_timeout=5m"), true)
	same(e, "the run waits", e.run(run.ID).Status, models.RunAwaitingHuman)
	same(e, "interrupts", len(e.commands(run.ID, models.CommandInterrupt)), 0)
}

func clockOutput(e *env) {
	e.node()
	e.working("one")
	for range 20 {
		e.clock.advance(4 * time.Minute)
		e.heard(func(r *ledger.TurnReport) { r.Progress = true }) // output of one long command
		if e.clock.Now().Sub(start) < time.Hour {
			same(e, "overdue", e.reconcile().Overdue, 0)
		}
	}
	same(e, "but an hour is enough", e.reconcile().Overdue, 1)
	same(e, "by the total clock", e.events("one", models.EventRunStale)[0].Payload["cause"], any("total"))
}

// watch lets time pass while the node is there.
func (e *env) watch(d time.Duration) {
	e.Helper()
	for ; d > 0; d -= 20 * time.Second {
		e.clock.advance(min(d, 20*time.Second))
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
	}
}

// stall lets the turn of assignment one run out of progress.
func (e *env) stall() {
	e.Helper()
	e.watch(5*time.Minute + models.ReportDelay)
	same(e, "overdue turns", e.reconcile().Overdue, 1)
	same(e, "questions", len(e.questions("one", models.AskStale)), 1)
}

func clockRevived(e *env) {
	e.node()
	run := e.working("one")
	e.stall()
	e.heard(func(*ledger.TurnReport) {})
	same(e, "a sign is no progress", e.run(run.ID).Status, models.RunAwaitingHuman)
	e.heard(func(r *ledger.TurnReport) { r.Progress = true })
	same(e, "the run goes on", e.run(run.ID).Status, models.RunRunning)
	same(e, "questions", len(e.questions("one", models.AskStale)), 0)
	same(e, "recoveries", len(e.events("one", models.EventRunRecovered)), 1)
	e.heard(func(r *ledger.TurnReport) { r.Progress = true })
	same(e, "recoveries of one stall", len(e.events("one", models.EventRunRecovered)), 1)
	e.stall()
	same(e, "events of two stalls", len(e.events("one", models.EventRunStale)), 2)
}

func clockAnswered(e *env) {
	e.node()
	run := e.working("one")
	e.stall()
	e.ok(e.answer(ann, e.questions("one", models.AskStale)[0].ID, "it compiles, wait"))
	same(e, "the run goes on", e.run(run.ID).Status, models.RunRunning)
	same(e, "nothing is sent into the turn", len(e.commands(run.ID, models.CommandResume)), 0)
	e.clock.advance(5 * time.Minute)
	same(e, "overdue within another limit", e.reconcile().Overdue, 0)
	e.clock.advance(models.ReportDelay)
	same(e, "overdue after it", e.reconcile().Overdue, 1)
}

func clockHandoff(e *env) {
	e.node()
	run, by := e.managed("one")
	e.startTurn("thread-one", "turn-one")
	e.stall()
	e.handOff(by, "one")
	same(e, "run", e.run(run.ID).Status, models.RunCompletedGatePassed)
	same(e, "questions", len(e.questions("one", models.AskStale)), 0)
}

func clockStop(e *env) {
	e.node()
	e.configure(map[string]string{"on_stall": "stop"})
	run := e.working("one")
	for n := 1; n <= models.MaxStalledTurns; n++ {
		e.watch(5*time.Minute + models.ReportDelay)
		same(e, "overdue turns", e.reconcile().Overdue, 1)
		stops := e.commands(run.ID, models.CommandInterrupt)
		same(e, "interrupts", len(stops), n)
		w := e.beginOpen(run.ID, models.CommandInterrupt)
		turn := e.run(run.ID).Turns[n-1].ID
		e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: turn, Status: models.TurnInterrupted}))
		e.ok(e.l.FinishCommand(e.ctx, w.Command.ID, "test", "turn_interrupted"))
		_, err := e.l.PlanTeam(e.ctx, crew)
		e.ok(err)
		resumes := e.commands(run.ID, models.CommandResume)
		if n == models.MaxStalledTurns {
			same(e, "resumes", len(resumes), n-1)
			break
		}
		same(e, "resumes", len(resumes), n)
		w = e.beginOpen(run.ID, models.CommandResume)
		same(e, "reason", w.Command.Reason, "stalled")
		same(e, "waits longer each time", w.Command.NotBefore.Sub(e.clock.Now()), models.BackOff(n))
		e.clock.advance(models.BackOff(n))
		e.ok(e.l.QueueMessage(e.ctx, w.Command.ID, "test", "go on"))
		e.startTurn("thread-one", "turn-after-"+turn)
	}
	same(e, "then a person", len(e.questions("one", models.AskStale)), 1)
}

func clockTotal(e *env) {
	e.node()
	e.configure(map[string]string{"stall_timeout": "0", "turn_silence_timeout": "2m"})
	e.working("one")
	e.clock.advance(2 * time.Minute)
	e.heard(func(*ledger.TurnReport) {}) // a retry of the model: a sign, no progress
	e.clock.advance(2 * time.Minute)
	same(e, "overdue", e.reconcile().Overdue, 0)
	e.clock.advance(models.ReportDelay)
	same(e, "silent", e.reconcile().Overdue, 1)
	same(e, "cause", e.events("one", models.EventRunStale)[0].Payload["cause"], any("silence"))
	e.heard(func(*ledger.TurnReport) {})
	same(e, "a sign ends the silence", len(e.questions("one", models.AskStale)), 0)
}

func clockWaiting(e *env) {
	e.node()
	run, by := e.managed("one")
	e.startTurn("thread-one", "turn-one")
	asked := e.ask(by, run.ID, "which?")
	for range 3 {
		e.clock.advance(time.Hour)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
		same(e, "found", e.reconcile(), ledger.Reconciled{})
	}
	e.ok(e.answer(ann, asked.ID, "that"))
	same(e, "overdue at once", e.reconcile().Overdue, 0)
}

func clockGap(e *env) {
	e.node()
	e.working("one")
	e.clock.advance(40 * time.Minute) // the worker was away; its turn ran on
	_, err := e.l.StartNode(e.ctx, "node-1", "here", 0)
	e.ok(err)
	same(e, "overdue", e.reconcile().Overdue, 0)
	e.clock.advance(3 * time.Minute)
	e.ok(e.l.BeatNode(e.ctx, "node-1")) // the host slept
	e.clock.advance(4 * time.Minute)
	same(e, "overdue after a sleep", e.reconcile().Overdue, 0)
	e.clock.advance(time.Minute + models.ReportDelay)
	same(e, "overdue when it was watched", e.reconcile().Overdue, 1)
}

// clockAfterRun has a turn that began in a worker's thread when its run had ended: it is
// told of as the assignment's, and the integrator's stays apart from it.
func clockAfterRun(e *env) {
	e.node()
	_, by := e.managed("one")
	e.startTurn("thread-one", "turn-one")
	e.handOff(by, "one")
	e.endTurn("thread-one", "turn-one")
	e.reviewing("turn-boss")
	unwanted, err := e.l.TurnStarted(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-after"})
	e.ok(err)
	same(e, "nobody wants it", unwanted, true)
	e.watch(5*time.Minute + models.ReportDelay)
	same(e, "overdue turns", e.reconcile().Overdue, 2)

	asked := e.questions("one", models.AskStale)
	same(e, "questions about the assignment", len(asked), 1)
	same(e, "its text", strings.Contains(asked[0].Prompt, "worker of assignment one") && strings.Contains(asked[0].Prompt, models.StartAgain), true)
	same(e, "its text names no other", strings.Contains(asked[0].Prompt, "integrator"), false)
	same(e, "its turn", asked[0].Packet["turn_id"], any("turn-after"))
	bosses := e.questions("", models.AskStale)
	same(e, "questions about the integrator", len(bosses), 1)
	same(e, "its text", strings.Contains(bosses[0].Prompt, "integrator"), true)
	stale := e.events("one", models.EventRunStale)
	same(e, "events", len(stale), 1)
	same(e, "the turn of the event", stale[0].Payload["turn_id"], any("turn-after"))
	same(e, "what the assignment waits for", e.still()["one"].Code, models.StillReview)

	e.endTurn("thread-one", "turn-after")
	same(e, "questions about the assignment after its end", len(e.questions("one", models.AskStale)), 0)
	same(e, "questions about the integrator after it", len(e.questions("", models.AskStale)), 1)
	e.endTurn("thread-boss", "turn-boss")
	same(e, "questions about the integrator after its end", len(e.questions("", models.AskStale)), 0)
}

func clockOff(e *env) {
	e.node()
	e.configure(map[string]string{"stall_timeout": "0", "turn_silence_timeout": "0", "turn_total_timeout": "0"})
	run := e.working("one")
	same(e, "deadline", e.deadline(), e.run(run.ID).LeaseExpiresAt)
	for range 30 {
		e.watch(20 * time.Minute)
		same(e, "found", e.reconcile(), ledger.Reconciled{})
	}
}

// shortLease gives the team's runs a time to live of five seconds.
func (e *env) shortLease() {
	e.Helper()
	_, _, err := e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{
		Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 9, RunLeaseTTLSeconds: 5,
	})
	e.ok(err)
}

func leaseAway(e *env) {
	e.node()
	e.shortLease()
	run := e.working("one")
	e.clock.advance(models.NodeTTL)
	same(e, "found while the node is away", e.reconcile(), ledger.Reconciled{})
	e.clock.advance(4 * time.Second)
	same(e, "found within one more life", e.reconcile(), ledger.Reconciled{})
	e.clock.advance(time.Second)
	gone := e.reconcile()
	same(e, "found when it stays away", gone, ledger.Reconciled{Vanished: 1, Stale: 1})
	_, err := e.l.StartNode(e.ctx, "node-1", "here", 0)
	e.ok(err)
	r := e.run(run.ID)
	same(e, "the task is back", r.Task.Status, "live")
	same(e, "under its incarnation", r.Task.Incarnation, 1)
	same(e, "the claim is back", r.LeaseExpiresAt.After(e.clock.Now()), true)
}

func leaseStalled(e *env) {
	e.node()
	e.shortLease()
	e.configure(map[string]string{"on_stall": "stop", "stall_timeout": "20s"})
	e.working("one")
	for range 10 {
		e.clock.advance(3 * time.Second)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
		same(e, "vanished", e.reconcile().Vanished, 0)
	}
	same(e, "stalled", len(e.events("one", models.EventRunStale)), 1)
	vanished := 0
	for range 4 {
		e.clock.advance(3 * time.Second)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
		vanished += e.reconcile().Vanished
	}
	same(e, "vanished once it was stalled", vanished, 1)
}

func leaseStates(e *env) {
	e.node()
	e.shortLease()
	e.create("starting", func(n *models.NewAssignment) { n.AllowedPaths = []string{"s"} })
	starting := e.begin(models.CommandStart)
	active := e.working("active")
	waiting, by := e.managed("waiting")
	e.ask(by, waiting.ID, "which?")
	reviewed, by := e.managed("reviewed")
	e.startTurn("thread-reviewed", "turn-reviewed")
	e.handOff(by, "reviewed")
	between := e.working("between")
	e.endTurn("thread-between", "turn-between")
	tasks := map[string]int{}
	for _, id := range []string{starting.Run.ID, active.ID, waiting.ID, reviewed.ID, between.ID} {
		tasks[id] = e.run(id).Task.Incarnation
	}
	e.clock.advance(time.Minute)
	_, err := e.l.StartNode(e.ctx, "node-1", "here", 0)
	e.ok(err)
	same(e, "found at the return", e.reconcile(), ledger.Reconciled{})
	for range 5 {
		e.clock.advance(4 * time.Second)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
		same(e, "found afterwards", e.reconcile(), ledger.Reconciled{})
	}
	for id, incarnation := range tasks {
		task := e.run(id).Task
		same(e, "task of "+id, task.Status, "live")
		same(e, "incarnation of "+id, task.Incarnation, incarnation)
	}
}
