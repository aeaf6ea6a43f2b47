package mcpserver

import (
	"context"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

// handedOff makes an assignment that waits for review and returns its handoff.
func (f *fixture) handedOff(id, team, actor string) models.Event {
	f.t.Helper()
	f.assignment(id, team)
	f.claim(id, actor)
	e, err := f.l.SubmitHandoff(context.Background(), ledger.As(models.Principal{ActorID: actor, Role: models.RoleAgent}),
		ledger.HandoffRequest{AssignmentID: id, HeadCommit: head, Payload: map[string]any{"summary": "done"}})
	f.check(err)
	return e
}

func TestAnIntegratorDecidesWhatItReviewed(t *testing.T) {
	f := newFixture(t)
	first, second := f.handedOff("first", "crew", "worker-1"), f.handedOff("second", "crew", "worker-2")
	third := f.handedOff("third", "crew", "worker-3")
	c := connected(t, f.integrator("crew"))

	var pending struct {
		PendingReviews []models.PendingReview `json:"pending_reviews"`
	}
	c.must(&pending, "list_pending_reviews", nil)
	if len(pending.PendingReviews) != 3 || pending.PendingReviews[0].HeadCommit != head {
		t.Fatalf("want three reviews of %s, have %+v", head, pending)
	}
	decision := func(e models.Event, id string) map[string]any {
		return map[string]any{"event_id": e.ID, "base_revision": f.read(id).Revision, "head_commit": head, "decision_note": "checked"}
	}
	moved := decision(first, "first")
	moved["head_commit"] = "0000000000000000000000000000000000000000"
	if out := c.tool("accept_event", moved); out.OK {
		t.Fatal("a decision about another commit was taken")
	}
	if a := f.read("first"); a.Status != models.AssignmentAwaitingReview {
		t.Fatalf("the refused decision changed %+v", a)
	}
	var decided struct{ Event models.Event }
	c.must(&decided, "accept_event", decision(first, "first"))
	c.must(&decided, "reject_event", decision(second, "second"))
	fix := decision(third, "third")
	fix["decision_status"] = "later"
	c.refused("INVALID_ARGUMENT", "review_event", fix)
	fix["decision_status"] = "needs_fix"
	c.must(&decided, "review_event", fix)
	for id, want := range map[string]models.AssignmentStatus{
		"first": models.AssignmentAccepted, "second": models.AssignmentRejected, "third": models.AssignmentNeedsFix,
	} {
		if a := f.read(id); a.Status != want {
			t.Errorf("%s is %s, want %s", id, a.Status, want)
		}
	}
}

func TestAnIntegratorPlansFollowUps(t *testing.T) {
	f := newFixture(t)
	c := connected(t, f.integrator("crew"))
	var made struct{ Assignment models.Assignment }
	for _, id := range []string{"next", "better"} {
		c.must(&made, "create_assignment", map[string]any{"assignment_id": id, "title": "Go on", "base_revision": 0})
		if made.Assignment.TeamID != "crew" || made.Assignment.WorkspaceID != "shop" {
			t.Fatalf("want its own team and workspace, have %+v", made.Assignment)
		}
	}
	c.must(&made, "supersede_assignment", map[string]any{"assignment_id": "next", "superseded_by": "better", "base_revision": 1, "reason": "wider"})
	if made.Assignment.Status != models.AssignmentSuperseded || made.Assignment.SupersededBy != "better" {
		t.Fatalf("want it superseded, have %+v", made.Assignment)
	}
	c.must(&made, "cancel_assignment", map[string]any{"assignment_id": "better", "base_revision": 1, "reason": "not wanted"})
	if made.Assignment.Status != models.AssignmentCancelled {
		t.Fatalf("want it cancelled, have %+v", made.Assignment)
	}
}

func TestAnIntegratorSeesItsOwnTeamOnly(t *testing.T) {
	f := newFixture(t)
	f.team("rivals")
	handoff := f.handedOff("theirs", "rivals", "worker-9")
	revision := f.read("theirs").Revision
	f.assignment("running", "rivals")
	run := f.claim("running", "worker-8")
	c := connected(t, f.integrator("crew"))

	var pending struct {
		PendingReviews []models.PendingReview `json:"pending_reviews"`
	}
	c.must(&pending, "list_pending_reviews", nil)
	if len(pending.PendingReviews) != 0 {
		t.Fatalf("reviews of another team: %+v", pending)
	}
	decision := map[string]any{"event_id": handoff.ID, "base_revision": revision, "head_commit": head, "decision_note": "x"}
	for name, call := range map[string]struct {
		tool      string
		arguments map[string]any
	}{
		"reviews":    {"list_pending_reviews", map[string]any{"team_id": "rivals"}},
		"questions":  {"list_interventions", map[string]any{"team_id": "rivals"}},
		"board":      {"get_team_board", map[string]any{"team_id": "rivals"}},
		"assignment": {"get_assignment_detail", map[string]any{"assignment_id": "theirs"}},
		"run":        {"get_run_detail", map[string]any{"run_id": run.ID}},
		"accept":     {"accept_event", decision},
		"reject":     {"reject_event", decision},
		"create":     {"create_assignment", map[string]any{"assignment_id": "new", "title": "x", "base_revision": 0, "team_id": "rivals"}},
		"cancel":     {"cancel_assignment", map[string]any{"assignment_id": "theirs", "base_revision": revision, "reason": "x"}},
		"supersede":  {"supersede_assignment", map[string]any{"assignment_id": "theirs", "superseded_by": "running", "base_revision": revision, "reason": "x"}},
		"ask":        {"request_intervention", map[string]any{"run_id": run.ID, "prompt": "?", "intervention_kind": "decision"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			c.refused("FORBIDDEN", call.tool, call.arguments)
		})
	}
	if a := f.read("theirs"); a.Revision != revision {
		t.Fatalf("a refused call changed %+v", a)
	}
}
