package mcpserver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

func aBrief(goal string) map[string]any {
	return map[string]any{
		"schema_version": 1, "current_goal": goal, "current_stage": "implementing", "recent_progress": []string{}, "decisions_and_risks": []any{},
		"human_intervention": map[string]any{"needed": false, "blocking": false}, "next_steps": []string{"go on"}, "context_refs": []any{},
	}
}

func TestAWorkerBriefsPeople(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, run := f.worker("task", "worker-1")
	c := connected(t, o)
	before := f.read("task")
	var beat, made struct{ Event models.Event }
	c.must(&beat, "heartbeat_run", map[string]any{"summary": "at work"})
	arguments := map[string]any{"client_update_id": "u-1", "source_event_sequence": beat.Event.Sequence, "brief": aBrief("Search works")}
	c.must(&made, "checkpoint_run", arguments)
	var again struct{ Event models.Event }
	repeated := c.tool("checkpoint_run", arguments)
	mustDecode(t, repeated.raw, &again)
	if !repeated.Replayed || again.Event.ID != made.Event.ID {
		t.Fatalf("want the first event again: %s", repeated.raw)
	}
	arguments["brief"] = aBrief("Something else")
	c.refused("IDEMPOTENCY_CONFLICT", "checkpoint_run", arguments)
	for field, value := range map[string]any{"source_event_sequence": true, "brief": "a text", "client_update_id": nil} {
		bad := map[string]any{"client_update_id": "u-2", "source_event_sequence": beat.Event.Sequence, "brief": aBrief("x")}
		bad[field] = value
		if out := c.refused("INVALID_ARGUMENT", "checkpoint_run", bad); out.Error.Details["field"] != field {
			t.Errorf("%s = %v: %s", field, value, out.raw)
		}
	}
	var b models.HumanBrief
	c.must(&b, "get_human_brief", nil)
	if b.RunID != run.ID || b.AssignmentID != "task" || b.Brief["current_goal"] != "Search works" || b.Freshness != models.BriefFresh {
		t.Fatalf("%+v", b)
	}
	if after := f.read("task"); after.Status != models.AssignmentRunning || after.Revision != before.Revision {
		t.Fatalf("a brief changed %+v", after)
	}
}

func TestAttentionReachesItsBoard(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, _ := f.worker("task", "worker-1")
	c := connected(t, o)
	raise := map[string]any{
		"client_update_id": "u-1", "level": "yellow", "target": "human", "dedupe_key": "limit", "reason_code": "slow",
		"why_now": "the limit is near", "recommended_action": "raise it", "source_event_ids": []string{},
	}
	var made struct{ Event models.Event }
	c.must(&made, "raise_attention", raise)
	raise["client_update_id"], raise["dedupe_key"], raise["target"], raise["level"] = "u-2", "design", "integrator", "green"
	c.must(&made, "raise_attention", raise)
	raise["client_update_id"], raise["level"] = "u-3", "red"
	if out := c.refused("INVALID_ARGUMENT", "raise_attention", raise); out.Error.Details["field"] != "level" {
		t.Fatalf("%s", out.raw)
	}
	c.must(&made, "request_intervention", map[string]any{"prompt": "Which?", "intervention_kind": "decision", "decision_packet": map[string]any{"options": []any{"a", "b"}}})

	person := connected(t, f.person())
	var board ledger.AttentionBoard
	person.must(&board, "get_attention_board", nil) // the only team, for people, without green
	if board.TeamID != "crew" || board.Target != "human" || board.Counts != (models.AttentionCounts{Red: 1, Yellow: 1}) || len(board.Items) != 2 {
		t.Fatalf("%+v", board)
	}
	if red := board.Items[0]; red.Level != models.AttentionRed || red.DecisionPacket["options"] == nil || red.DedupeKey != "intervention:"+made.Event.ID {
		t.Fatalf("%+v", red)
	}
	integrator := connected(t, f.integrator("crew"))
	integrator.must(&board, "get_attention_board", map[string]any{"target": "integrator", "include_green": true})
	if board.Counts != (models.AttentionCounts{Green: 1}) || len(board.Items) != 1 || board.Items[0].DedupeKey != "design" {
		t.Fatalf("%+v", board)
	}
	for _, junk := range []any{"yes", 1, "true"} {
		if out := person.refused("INVALID_ARGUMENT", "get_attention_board", map[string]any{"include_green": junk}); out.Error.Details["field"] != "include_green" {
			t.Fatalf("%v: %s", junk, out.raw)
		}
	}
	person.must(&board, "get_attention_board", map[string]any{"target": "nobody"})
	if board.Counts != (models.AttentionCounts{}) || len(board.Items) != 0 {
		t.Fatalf("an unknown target: %+v", board)
	}
	f.team("rivals")
	person.refused("NOT_FOUND", "get_attention_board", map[string]any{"team_id": "none"})
	integrator.refused("FORBIDDEN", "get_attention_board", map[string]any{"team_id": "rivals"})
}

// comem section 11, 7: another agent's briefs and attention are refused.
func TestOthersBriefNobodysRun(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	run := f.claim("task", "worker-1")
	other := connected(t, f.agent("worker-2"))
	before := len(f.events("task"))
	other.refused("FORBIDDEN", "checkpoint_run", map[string]any{"run_id": run.ID, "client_update_id": "u", "source_event_sequence": 1, "brief": aBrief("x")})
	other.refused("FORBIDDEN", "raise_attention", map[string]any{
		"run_id": run.ID, "client_update_id": "u", "level": "yellow", "target": "human", "dedupe_key": "k", "reason_code": "r",
		"why_now": "w", "recommended_action": "a", "source_event_ids": []string{},
	})
	if after := len(f.events("task")); after != before {
		t.Fatalf("refused calls left %d events", after-before)
	}
	f.team("rivals")
	connected(t, f.integrator("rivals")).refused("FORBIDDEN", "get_human_brief", map[string]any{"run_id": run.ID})
}

func TestTheSnapshotIsReadAndExported(t *testing.T) {
	f := newFixture(t)
	root := t.TempDir()
	f.exec("UPDATE workspaces SET repo_root = ?", root)
	handoff := f.handedOff("first", "crew", "worker-1")
	waiting := f.handedOff("second", "crew", "worker-2")
	c := connected(t, f.person())
	var decided struct{ Event models.Event }
	c.must(&decided, "accept_event", map[string]any{"event_id": handoff.ID, "base_revision": f.read("first").Revision, "head_commit": head, "decision_note": "fine"})
	var s models.Snapshot
	c.must(&s, "get_snapshot", nil)
	if s.ActiveAssignments["first"].AcceptedEventID != handoff.ID || len(s.AcceptedEvents) != 1 || s.OpenGovernance.PendingReviews[0].EventID != waiting.ID || s.GeneratedAt == nil {
		t.Fatalf("%+v", s)
	}
	var out exportOut
	c.must(&out, "export_git_projection", map[string]any{"output_dir": "docs"})
	if out.WorkspaceID != "shop" || !out.Changed {
		t.Fatalf("%+v", out)
	}
	state, err := os.ReadFile(out.State)
	f.check(err)
	if _, err := os.Stat(out.Events); err != nil || out.State != filepath.Join(root, "docs", "coxswain", "snapshots", "accepted-state.json") {
		t.Fatalf("%+v: %v", out, err)
	}
	c.must(&out, "export_git_projection", map[string]any{"output_dir": filepath.Join(root, "docs"), "workspace_id": "shop"})
	again, err := os.ReadFile(out.State)
	f.check(err)
	if out.Changed || string(again) != string(state) {
		t.Fatal("the second export of one state changed something")
	}
	for _, outside := range []string{"..", t.TempDir(), ".git/hooks"} {
		if refusal := c.refused("INVALID_ARGUMENT", "export_git_projection", map[string]any{"output_dir": outside}); refusal.Error.Details["field"] != "output_dir" {
			t.Fatalf("%s: %s", outside, refusal.raw)
		}
	}
	for _, o := range []Options{f.agent("worker-3"), f.integrator("crew")} {
		if _, offered := connected(t, o).list()["export_git_projection"]; offered {
			t.Error("only people and integrators that a person started export")
		}
	}
}

func TestAnIntegratorsSnapshotIsItsTeams(t *testing.T) {
	f := newFixture(t)
	f.team("rivals")
	f.handedOff("theirs", "rivals", "worker-9")
	c := connected(t, f.integrator("crew"))
	var s models.Snapshot
	c.must(&s, "get_snapshot", nil)
	if len(s.Teams) != 1 || s.Teams[0].ID != "crew" || len(s.OpenGovernance.PendingReviews) != 0 {
		t.Fatalf("%+v", s)
	}
	c.refused("FORBIDDEN", "get_snapshot", map[string]any{"team_id": "rivals"})
}

// The observer may record a turn after its first call, so that only turns that
// are known to be over, or to be another's, are refused.
func TestTheTurnIsChecked(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	f.assignment("other", "crew")
	o, run := f.worker("task", "worker-1")
	_, foreign := f.worker("other", "worker-2")
	turn := func(id, binding, run, status string) {
		f.exec(`INSERT INTO turns (id, thread_id, binding_id, generation, run_id, cause_id, status, error, error_kind, started_at, progress_at,
			tokens_input, tokens_output, tokens_total, tokens_incomplete, last_item, items) VALUES (?, 'thread', ?, 1, ?, '', ?, '', '', 0, 0, 0, 0, 0, 0, '', 0)`,
			id, binding, run, status)
	}
	turn("turn-active", "bind-worker-1", run.ID, "active")
	turn("turn-completed", "bind-worker-1", run.ID, "completed")
	turn("turn-interrupted", "bind-worker-1", run.ID, "interrupted")
	turn("turn-lost", "bind-worker-1", run.ID, "lost")
	turn("turn-foreign", "bind-worker-2", foreign.ID, "active")
	c := connected(t, o)
	call := func(id string) outcome {
		return c.tool("heartbeat_run", map[string]any{"summary": "at work"}, map[string]any{
			"threadId": "thread-worker-1", "callId": "1", turnMetadata: map[string]any{"turn_id": id},
		})
	}
	for _, id := range []string{"turn-active", "turn-not-recorded-yet", ""} {
		if out := call(id); !out.OK {
			t.Errorf("turn %q: %s", id, out.raw)
		}
	}
	before := len(f.events("task"))
	for _, id := range []string{"turn-completed", "turn-interrupted", "turn-lost", "turn-foreign"} {
		if out := call(id); out.OK || out.Error.Code != "FORBIDDEN" || out.Error.Next == "" {
			t.Errorf("turn %q: %s", id, out.raw)
		}
	}
	if after := len(f.events("task")); after != before {
		t.Errorf("refused calls left %d events", after-before)
	}
}

func TestTheOnlyTeamMayBeLeftOut(t *testing.T) {
	f := newFixture(t)
	c := connected(t, f.person())
	var made struct{ Assignment models.Assignment }
	c.must(&made, "create_assignment", map[string]any{"assignment_id": "task", "title": "Do it", "base_revision": 0})
	if made.Assignment.TeamID != "crew" || made.Assignment.WorkspaceID != "shop" {
		t.Fatalf("%+v", made)
	}
	var board ledger.Board
	c.must(&board, "get_team_board", nil)
	if board.Team.ID != "crew" {
		t.Fatalf("%+v", board.Team)
	}
	f.team("rivals")
	for tool, arguments := range map[string]map[string]any{
		"create_assignment": {"assignment_id": "next", "title": "x", "base_revision": 0}, "get_team_board": {}, "get_attention_board": {},
	} {
		if out := c.refused("INVALID_ARGUMENT", tool, arguments); out.Error.Details["field"] != "team_id" || len(out.Error.Details["choices"].([]any)) != 2 {
			t.Errorf("%s: %s", tool, out.raw)
		}
	}
}

func TestAWorkspaceIsRegisteredWhereItIs(t *testing.T) {
	f := newFixture(t)
	o := f.person()
	o.Place = func(_ context.Context, path string) (ledger.NewWorkspace, error) {
		if path != "/repos/docs/sub" {
			return ledger.NewWorkspace{}, models.Invalid("path", "%s is not there", path)
		}
		return ledger.NewWorkspace{RepoRoot: "/repos/docs", GitCommonDir: "/repos/docs/.git", DefaultBranch: "trunk", NodeID: "node-1"}, nil
	}
	c := connected(t, o)
	var w struct{ Workspace models.Workspace }
	c.must(&w, "register_workspace", map[string]any{"workspace_id": "docs", "repo_root": "/repos/docs/sub", "metadata": map[string]any{"k": "v"}})
	if w.Workspace.RepoRoot != "/repos/docs" || w.Workspace.GitCommonDir == "" || w.Workspace.DefaultBranch != "trunk" || w.Workspace.NodeID != "node-1" {
		t.Fatalf("%+v", w)
	}
	c.must(&w, "register_workspace", map[string]any{"workspace_id": "docs", "repo_root": "/repos/docs/sub", "default_branch": "main"})
	if w.Workspace.DefaultBranch != "main" || w.Workspace.Metadata["k"] != "v" {
		t.Fatalf("%+v", w)
	}
	c.refused("INVALID_ARGUMENT", "register_workspace", map[string]any{"workspace_id": "twice", "repo_root": "/repos/docs/sub"})
	c.refused("INVALID_ARGUMENT", "register_workspace", map[string]any{"workspace_id": "gone", "repo_root": "/repos/gone"})
	c.refused("INVALID_ARGUMENT", "register_workspace", map[string]any{"workspace_id": "rel", "repo_root": "repos/docs"})
	var listed struct{ Workspaces []ledger.WorkspaceView }
	c.must(&listed, "list_workspaces", nil)
	shop := slices.IndexFunc(listed.Workspaces, func(w ledger.WorkspaceView) bool { return w.ID == "shop" })
	if shop < 0 || listed.Workspaces[shop].TeamCount != 1 || listed.Workspaces[shop].Teams[0].ID != "crew" {
		t.Fatalf("want the teams of each workspace, have %+v", listed)
	}
}

// Bringing an actor up to date leaves it the role it has.
func TestAnActorKeepsItsRole(t *testing.T) {
	f := newFixture(t)
	owner := models.IntegratorID("crew")
	c := connected(t, f.person())
	var made struct{ Actor models.Actor }
	c.must(&made, "register_actor", map[string]any{"actor_id": owner, "actor_kind": "ai", "display_name": "The integrator", "provider": "codex"})
	if made.Actor.Role != models.RoleIntegrator || made.Actor.Provider != "codex" {
		t.Fatalf("%+v", made)
	}
	c.must(&made, "register_actor", map[string]any{"actor_id": "codex-worker-7", "actor_kind": "ai", "display_name": "Seven"})
	if made.Actor.Role != models.RoleAgent || made.Actor.Provider != "local" || made.Actor.Status != models.StatusActive {
		t.Fatalf("%+v", made)
	}
}

func TestPendingReviewsAreFilteredAndDated(t *testing.T) {
	f := newFixture(t)
	first := f.handedOff("first", "crew", "worker-1")
	f.handedOff("second", "crew", "worker-2")
	f.exec(`INSERT INTO interventions (id, workspace_id, team_id, assignment_id, run_id, kind, prompt, packet, requested_by, status, response, responded_by, created_at)
		VALUES ('evt_asked', 'shop', 'crew', 'first', ?, ?, 'Nobody decides', '{}', 'system', 'open', '', '', 0)`, first.RunID, models.AskReviewIgnored)
	c := connected(t, f.person())
	list := func(arguments map[string]any) []models.PendingReview {
		var out struct {
			PendingReviews []models.PendingReview `json:"pending_reviews"`
		}
		c.must(&out, "list_pending_reviews", arguments)
		return out.PendingReviews
	}
	all := list(nil)
	if len(all) != 2 || !all[0].PendingSince.Equal(first.CreatedAt) || all[0].PendingSeconds < 0 || all[0].EscalationID != "evt_asked" || all[1].EscalationID != "" {
		t.Fatalf("%+v", all)
	}
	for name, arguments := range map[string]map[string]any{
		"escalated": {"escalated": true}, "of an assignment": {"assignment_id": "first"}, "of all": {"team_id": "crew", "workspace_id": "shop", "assignment_id": "first"},
	} {
		if got := list(arguments); len(got) != 1 || got[0].Event.ID != first.ID {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := list(map[string]any{"min_age_seconds": 3600}); len(got) != 0 {
		t.Errorf("older than an hour: %+v", got)
	}
	c.refused("INVALID_ARGUMENT", "list_pending_reviews", map[string]any{"min_age_seconds": -1})
}
