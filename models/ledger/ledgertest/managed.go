package ledgertest

import (
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func managedTests() map[string]func(*env) {
	return map[string]func(*env){
		"managed/handoff_leaves_the_end_to_the_node": managedHandoff,
		"managed/cancel_keeps_the_slot":              managedCancel,
		"managed/claim_waits_for_the_end_of_a_turn":  managedTakeover,
		"managed/thread_reaches_only_its_assignment": managedScope,
		"managed/one_open_question":                  managedQuestion,
		"managed/renewal_by_the_thread":              managedRenewal,
		"managed/integrator_thread_of_its_own_team":  managedIntegrator,
		"managed/refused_secrets_ask_a_person":       managedSecrets,
		"managed/expired_outsider_gives_way":         managedAfterOutsider,
		"managed/cursor_in_run_detail":               managedCursor,
	}
}

// node registers the node of the workspace with a usable fake, and turns the
// team's loop on.
func (e *env) node() {
	e.Helper()
	_, err := e.l.StartNode(e.ctx, "node-1", "here", 0)
	e.ok(err)
	caps := map[string]bool{}
	for _, name := range models.RequiredCapabilities() {
		caps[name] = true
	}
	e.ok(e.l.RecordProbe(e.ctx, "node-1", models.Probe{
		AdapterKind: models.AdapterKindFake, Version: "1", Transport: "process",
		Status: models.StatusActive, Capabilities: caps, SandboxProved: true,
	}))
	_, _, err = e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 9})
	e.ok(err)
}

// begin plans the team and returns the one command of a type, owned by "test".
func (e *env) begin(kind models.CommandType) ledger.Work {
	e.Helper()
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	for _, cmd := range plan.Commands {
		if cmd.Type == kind {
			w, open, err := e.l.BeginCommand(e.ctx, cmd.ID, "test")
			e.ok(err)
			same(e, "the command is open", open, true)
			return w
		}
	}
	e.Fatalf("no %s among %v, left out %v", kind, plan.Commands, plan.LeftOut)
	return ledger.Work{}
}

// managed starts a run by the loop and returns it with its thread's principal.
func (e *env) managed(id string) (models.Run, models.Principal) {
	e.Helper()
	e.create(id, func(n *models.NewAssignment) { n.AllowedPaths = []string{"dir-" + id} })
	w := e.begin(models.CommandStart)
	kept, err := e.l.RecordThread(e.ctx, w.Command.ID, "test", "thread-"+id)
	e.ok(err)
	same(e, "thread kept", kept, true)
	e.ok(e.l.ClaimRun(e.ctx, w.Command.ID, "test", ledger.Claim{Prompt: "go", BaseCommit: commit}))
	return e.run(w.Run.ID).Run, e.bound(w.Binding)
}

func (e *env) bound(b models.Binding) models.Principal {
	e.Helper()
	_, by, err := e.l.Bound(e.ctx, e.l.BindingToken(b.ID, b.Generation))
	e.ok(err)
	return by
}

// startTurn delivers a thread's next message, which starts a turn.
func (e *env) startTurn(thread, turn string) {
	e.Helper()
	m, err := e.l.BeginMessage(e.ctx, thread, "test")
	e.ok(err)
	if m == nil {
		e.Fatalf("thread %s has no message to deliver", thread)
	}
	e.ok(e.l.Delivered(e.ctx, m.Item.ID, "test", turn, false))
}

// endTurn reports the end of a thread's turn as its node does.
func (e *env) endTurn(thread, turn string) {
	e.Helper()
	e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: thread, TurnID: turn, Status: models.TurnCompleted}))
}

func managedHandoff(e *env) {
	e.node()
	run, by := e.managed("one")
	e.woken()
	ev := e.handOff(by, "one")
	r := e.run(run.ID)
	same(e, "run", r.Status, models.RunCompletedGatePassed)
	same(e, "no end yet", r.EndedAt == nil, true)
	same(e, "the task lives on", r.Task.Status, "live")
	same(e, "assignment woken", e.woken()[ledger.AssignmentWorkflow("one")], true)
	_, err := e.decide(boss, ev.ID, models.DecisionAccept)
	e.ok(err)
	same(e, "no end by the decision", e.run(run.ID).EndedAt == nil, true)
	e.endTurn("thread-one", "turn-1")
	same(e, "the end of the turn", e.run(run.ID).EndedAt != nil, true)
}

func managedCancel(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.woken()
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, "stop")
	e.ok(err)
	r := e.run(run.ID)
	same(e, "run", r.Status, models.RunCancelled)
	same(e, "the slot stays taken", r.EndedAt == nil, true)
	same(e, "assignment woken", e.woken()[ledger.AssignmentWorkflow("one")], true)
	interrupts := 0
	for _, cmd := range r.Commands {
		if cmd.Type == models.CommandInterrupt {
			interrupts++
		}
	}
	same(e, "interrupts", interrupts, 1)
}

func managedTakeover(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.clock.advance(5 * time.Hour)
	refusal := e.unchanged("one", models.CodeLeaseConflict, func() error { _, err := e.tryClaim(agentB, "one"); return err })
	same(e, "names the run", refusal.Details["run_id"], any(run.ID))
	e.create("two", func(n *models.NewAssignment) { n.AllowedPaths = []string{"two"} })
	e.begin(models.CommandStart)
	e.unchanged("two", models.CodeLeaseConflict, func() error { _, err := e.tryClaim(agentB, "two"); return err })
}

func managedScope(e *env) {
	e.node()
	run, by := e.managed("one")
	e.create("two", func(n *models.NewAssignment) { n.AllowedPaths = []string{"two"} })
	other := e.claim(models.Principal{ActorID: by.ActorID, Role: models.RoleAgent}, "two")
	for _, call := range []func() error{
		func() error { _, err := e.tryClaim(by, "two"); return err },
		func() error { _, err := e.appendEvent(by, "two", "progress"); return err },
		func() error { _, err := e.tryHandOff(by, "two"); return err },
		func() error { _, err := e.l.HeartbeatRun(e.ctx, ledger.As(by), other.Run.ID, "x"); return err },
		func() error {
			_, err := e.l.RequestIntervention(e.ctx, ledger.As(by), other.Run.ID, "?", "", nil)
			return err
		},
		func() error {
			_, err := e.l.RegisterWorkspace(e.ctx, ledger.As(by), ledger.NewWorkspace{ID: "mine"})
			return err
		},
	} {
		e.unchanged("two", models.CodeForbidden, call)
	}
	_, err := e.l.HeartbeatRun(e.ctx, ledger.As(by), run.ID, "mine")
	e.ok(err)
	forged := models.Principal{ActorID: by.ActorID, Role: models.RoleIntegrator, BindingID: by.BindingID}
	e.unchanged("two", models.CodeForbidden, func() error {
		_, err := e.l.CancelAssignment(e.ctx, ledger.As(forged), "one", nil, "x")
		return err
	})
}

func managedQuestion(e *env) {
	e.node()
	run, by := e.managed("one")
	ev := e.ask(by, run.ID, "which?")
	e.unchanged("one", models.CodeInvalidArgument, func() error {
		_, err := e.l.RequestIntervention(e.ctx, ledger.As(by), run.ID, "and which?", "", nil)
		return err
	})
	e.woken()
	e.ok(e.answer(ann, ev.ID, "this"))
	same(e, "assignment woken", e.woken()[ledger.AssignmentWorkflow("one")], true)
	e.ask(by, run.ID, "another?")
}

func managedRenewal(e *env) {
	e.node()
	run, by := e.managed("one")
	e.clock.advance(time.Minute)
	c := e.claim(by, "one")
	same(e, "run", c.Run.ID, run.ID)
	same(e, "expiry", c.Run.LeaseExpiresAt.Equal(e.clock.Now().Add(time.Hour)), true)
	e.clock.advance(2 * time.Hour)
	e.unchanged("one", models.CodeForbidden, func() error { _, err := e.tryClaim(by, "one"); return err })
}

func managedIntegrator(e *env) {
	e.node()
	_, by := e.managed("one")
	e.handOff(by, "one")
	e.endTurn("thread-one", "turn-1")
	w := e.begin(models.CommandNudge)
	integrator := e.bound(w.Binding)
	same(e, "role", integrator.Role, models.RoleIntegrator)
	_, err := e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "others", WorkspaceID: space})
	e.ok(err)
	_, err = e.l.CreateAssignment(e.ctx, ledger.As(integrator), models.NewAssignment{ID: "follow-up", TeamID: crew, Title: "t"}, nil)
	e.ok(err)
	_, err = e.l.CreateAssignment(e.ctx, ledger.As(integrator), models.NewAssignment{ID: "foreign", TeamID: "others", Title: "t"}, nil)
	e.refused(models.CodeForbidden, err)
	_, err = e.l.CreateAssignment(e.ctx, ledger.As(ann), models.NewAssignment{ID: "theirs", TeamID: "others", Title: "t"}, nil)
	e.ok(err)
	c := e.claim(agentB, "theirs")
	ev := e.ask(agentB, c.Run.ID, "?")
	e.unchanged("theirs", models.CodeForbidden, func() error { return e.answer(integrator, ev.ID, "yes") })
	e.unchanged("theirs", models.CodeForbidden, func() error {
		_, err := e.l.CancelAssignment(e.ctx, ledger.As(integrator), "theirs", nil, "x")
		return err
	})
	source := e.lastSequence(c.Run.ID)
	_, _, err = e.checkpoint(agentB, c.Run.ID, "u-1", source, brief())
	e.ok(err)
	for _, id := range []string{"u-1", "u-2"} { // nor is it answered with what was written
		e.unchanged("theirs", models.CodeForbidden, func() error { _, _, err := e.checkpoint(integrator, c.Run.ID, id, source, brief()); return err })
	}
	e.unchanged("follow-up", models.CodeForbidden, func() error { _, err := e.tryClaim(integrator, "follow-up"); return err })
	handoff := e.pending()[0].Event.ID
	_, err = e.decide(integrator, handoff, models.DecisionAccept)
	e.ok(err)
}

func managedSecrets(e *env) {
	e.node()
	run, by := e.managed("one")
	leak := func() error {
		_, err := e.l.HeartbeatRun(e.ctx, ledger.As(by), run.ID, "password=hunter2hunter2")
		return err
	}
	for n := 1; n <= 3; n++ {
		e.refused(models.CodeSecretDetected, leak())
		same(e, "refusals noted", len(e.events("one", models.EventSecretRefused)), n)
		want := models.RunClaimed
		if n == 3 {
			want = models.RunAwaitingHuman
		}
		same(e, "run", e.run(run.ID).Status, want)
	}
	noted := e.events("one", models.EventSecretRefused)[0].Payload
	sameJSON(e, "field and rule only", noted, map[string]any{"field": "summary", "operation": "heartbeat_run", "rule": "secret-assignment"})
	second, by := e.managed("two")
	_, err := e.l.SubmitHandoff(e.ctx, ledger.As(by), ledger.HandoffRequest{AssignmentID: "two", Payload: map[string]any{"summary": "password=hunter2hunter2"}})
	e.refused(models.CodeSecretDetected, err)
	same(e, "a refused handoff asks at once", e.run(second.ID).Status, models.RunAwaitingHuman)
}

func managedAfterOutsider(e *env) {
	e.node()
	e.create("one")
	old := e.claim(agentA, "one")
	e.clock.advance(2 * time.Hour)
	w := e.begin(models.CommandStart)
	_, err := e.l.RecordThread(e.ctx, w.Command.ID, "test", "thread-one")
	e.ok(err)
	e.ok(e.l.ClaimRun(e.ctx, w.Command.ID, "test", ledger.Claim{Prompt: "go"}))
	same(e, "the former run", e.run(old.Run.ID).Status, models.RunSuperseded)
	same(e, "the holder", e.assignment("one").ActiveRunID, w.Run.ID)
	e.unchanged("one", models.CodeInvalidArgument, func() error {
		_, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), old.Run.ID, "x")
		return err
	})
}

func managedCursor(e *env) {
	e.node()
	run, by := e.managed("one")
	_, err := e.l.RecordRunBinding(e.ctx, ledger.As(by), run.ID, map[string]any{"communication_cursor": map[string]any{"note": "mine", "last_seen_turn_id": "old"}}, nil)
	e.ok(err)
	e.startTurn("thread-one", "turn-1")
	cursor := e.run(run.ID).Metadata["communication_cursor"].(map[string]any)
	same(e, "kept", cursor["note"], any("mine"))
	same(e, "seen turn", cursor["last_seen_turn_id"], any("turn-1"))
	same(e, "completed turn", cursor["last_completed_turn_id"], nil)
	e.clock.advance(time.Second)
	e.endTurn("thread-one", "turn-1")
	cursor = e.run(run.ID).Metadata["communication_cursor"].(map[string]any)
	same(e, "completed turn", cursor["last_completed_turn_id"], any("turn-1"))
}
