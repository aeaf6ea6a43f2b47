package mcpserver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

// described is a fixture with one server for each kind of caller. The tests that
// use it go through the tools the way that the described ledger's users do; the
// numbers are those of comem, section 11. Where the described system had a hole,
// the closed one is what is tested.
type described struct {
	*fixture
	lead, a, b *client
}

func newDescribed(t *testing.T) *described {
	t.Helper()
	f := newFixture(t)
	return &described{
		fixture: f, lead: connected(t, f.options(models.Principal{ActorID: "lead", Role: models.RoleIntegrator}, "")),
		a: connected(t, f.agent("codex-worker-a")), b: connected(t, f.agent("codex-worker-b")),
	}
}

type object = map[string]any

func (d *described) create(id string, more object) models.Assignment {
	d.t.Helper()
	arguments := object{"assignment_id": id, "title": "Do " + id, "base_revision": 0, "team_id": "crew"}
	maps.Copy(arguments, more)
	var out struct{ Assignment models.Assignment }
	d.lead.must(&out, "create_assignment", arguments)
	return out.Assignment
}

func (d *described) take(c *client, id string) claimOut {
	d.t.Helper()
	var out claimOut
	c.must(&out, "claim_assignment", object{"assignment_id": id, "base_revision": d.read(id).Revision})
	return out
}

// call names one call of a tool.
type call struct {
	tool      string
	arguments object
}

func (d *described) event(c *client, tool string, arguments object) models.Event {
	d.t.Helper()
	var out struct{ Event models.Event }
	c.must(&out, tool, arguments)
	return out.Event
}

// refusedAlike demands the code from every call, and that none left an event or a
// change.
func (d *described) refusedAlike(c *client, code, id string, calls ...call) {
	d.t.Helper()
	events, before := len(d.events(id)), d.read(id)
	for _, wanted := range calls {
		c.refused(code, wanted.tool, wanted.arguments)
	}
	if after := d.read(id); len(d.events(id)) != events || after.Revision != before.Revision || after.Status != before.Status {
		d.t.Fatalf("refused calls changed %s: %+v", id, after)
	}
}

func (d *described) changes(id string, revision int) (claim, report, handoff call) {
	return call{"claim_assignment", object{"assignment_id": id, "base_revision": revision}},
		call{"append_event", object{"assignment_id": id, "event_type": "progress", "status": "observed", "base_revision": revision, "payload": object{}}},
		call{"submit_handoff", object{"assignment_id": id, "base_revision": revision, "payload": object{"summary": "done"}}}
}

func (d *described) handOff(c *client, id string) models.Event {
	d.t.Helper()
	return d.event(c, "submit_handoff", object{"assignment_id": id, "base_revision": d.read(id).Revision, "payload": object{"summary": "done"}})
}

func (d *described) decision(handoff models.Event, status string) call {
	arguments := object{"event_id": handoff.ID, "base_revision": d.read(handoff.AssignmentID).Revision, "head_commit": head, "decision_note": "looked at it"}
	if status != "" {
		arguments["decision_status"] = status
		return call{"review_event", arguments}
	}
	return call{"accept_event", arguments}
}

func (d *described) lane(id string) string {
	d.t.Helper()
	var board ledger.Board
	d.lead.must(&board, "get_team_board", object{"team_id": "crew"})
	for lane, list := range board.Lanes {
		if slices.ContainsFunc(list, func(a models.Assignment) bool { return a.ID == id }) {
			return lane
		}
	}
	return ""
}

func (d *described) run(id string) ledger.RunDetail {
	d.t.Helper()
	var out runOut
	d.lead.must(&out, "get_run_detail", object{"run_id": id})
	return out.Run
}

func (d *described) pending() []string {
	d.t.Helper()
	var out pendingReviewsOut
	d.lead.must(&out, "list_pending_reviews", object{})
	ids := []string{}
	for _, p := range out.PendingReviews {
		ids = append(ids, p.Event.ID)
	}
	return ids
}

func (d *described) snapshot() models.Snapshot {
	d.t.Helper()
	var s models.Snapshot
	d.lead.must(&s, "get_snapshot", object{})
	return s
}

func (d *described) red() int {
	d.t.Helper()
	var b ledger.AttentionBoard
	d.lead.must(&b, "get_attention_board", object{"team_id": "crew"})
	return b.Counts.Red
}

func want[T comparable](t *testing.T, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Fatalf("%s: have %v, want %v", what, have, want)
	}
}

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

func TestDescribed09Questions(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	d.create("other", nil)
	run, other := d.take(d.a, "task").Run, d.take(d.b, "other").Run
	beat := d.event(d.a, "heartbeat_run", object{"run_id": run.ID, "summary": "reading"})
	ask := d.event(d.a, "request_intervention", object{"run_id": run.ID, "prompt": "Which?", "intervention_kind": "decision", "decision_packet": object{"options": []string{"a", "b"}}})
	theirs := d.event(d.b, "request_intervention", object{"run_id": other.ID, "prompt": "And I?", "intervention_kind": "decision"})
	want(t, "lane", d.lane("task"), "awaiting_human")
	want(t, "red", d.red(), 2)
	person := connected(t, d.person())
	answer := func(id any, run string) call {
		return call{"respond_intervention", object{"reviewed_event_id": id, "response": "a", "run_id": run}}
	}
	d.refusedAlike(person, "INVALID_ARGUMENT", "task", answer(nil, run.ID), answer(theirs.ID, run.ID),
		call{"respond_intervention", object{"response": "a", "run_id": run.ID}}, answer("evt_none", run.ID), answer(beat.ID, run.ID))
	d.refusedAlike(person, "NOT_FOUND", "task", call{"respond_intervention", object{"reviewed_event_id": beat.ID, "response": "a"}})
	d.event(person, "respond_intervention", answer(ask.ID, run.ID).arguments)
	want(t, "lane", d.lane("task"), "running")
	want(t, "red", d.red(), 1)
	d.refusedAlike(person, "INVALID_ARGUMENT", "task", answer(ask.ID, run.ID))
}

func TestDescribed10HandoffAndAcceptance(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	handoff := d.handOff(d.a, "task")
	want(t, "lane", d.lane("task"), "awaiting_review")
	want(t, "run", d.run(run.ID).Status, models.RunCompletedGatePassed)
	want(t, "pending", slices.Equal(d.pending(), []string{handoff.ID}), true)
	_, offered := d.a.list()["accept_event"]
	want(t, "an agent may accept", offered, false)
	accept := d.decision(handoff, "")
	d.event(d.lead, accept.tool, accept.arguments)
	want(t, "lane", d.lane("task"), "accepted")
	want(t, "run ended", d.run(run.ID).EndedAt != nil, true)
	want(t, "pending", len(d.pending()), 0)
	want(t, "in the snapshot", d.snapshot().ActiveAssignments["task"].AcceptedEventID, handoff.ID)
	claim, report, again := d.changes("task", d.read("task").Revision)
	d.refusedAlike(d.a, "INVALID_ARGUMENT", "task", claim, report, again, call{"heartbeat_run", object{"run_id": run.ID, "summary": "x"}})
}

func TestDescribed11NeedsFix(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	fix := d.decision(d.handOff(d.a, "task"), "needs_fix")
	d.event(d.lead, fix.tool, fix.arguments)
	want(t, "lane", d.lane("task"), "needs_fix")
	want(t, "pending", len(d.pending()), 0)
	_, report, handoff := d.changes("task", d.read("task").Revision)
	d.refusedAlike(d.a, "INVALID_ARGUMENT", "task", report, handoff)
	want(t, "attempt", d.take(d.a, "task").Run.Attempt, 2)
	want(t, "old run", d.run(run.ID).Status, models.RunCompletedGateFailed)
}

// The described ledger let evidence decide the whole assignment; here a handoff
// alone waits for a decision.
func TestDescribed12OnlyHandoffsAreDecided(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	beat := d.event(d.a, "heartbeat_run", object{"run_id": run.ID, "summary": "x"})
	var reports []models.Event
	for _, status := range []string{"observed", "completed_gate_passed", "completed_gate_failed"} {
		reports = append(reports, d.event(d.a, "append_event", object{
			"assignment_id": "task", "event_type": "evidence_report", "status": status, "base_revision": d.read("task").Revision, "payload": object{},
		}))
	}
	want(t, "pending", len(d.pending()), 0)
	for _, e := range append(reports, beat, d.events("task")[0], d.events("task")[1]) {
		d.refusedAlike(d.lead, "INVALID_ARGUMENT", "task", d.decision(e, ""), d.decision(e, "needs_fix"))
	}
	s := d.snapshot()
	want(t, "accepted", len(s.ActiveAssignments)+len(s.AcceptedEvents), 0)
}

func TestDescribed13CancelAndSupersede(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	run := d.take(d.a, "task").Run
	cancel := func(id string, revision int) call {
		return call{"cancel_assignment", object{"assignment_id": id, "base_revision": revision, "reason": "changed our mind"}}
	}
	d.refusedAlike(d.lead, "STALE_REVISION", "task", cancel("task", 1))
	_, offered := d.a.list()["cancel_assignment"]
	want(t, "an agent may cancel", offered, false)
	var out assignmentOut
	d.lead.must(&out, "cancel_assignment", cancel("task", 2).arguments)
	want(t, "cancelled", out.Assignment.Status == models.AssignmentCancelled && out.Assignment.ClaimedBy == "" && out.Assignment.LeaseExpiresAt == nil, true)
	want(t, "run", d.run(run.ID).Status, models.RunCancelled)
	events := d.events("task")
	want(t, "audit event", events[len(events)-1].Type, models.EventAssignmentCancelled)
	claim, _, _ := d.changes("task", 3)
	d.refusedAlike(d.lead, "INVALID_ARGUMENT", "task", cancel("task", 3))
	d.refusedAlike(d.a, "INVALID_ARGUMENT", "task", claim)
	d.create("old", nil)
	d.create("heir", nil)
	supersede := func(by string) call {
		return call{"supersede_assignment", object{"assignment_id": "old", "superseded_by": by, "base_revision": 1, "reason": "wider"}}
	}
	d.refusedAlike(d.lead, "INVALID_ARGUMENT", "old", supersede("old"))
	d.refusedAlike(d.lead, "NOT_FOUND", "old", supersede("none"))
	d.lead.must(&out, "supersede_assignment", supersede("heir").arguments)
	want(t, "superseded", out.Assignment.SupersededBy == "heir" && out.Assignment.Metadata["superseded_by"] == "heir", true)
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

func TestDescribed17OverIsOver(t *testing.T) {
	d := newDescribed(t)
	for _, id := range []string{"superseded", "cancelled", "accepted", "heir"} {
		d.create(id, nil)
	}
	var out assignmentOut
	d.take(d.a, "superseded")
	leftover := d.handOff(d.a, "superseded")
	d.lead.must(&out, "supersede_assignment", object{"assignment_id": "superseded", "superseded_by": "heir", "base_revision": 3, "reason": "x"})
	claim, report, handoff := d.changes("superseded", out.Assignment.Revision)
	d.refusedAlike(d.a, "INVALID_ARGUMENT", "superseded", claim, report, handoff)
	d.refusedAlike(d.lead, "STALE_REVISION", "superseded", d.decision(leftover, ""))

	d.take(d.a, "cancelled")
	leftover = d.handOff(d.a, "cancelled")
	d.lead.must(&out, "cancel_assignment", object{"assignment_id": "cancelled", "base_revision": 3, "reason": "x"})
	d.refusedAlike(d.lead, "STALE_REVISION", "cancelled", d.decision(leftover, ""), d.decision(leftover, "integrator_rejected"))

	d.take(d.a, "accepted")
	report.arguments["assignment_id"], report.arguments["event_type"], report.arguments["base_revision"] = "accepted", "evidence_report", 2
	evidence := d.event(d.a, report.tool, report.arguments)
	accept := d.decision(d.handOff(d.a, "accepted"), "")
	d.event(d.lead, accept.tool, accept.arguments)
	d.refusedAlike(d.lead, "INVALID_ARGUMENT", "accepted", d.decision(evidence, "integrator_rejected"))
	want(t, "pending", len(d.pending()), 0)
}

func TestDescribed18NobodyDecidesOwnWork(t *testing.T) {
	d := newDescribed(t)
	d.create("task", nil)
	d.take(d.a, "task")
	d.exec("UPDATE runs SET lease_expires_at = 1")
	d.exec("UPDATE assignments SET lease_expires_at = 1")
	d.take(d.b, "task")
	handoff := d.handOff(d.b, "task")
	for _, actor := range []string{"codex-worker-a", "codex-worker-b"} { // whoever ran any attempt, in any role
		for _, role := range []models.Role{models.RoleIntegrator, models.RoleHuman} {
			c := connected(t, d.options(models.Principal{ActorID: actor, Role: role}, ""))
			d.refusedAlike(c, "FORBIDDEN", "task", d.decision(handoff, ""), d.decision(handoff, "integrator_rejected"))
		}
	}
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
