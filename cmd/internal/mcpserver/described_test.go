package mcpserver

import (
	"context"
	"strings"
	"sync"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

func TestDescribed01CreatingWork(t *testing.T) {
	d := newDescribed(t)
	a := d.create("task", nil)
	want(t, "status", a.Status, models.AssignmentReady)
	want(t, "revision", a.Revision, 1)
	events := d.events("task")
	want(t, "one created event", len(events) == 1 && events[0].Type == models.EventAssignmentCreated, true)
	again := object{"assignment_id": "task", "title": "x", "base_revision": 0, "team_id": "crew"}
	d.refusedAlike(d.lead, "INVALID_ARGUMENT", "task", call{"create_assignment", again})
	d.refusedAlike(d.lead, "STALE_REVISION", "task", call{"create_assignment", object{"assignment_id": "other", "title": "x", "base_revision": 1, "team_id": "crew"}})
	_, err := d.l.CreateAssignment(context.Background(), ledger.As(models.Principal{ActorID: "codex-worker-a", Role: models.RoleAgent}),
		models.NewAssignment{ID: "other", TeamID: "crew", Title: "x"}, new(0))
	want(t, "an agent's creation", models.CodeOf(err), models.CodeForbidden)
	_, offered := d.a.list()["create_assignment"]
	want(t, "offered to an agent", offered, false)
}

func TestDescribed02SessionBinds(t *testing.T) {
	d := newDescribed(t)
	a := d.create("hinted", object{"metadata": object{"assigned_actor_hint": "codex-worker-a"}})
	bind := a.Metadata["session_bind"].(object)
	want(t, "derived", bind["target_actor_id"] == "codex-worker-a" && bind["status"] == "pending" && bind["session_kind"] == "codex_thread", true)
	created := d.events("hinted")[0].Payload["metadata"].(object)["session_bind"].(object)
	want(t, "in the event", created["target_actor_id"], any("codex-worker-a"))
	a = d.create("bound", object{"metadata": object{"assigned_actor_hint": "codex-worker-a", "session_bind": object{"target_actor_id": "codex-worker-b", "status": "reserved"}}})
	bind = a.Metadata["session_bind"].(object)
	want(t, "kept", bind["target_actor_id"] == "codex-worker-b" && bind["status"] == "reserved", true)
}

func TestDescribed03ClaimsRecordTheSession(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	var out claimOut
	d.a.must(&out, "claim_assignment", object{
		"assignment_id": "task", "base_revision": 1, "session_kind": "codex_thread", "session_ref": "t-1", "interactive_url": "codex://threads/t-1",
		"worktree_path": "/repos/shop", "branch": "dev", "base_commit": head,
	})
	want(t, "revision", out.Assignment.Revision, 2)
	r := d.run(out.Run.ID)
	want(t, "run", r.Status, models.RunClaimed)
	want(t, "attempt", r.Attempt, 1)
	want(t, "session", r.SessionRef == "t-1" && r.InteractiveURL == "codex://threads/t-1" && r.WorktreePath == "/repos/shop" && r.Branch == "dev" && r.BaseCommit == head, true)
}

func TestDescribed04LiveClaims(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	first := d.take(d.a, "task")
	claim, _, _ := d.changes("task", 2)
	d.refusedAlike(d.b, "LEASE_CONFLICT", "task", claim)
	claim.arguments["lease_ttl_seconds"] = 7200
	var again claimOut
	d.a.must(&again, claim.tool, claim.arguments)
	want(t, "the same run", again.Run.ID, first.Run.ID)
	want(t, "revision", again.Assignment.Revision, 3)
	want(t, "longer", again.Run.LeaseExpiresAt.After(first.Run.LeaseExpiresAt), true)
	runs, err := d.l.Runs(context.Background(), ledger.RunFilter{AssignmentID: "task"})
	d.check(err)
	want(t, "runs", len(runs), 1)
}

func TestDescribed05ExpiredClaims(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	old := d.take(d.a, "task")
	d.exec("UPDATE runs SET lease_expires_at = 1")
	d.exec("UPDATE assignments SET lease_expires_at = 1")
	taken := d.take(d.b, "task")
	want(t, "a new run", taken.Run.ID != old.Run.ID && taken.Run.Attempt == 2, true)
	former := d.run(old.Run.ID)
	want(t, "former run", former.Status == models.RunSuperseded && former.EndedAt != nil, true)
	d.refusedAlike(d.a, "INVALID_ARGUMENT", "task", call{"heartbeat_run", object{"run_id": old.Run.ID, "summary": "still here"}})
	for _, ttl := range []int{-1, 0} { // no claim is made expired
		d.refusedAlike(d.b, "INVALID_ARGUMENT", "task", call{"claim_assignment", object{"assignment_id": "task", "base_revision": 3, "lease_ttl_seconds": ttl}})
	}
}

func TestDescribed06EventsNeedTheRevision(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	d.take(d.a, "task")
	_, report, _ := d.changes("task", 2)
	d.event(d.a, report.tool, report.arguments)
	d.refusedAlike(d.a, "STALE_REVISION", "task", report)
	report.arguments["base_revision"] = 3
	for _, status := range []string{"integrator_accepted", "integrator_rejected", "needs_fix"} {
		report.arguments["status"] = status
		d.refusedAlike(d.a, "INVALID_ARGUMENT", "task", report)
	}
}

func TestDescribed07OthersRuns(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	_, report, handoff := d.changes("task", 2)
	d.refusedAlike(d.b, "FORBIDDEN", "task", report, handoff,
		call{"heartbeat_run", object{"run_id": run.ID, "summary": "x"}},
		call{"record_run_binding", object{"run_id": run.ID, "binding_patch": object{"a": 1}}},
		call{"checkpoint_run", object{"run_id": run.ID, "client_update_id": "u", "source_event_sequence": 1, "brief": aBrief("x")}},
		call{"raise_attention", object{
			"run_id": run.ID, "client_update_id": "u", "level": "yellow", "target": "human", "dedupe_key": "k", "reason_code": "r", "why_now": "w",
			"recommended_action": "a", "source_event_ids": []string{},
		}},
		call{"request_intervention", object{"run_id": run.ID, "prompt": "?", "intervention_kind": "decision"}})
}

func TestDescribed08Heartbeats(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	beat := d.event(d.a, "heartbeat_run", object{"run_id": run.ID, "summary": "reading"})
	r := d.run(run.ID)
	want(t, "run and assignment", r.Status == models.RunRunning && d.read("task").Status == models.AssignmentRunning, true)
	want(t, "heartbeat", r.HeartbeatAt.Equal(beat.CreatedAt), true)
	want(t, "last event", r.Events[len(r.Events)-1].Type, models.EventRunHeartbeat)
	d.event(d.a, "request_intervention", object{"run_id": run.ID, "prompt": "?", "intervention_kind": "decision"})
	d.event(d.a, "heartbeat_run", object{"run_id": run.ID, "summary": "waiting"})
	want(t, "still waiting", d.lane("task"), "awaiting_human")
}

func TestDescribed14RunBindings(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	bind := func(patch any) call {
		return call{"record_run_binding", object{"run_id": run.ID, "binding_patch": patch}}
	}
	var out runOut
	d.a.must(&out, "record_run_binding", bind(object{"adapter": object{"kind": "fake_codex", "version": "1"}}).arguments)
	d.lead.must(&out, "record_run_binding", bind(object{"adapter": object{"version": "2"}}).arguments)
	adapter := out.Run.Metadata["adapter"].(object)
	want(t, "merged", adapter["kind"] == "fake_codex" && adapter["version"] == "2", true)
	last := out.Run.Events[len(out.Run.Events)-1]
	want(t, "event", last.Type == models.EventRunBindingRecorded && last.Status == models.EventObserved, true)
	want(t, "nothing else changed", d.read("task").Revision == 2 && out.Run.Status == models.RunClaimed, true)
	d.refusedAlike(d.a, "INVALID_ARGUMENT", "task", bind("a text"), bind([]string{"x"}), bind(nil))
	d.handOff(d.a, "task")
	d.refusedAlike(d.a, "INVALID_ARGUMENT", "task", bind(object{"a": 1}))
}

// Number 16 runs against both databases in the ledger's own suite; this is the
// same race through eight servers.
func TestDescribed16ParallelClaims(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	clients := make([]*client, 8)
	for i := range clients {
		clients[i] = connected(t, d.agent("racer-"+string(rune('a'+i))))
	}
	outcomes := make([]outcome, len(clients))
	var racers sync.WaitGroup
	for i, c := range clients {
		racers.Go(func() { outcomes[i] = c.tool("claim_assignment", object{"assignment_id": "task", "base_revision": 1}) })
	}
	racers.Wait()
	won := 0
	for _, out := range outcomes {
		if out.OK {
			won++
			continue
		}
		if code := out.Error.Code; code != "STALE_REVISION" && code != "LEASE_CONFLICT" {
			t.Errorf("%s", out.raw)
		}
	}
	want(t, "winners", won, 1)
	want(t, "revision", d.read("task").Revision, 2)
}

func TestDescribed20SecretsAreRefused(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	hidden := "-----BEGIN RSA PRIVATE " + "KEY-----"
	shaped := "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
	_, report, handoff := d.changes("task", 2)
	report.arguments["payload"] = object{"log": shaped}
	handoff.arguments["payload"] = object{"summary": hidden}
	brief := aBrief("x")
	brief["next_steps"] = []string{hidden}
	attention := object{
		"run_id": run.ID, "client_update_id": "u", "level": "yellow", "target": "human", "dedupe_key": "k", "reason_code": "r", "why_now": shaped,
		"recommended_action": "a", "source_event_ids": []string{},
	}
	for field, c := range map[string]call{
		"payload.log": report, "payload.summary": handoff,
		"summary":             {"heartbeat_run", object{"run_id": run.ID, "summary": hidden}},
		"binding_patch.x":     {"record_run_binding", object{"run_id": run.ID, "binding_patch": object{"x": shaped}}},
		"brief.next_steps[0]": {"checkpoint_run", object{"run_id": run.ID, "client_update_id": "u", "source_event_sequence": 1, "brief": brief}},
		"why_now":             {"raise_attention", attention},
		"decision_packet.x":   {"request_intervention", object{"run_id": run.ID, "prompt": "?", "intervention_kind": "k", "decision_packet": object{"x": hidden}}},
	} {
		before := len(d.events("task"))
		out := d.a.refused("SECRET_DETECTED", c.tool, c.arguments)
		if out.Error.Details["field"] != field || out.Error.Details["rule"] == nil || strings.Contains(string(out.raw), shaped) || strings.Contains(string(out.raw), "RSA") {
			t.Errorf("%s: %s", field, out.raw)
		}
		if after := len(d.events("task")); after != before {
			t.Errorf("%s was stored", field)
		}
	}
	report.arguments["payload"] = object{"head": head, "link": "codex://threads/019f2093-3b06-7310-bc1f-08ccc3e4f917", "token_count": 5}
	d.event(d.a, report.tool, report.arguments)
}

// A workspace is no place for teams and work without one: where the described
// ledger grouped those under a virtual workspace, there are none here.
func TestDescribedNothingIsWithoutAWorkspace(t *testing.T) {
	d := newDescribed(t)
	for id, code := range map[string]string{"": "INVALID_ARGUMENT", "none": "NOT_FOUND"} {
		d.lead.refused(code, "create_team", object{"team_id": "lost", "workspace_id": id, "name": "Lost"})
	}
	want(t, "the team's workspace", d.create("task", nil).WorkspaceID, "shop")
	var listed workspacesOut
	d.lead.must(&listed, "list_workspaces", nil)
	want(t, "workspaces", len(listed.Workspaces), 1)
	want(t, "counted", listed.Workspaces[0].AssignmentTotal == 1 && listed.Workspaces[0].AssignmentCounts["ready"] == 1, true)
}

func TestDescribedArchiveIsNotUndone(t *testing.T) {
	d := newDescribed(t)
	var w workspaceOut
	d.lead.must(&w, "archive_workspace", object{"workspace_id": "shop"})
	d.lead.must(&w, "register_workspace", object{"workspace_id": "shop", "name": "Back"})
	want(t, "status", w.Workspace.Status, models.StatusArchived)
}
