package mcpserver

import (
	"context"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

func TestAnUnboundAgentClaimsAndHandsOff(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	c := connected(t, f.agent("worker-1"))
	var claimed struct {
		Assignment models.Assignment
		Run        models.Run
	}
	c.must(&claimed, "claim_assignment", map[string]any{
		"assignment_id": "task", "base_revision": 1, "lease_ttl_seconds": 60,
		"session_kind": "codex_thread", "session_ref": "t-1", "worktree_path": "/repos/shop", "branch": "main",
	})
	if claimed.Assignment.ClaimedBy != "worker-1" || claimed.Run.SessionRef != "t-1" || claimed.Run.ActorID != "worker-1" {
		t.Fatalf("want its own run, have %+v", claimed)
	}
	var e struct{ Event models.Event }
	c.must(&e, "heartbeat_run", map[string]any{"run_id": claimed.Run.ID, "summary": "at work"})
	c.refused("FORBIDDEN", "heartbeat_run", map[string]any{"run_id": claimed.Run.ID, "summary": "x", "actor_id": "worker-2"})
	c.refused("FORBIDDEN", "submit_handoff", map[string]any{"assignment_id": "task", "base_revision": 2, "payload": map[string]any{"summary": "x"}, "actor_role": "integrator"})
	c.must(&e, "submit_handoff", map[string]any{"assignment_id": "task", "base_revision": claimed.Assignment.Revision, "payload": map[string]any{"summary": "done"}})
	if a := f.read("task"); a.Status != models.AssignmentAwaitingReview {
		t.Fatalf("want it in review, have %+v", a)
	}
	if answer := c.ask("tools/call", map[string]any{"name": "accept_event", "arguments": map[string]any{}}); answer.Error == nil {
		t.Fatal("an agent must have no tool to accept")
	}
	c.refused("FORBIDDEN", "register_actor", map[string]any{"actor_id": "worker-2", "actor_kind": "ai", "display_name": "Other"})
}

func TestAPersonAnswersAndDecides(t *testing.T) {
	f := newFixture(t)
	c := connected(t, f.person())
	var made struct{ Assignment models.Assignment }
	c.must(&made, "create_assignment", map[string]any{
		"assignment_id": "task", "title": "Do it", "base_revision": 0, "team_id": "crew", "priority": 3,
		"allowed_paths": []string{"src/**"}, "acceptance_criteria": []string{"it works"},
	})
	run := f.claim("task", "worker-1")
	asked, err := f.l.RequestIntervention(context.Background(), ledger.As(models.Principal{ActorID: "worker-1", Role: models.RoleAgent}), run.ID, "Which?", "decision", nil)
	f.check(err)
	var listed struct{ Interventions []models.Intervention }
	c.must(&listed, "list_interventions", map[string]any{"status": "open", "team_id": "crew"})
	if len(listed.Interventions) != 1 || listed.Interventions[0].ID != asked.ID {
		t.Fatalf("want the question %s, have %+v", asked.ID, listed)
	}
	answer := map[string]any{"reviewed_event_id": asked.ID, "response": "The blue one", "run_id": "run_other"}
	c.refused("INVALID_ARGUMENT", "respond_intervention", answer)
	answer["run_id"] = run.ID
	var e struct{ Event models.Event }
	c.must(&e, "respond_intervention", answer)
	if a := f.read("task"); a.Status != models.AssignmentRunning {
		t.Fatalf("want it to go on, have %+v", a)
	}
}

// Whoever ran an assignment does not decide its review, whatever role a person
// gave the process (comem section 11, 18).
func TestTheRunnerDoesNotDecide(t *testing.T) {
	f := newFixture(t)
	f.handedOff("task", "crew", "lead")
	c := connected(t, f.options(models.Principal{ActorID: "lead", Role: models.RoleIntegrator}, ""))
	a := f.read("task")
	c.refused("FORBIDDEN", "accept_event", map[string]any{"event_id": a.HandoffEventID, "base_revision": a.Revision, "head_commit": head, "decision_note": "mine"})
	if now := f.read("task"); now.Status != models.AssignmentAwaitingReview {
		t.Fatalf("the runner decided: %+v", now)
	}
}

func TestAPersonSetsUpAWorkspace(t *testing.T) {
	f := newFixture(t)
	c := connected(t, f.person())
	var w struct{ Workspace models.Workspace }
	c.must(&w, "register_workspace", map[string]any{"workspace_id": "docs", "name": "Docs"})
	var team struct{ Team models.Team }
	c.must(&team, "create_team", map[string]any{"team_id": "writers", "workspace_id": "docs", "name": "Writers"})
	if team.Team.OwnerActorID != models.IntegratorID("writers") {
		t.Fatalf("want an integrator for the team, have %+v", team.Team)
	}
	var made struct{ Assignment models.Assignment }
	c.must(&made, "create_assignment", map[string]any{"assignment_id": "page", "title": "Write", "base_revision": 0, "workspace_id": "docs", "team_id": "writers"})
	var detail struct {
		Teams            []models.Team
		Assignments      []models.Assignment
		AssignmentCounts map[string]int `json:"assignment_counts"`
		AssignmentTotal  int            `json:"assignment_total"`
	}
	c.must(&detail, "get_workspace_detail", map[string]any{"workspace_id": "docs"})
	if len(detail.Teams) != 1 || detail.AssignmentTotal != 1 || detail.AssignmentCounts["ready"] != 1 || len(detail.Assignments) != 1 {
		t.Fatalf("want one team with one ready assignment, have %+v", detail)
	}
	var board struct {
		Lanes map[string][]models.Assignment `json:"lanes"`
	}
	c.must(&board, "get_team_board", map[string]any{"team_id": "writers"})
	if len(board.Lanes) != len(models.Lanes()) || len(board.Lanes["ready"]) != 1 {
		t.Fatalf("want all lanes and one ready assignment, have %+v", board)
	}
	c.must(&w, "archive_workspace", map[string]any{"workspace_id": "docs"})
	if w.Workspace.Status != models.StatusArchived {
		t.Fatalf("want it archived, have %+v", w)
	}
	c.refused("NOT_FOUND", "get_workspace_detail", map[string]any{"workspace_id": "none"})
}
