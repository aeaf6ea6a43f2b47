package ledger_test

import (
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

func TestAnAssignmentGoesFromReadyToReviewed(t *testing.T) {
	onBoth(t, anAssignmentGoesFromReadyToReviewed)
}

func anAssignmentGoesFromReadyToReviewed(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	start := c.only(models.CommandStart)
	if again := c.plan(); len(again) != 0 {
		t.Fatalf("the same pass twice made %v", again)
	}
	run := c.claimed(start, "th-1")
	a := c.assignment("a")
	if a.Status != models.AssignmentClaimed || a.Revision != 2 || a.ClaimedBy != "codex-worker-a" || run.SessionRef != "th-1" || run.SessionKind != models.SessionKindCodexThread {
		t.Fatalf("claim: %+v %+v", a, run)
	}
	m := c.delivered("th-1", "tu-1")
	if m.Text != "do it" || m.Item.ID != models.MessageID(start.ID) {
		t.Fatalf("message %+v", m)
	}
	event := c.handOff(run)
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("a nudge before the handoff's turn ended: %v", got)
	}
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	if r := c.run(run.ID); r.EndedAt == nil || r.Tokens.Total != 7 {
		t.Fatalf("the run did not end with its turn: %+v", r)
	}
	nudge := c.only(models.CommandNudge)
	if len(nudge.EventIDs) != 1 || nudge.EventIDs[0] != event.ID {
		t.Fatalf("nudge %+v", nudge)
	}
	c.nudged(nudge, "th-int", "tu-9")
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("a second nudge while the first is read: %v", got)
	}
	_, err := c.l.Decide(t.Context(), ledger.As(person), ledger.DecideRequest{EventID: event.ID, Decision: models.DecisionAccept})
	c.ok(err)
	c.wantStatus("a", models.AssignmentAccepted)
	step, err := c.l.NextAssignmentStep(t.Context(), "a")
	if err != nil || !step.Dirty {
		t.Fatalf("step %+v, %v", step, err)
	}
	c.ok(c.l.RecordDirt(t.Context(), "a", []string{"a/file"}, 0))
	if step, err = c.l.NextAssignmentStep(t.Context(), "a"); err != nil || !step.Done {
		t.Fatalf("step %+v, %v", step, err)
	}
	detail, err := c.l.RunDetail(t.Context(), run.ID)
	c.ok(err)
	cursor, _ := detail.Metadata["communication_cursor"].(map[string]any)
	for key, want := range map[string]any{"last_command_id": start.ID, "last_client_user_message_id": m.Item.ID, "last_seen_turn_id": "tu-1", "last_completed_turn_id": "tu-1"} {
		if cursor[key] != want {
			t.Errorf("cursor %s is %v, want %v", key, cursor[key], want)
		}
	}
}

func TestSharedPathsWaitFromStartToEnd(t *testing.T) { onBoth(t, sharedPathsWaitFromStartToEnd) }

func sharedPathsWaitFromStartToEnd(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a", func(a *models.NewAssignment) { a.AllowedPaths = []string{"src/**"}; a.Priority = 2 })
	c.create("b", func(a *models.NewAssignment) { a.AllowedPaths = []string{"src/main.go"} })
	start := c.only(models.CommandStart)
	if start.AssignmentID != "a" {
		t.Fatalf("started %s first", start.AssignmentID)
	}
	if reason := c.assignment("b").DeferredReason; reason != "deferred: path:src/main.go held by a until it ends" {
		t.Fatalf("reason %q", reason)
	}
	run := c.claimed(start, "th-1")
	c.delivered("th-1", "tu-1")
	event := c.handOff(run)
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	if got := c.only(models.CommandNudge); got.AssignmentID != "" {
		t.Fatal("the held path was given away before the end")
	}
	_, err := c.l.Decide(t.Context(), ledger.As(person), ledger.DecideRequest{EventID: event.ID, Decision: models.DecisionAccept})
	c.ok(err)
	if got := c.only(models.CommandStart); got.AssignmentID != "b" {
		t.Fatalf("after the end %s was started", got.AssignmentID)
	}
}

func TestCapacityCountsRunsWithoutAnEnd(t *testing.T) { onBoth(t, capacityCountsRunsWithoutAnEnd) }

func capacityCountsRunsWithoutAnEnd(t *testing.T, at place) {
	c := newCrew(t, at, func(s *models.LoopSettings) { s.MaxConcurrentRuns = 1 })
	c.create("a")
	c.create("b")
	c.claimed(c.only(models.CommandStart), "th-1")
	r, err := c.l.PlanTeam(t.Context(), "t")
	c.ok(err)
	if len(r.Commands) != 0 || len(r.LeftOut) != 1 || r.LeftOut[0].Code != "capacity" {
		t.Fatalf("pass %+v", r)
	}
}

func TestCancelInterruptsUntilTheTurnEnded(t *testing.T) {
	onBoth(t, cancelInterruptsUntilTheTurnEnded)
}

func cancelInterruptsUntilTheTurnEnded(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	_, err := c.l.CancelAssignment(t.Context(), ledger.As(person), "a", nil, "not needed")
	c.ok(err)
	open, err := c.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	c.ok(err)
	if len(open) != 1 || open[0].Type != models.CommandInterrupt {
		t.Fatalf("commands %+v", open)
	}
	c.create("b", func(a *models.NewAssignment) { a.AllowedPaths = []string{"a"} })
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("the paths of a running turn were given away: %v", got)
	}
	c.endTurn("th-1", "tu-1", models.TurnInterrupted)
	c.ok(c.l.EndRun(t.Context(), run.ID, "interrupted"))
	c.ok(c.finish(open[0].ID))
	if got := c.only(models.CommandStart); got.AssignmentID != "b" {
		t.Fatalf("started %s", got.AssignmentID)
	}
}

func TestACancelledStartIsNotClaimed(t *testing.T) { onBoth(t, aCancelledStartIsNotClaimed) }

func aCancelledStartIsNotClaimed(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	cmd := c.only(models.CommandStart)
	_, _, err := c.l.BeginCommand(t.Context(), cmd.ID, "attempt")
	c.ok(err)
	_, err = c.l.CancelAssignment(t.Context(), ledger.As(person), "a", nil, "changed my mind")
	c.ok(err)
	_, err = c.l.RecordThread(t.Context(), cmd.ID, "attempt", "th-1")
	c.ok(err)
	if err := c.l.ClaimRun(t.Context(), cmd.ID, "attempt", ledger.Claim{Prompt: "x"}); err == nil {
		t.Fatal("a cancelled assignment was claimed")
	}
	c.ok(c.l.FailCommand(t.Context(), cmd.ID, "attempt", "cancelled"))
	if r := c.run(cmd.RunID); r.EndedAt == nil {
		t.Fatal("the run of a cancelled start has no end")
	}
	c.wantStatus("a", models.AssignmentCancelled)
}

func TestWakeupsAreRepeatedUntilTheReadIsRecorded(t *testing.T) {
	onBoth(t, wakeupsAreRepeatedUntilTheReadIsRecorded)
}

func wakeupsAreRepeatedUntilTheReadIsRecorded(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	c.only(models.CommandStart)
	wf := ledger.AssignmentWorkflow("a")
	if !c.due(wf) {
		t.Fatal("the start woke nothing")
	}
	g, err := c.l.Acknowledge(t.Context(), wf)
	c.ok(err)
	if c.due(wf) {
		t.Fatal("an acknowledged wake-up is still due")
	}
	ok, err := c.l.Rest(t.Context(), wf, g)
	c.ok(err)
	if !ok {
		t.Fatal("rest refused although nothing was raised")
	}
	_, err = c.l.CancelAssignment(t.Context(), ledger.As(person), "a", nil, "stop")
	c.ok(err)
	if ok, err = c.l.Rest(t.Context(), wf, g); err != nil || ok {
		t.Fatalf("rest was granted over a newer wake-up: %t, %v", ok, err)
	}
}

func TestManagedActorsCarryTheLastProbe(t *testing.T) { onBoth(t, managedActorsCarryTheLastProbe) }

func managedActorsCarryTheLastProbe(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	c.handOff(run)
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	c.only(models.CommandNudge)
	for id, role := range map[string]models.Role{"codex-worker-a": models.RoleAgent, "codex-integrator-t": models.RoleIntegrator, "n": models.RoleNode} {
		actor, err := c.l.Actor(t.Context(), id)
		c.ok(err)
		if actor.Role != role || actor.Capabilities["adapter_kind"] != models.AdapterKindFake || actor.Capabilities["can_start_thread"] != true {
			t.Errorf("actor %+v", actor)
		}
	}
}
