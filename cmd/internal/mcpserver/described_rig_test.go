package mcpserver

import (
	"maps"
	"slices"
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
