package live

import (
	"strings"
	"testing"
)

// A worker on the real Codex briefs people, raises attention and asks; a person
// sees all three by the commands while it waits, and none asks for attention any
// more when the work is accepted.
func TestLiveBriefsAndAttentionReachPeople(t *testing.T) {
	t.Parallel()
	r := newRig(t, agents(func(t turn) reply {
		switch n := t.at(); {
		case strings.Contains(t.User, "The answer of"):
			return work(t)
		case n == 0:
			return t.tool("heartbeat_run", map[string]any{"summary": "reading"})
		case n == 1:
			return t.tool("checkpoint_run", map[string]any{
				"client_update_id": "brief-1", "source_event_sequence": object(t.document(0), "event")["sequence"], "brief": map[string]any{
					"schema_version": 1, "current_goal": "The file is written", "current_stage": "waiting", "recent_progress": []string{"read the plan"},
					"decisions_and_risks": []any{map[string]any{"risk": "two names fit"}},
					"human_intervention":  map[string]any{"needed": true, "blocking": true}, "next_steps": []string{"write it"}, "context_refs": []any{},
				},
			})
		case n == 2:
			return t.tool("raise_attention", map[string]any{
				"client_update_id": "look-1", "level": "yellow", "target": "human", "dedupe_key": "names", "reason_code": "ambiguous",
				"why_now": "two names fit the plan", "recommended_action": "settle the plan",
				"source_event_ids": []any{object(t.document(1), "event")["event_id"]},
			})
		case n == 3:
			return t.tool("request_intervention", map[string]any{"prompt": "Which name shall it have?", "intervention_kind": "decision"})
		}
		return sayDone
	}))
	r.team()
	r.assign("asking", "Write one file", outFile("asking"))
	s := r.up("--exit-when-done")
	l := r.made()
	q := r.question(l, "asking")

	brief := object(r.must("brief", "show", q.RunID), "brief")
	if text(brief, "freshness") != "fresh" || text(object(brief, "brief"), "current_goal") != "The file is written" {
		t.Errorf("the brief is %v", brief)
	}
	board := r.must("attention", "board", "--team", teamID)
	items := list(board, "items")
	if counts := object(board, "counts"); counts["red"] != 1.0 || counts["yellow"] != 1.0 || len(items) != 2 {
		t.Fatalf("the board is %v", board)
	}
	if text(items[0], "event_id") != q.ID || text(items[1], "why_now") != "two names fit the plan" || text(items[1], "run_id") != q.RunID {
		t.Errorf("the items are %v", items)
	}

	r.respond(q, "The second")
	wantStatus(t, s.finish(), "accepted", "asking")
	if left := list(r.must("attention", "board", "--team", teamID, "--green"), "items"); len(left) != 0 {
		t.Errorf("accepted work still asks for attention: %v", left)
	}
	accepted := object(object(r.must("snapshot", "show"), "snapshot"), "active_assignments")
	if text(object(accepted, "asking"), "status") != "integrator_accepted" {
		t.Errorf("the snapshot holds %v", accepted)
	}
	r.toldOnce(l)
	r.intact()
}
