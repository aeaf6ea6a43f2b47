package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

func snapshotTests() map[string]func(*env) {
	return map[string]func(*env){
		"snapshot/accepted_work_and_what_is_open": snapshot,
		"snapshot/only_acceptances_reach_it":      snapshotAcceptedOnly,
		"snapshot/filters":                        snapshotFilters,
		"snapshot/projection_is_stable":           projectionStable,
		"snapshot/projection_is_for_reviewers":    projectionRoles,
	}
}

func (e *env) snapshot(f ledger.SnapshotFilter) models.Snapshot {
	e.Helper()
	s, err := e.l.Snapshot(e.ctx, f)
	e.ok(err)
	return s
}

func snapshot(e *env) {
	run, handoff := e.handedOff("one")
	decision, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	_, waiting := e.handedOff("two")
	e.create("three")
	q := e.ask(agentB, e.claim(agentB, "three").Run.ID, "which?")
	s := e.snapshot(ledger.SnapshotFilter{})
	same(e, "schema", s.SchemaVersion, models.SnapshotSchema)
	same(e, "generated", s.GeneratedAt.Equal(e.clock.Now()), true)
	same(e, "workspaces and teams", len(s.Workspaces) == 1 && len(s.Teams) == 1 && s.Teams[0].OwnerActorID == boss.ActorID, true)
	sameJSON(e, "accepted", s.ActiveAssignments, map[string]models.AcceptedAssignment{"one": {
		Status: models.EventAccepted, WorkspaceID: space, TeamID: crew, Title: "Build one", Revision: 4, AcceptedEventID: handoff.ID,
		AcceptedBy: boss.ActorID, AcceptedAt: decision.CreatedAt, Payload: map[string]any{"summary": "done"},
	}})
	sameJSON(e, "acceptances", s.AcceptedEvents, []models.AcceptedEvent{{
		Sequence: decision.Sequence, EventID: decision.ID, ReviewedEventID: handoff.ID, AssignmentID: "one", Title: "Build one", RunID: run.ID,
		WorkerActorID: agentA.ActorID, Summary: "done", AcceptedBy: boss.ActorID, AcceptedAt: decision.CreatedAt, DecisionNote: "looked at it",
	}})
	same(e, "accepted through", s.AcceptedThrough, decision.Sequence)
	same(e, "pending", len(s.OpenGovernance.PendingReviews) == 1 && s.OpenGovernance.PendingReviews[0].EventID == waiting.ID, true)
	same(e, "questions", len(s.OpenGovernance.Interventions) == 1 && s.OpenGovernance.Interventions[0].ID == q.ID, true)
	same(e, "rules", len(s.SingleWriterRules) > 0, true)
}

// Evidence, failed gates, rejections and needs_fix never look like accepted work.
func snapshotAcceptedOnly(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	for _, status := range []string{models.EventCompletedGatePassed, models.EventCompletedGateFailed} {
		_, err := e.l.AppendEvent(e.ctx, ledger.As(agentA), ledger.AppendRequest{AssignmentID: "one", Type: "evidence_report", Status: status})
		e.ok(err)
	}
	for id, d := range map[string]models.Decision{"no": models.DecisionReject, "again": models.DecisionNeedsFix} {
		_, handoff := e.handedOff(id)
		_, err := e.decide(boss, handoff.ID, d)
		e.ok(err)
	}
	s := e.snapshot(ledger.SnapshotFilter{})
	same(e, "accepted", len(s.ActiveAssignments)+len(s.AcceptedEvents), 0)
	same(e, "accepted through", s.AcceptedThrough, 0)
}

func snapshotFilters(e *env) {
	_, handoff := e.handedOff("one")
	_, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "elsewhere"})
	e.ok(err)
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "others", WorkspaceID: "elsewhere", PhaseKey: "p1"})
	e.ok(err)
	all := e.snapshot(ledger.SnapshotFilter{})
	same(e, "all", len(all.Workspaces) == 2 && len(all.Teams) == 2, true)
	for _, f := range []ledger.SnapshotFilter{{WorkspaceID: "elsewhere"}, {TeamID: "others"}} {
		s := e.snapshot(f)
		same(e, "the others'", len(s.Workspaces) == 1 && s.Workspaces[0].ID == "elsewhere" && len(s.Teams) == 1 && s.Teams[0].PhaseKey == "p1", true)
		same(e, "nothing accepted there", len(s.ActiveAssignments), 0)
	}
	for _, f := range []ledger.SnapshotFilter{{WorkspaceID: "none"}, {TeamID: "none"}} {
		_, err := e.l.Snapshot(e.ctx, f)
		e.refused(models.CodeNotFound, err)
	}
}

// What goes into Git does not change with the time, with work under way, or with
// a loop that is turned on.
func projectionStable(e *env) {
	_, handoff := e.handedOff("one")
	_, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	before, w, err := e.l.Projection(e.ctx, boss, space)
	e.ok(err)
	same(e, "workspace", w.ID, space)
	e.clock.advance(3600e9)
	_, second := e.handedOff("two")
	_, _, err = e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{Enabled: true})
	e.ok(err)
	after, _, err := e.l.Projection(e.ctx, ann, space)
	e.ok(err)
	sameJSON(e, "the projection", after, before)
	_, err = e.decide(boss, second.ID, models.DecisionAccept)
	e.ok(err)
	after, _, err = e.l.Projection(e.ctx, ann, space)
	e.ok(err)
	same(e, "after the next acceptance", len(after.AcceptedEvents), 2)
}

func projectionRoles(e *env) {
	for _, by := range []models.Principal{agentA, {ActorID: "node:n", Role: models.RoleNode}, {ActorID: boss.ActorID, Role: models.RoleIntegrator, BindingID: "b"}} {
		_, _, err := e.l.Projection(e.ctx, by, space)
		e.refused(models.CodeForbidden, err)
	}
	_, _, err := e.l.Projection(e.ctx, ann, "none")
	e.refused(models.CodeNotFound, err)
	_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "rootless"})
	e.ok(err)
	_, _, err = e.l.Projection(e.ctx, ann, "rootless")
	e.refused(models.CodeInvalidArgument, err)
}
