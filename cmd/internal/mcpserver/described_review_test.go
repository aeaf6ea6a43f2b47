package mcpserver

import (
	"slices"
	"testing"

	"coxswain/models"
)

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
