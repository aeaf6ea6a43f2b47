package mcpserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

func TestAWorkerHandsItsWorkOff(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, run := f.worker("task", "worker-1")
	c := connected(t, o)

	var detail struct {
		Assignment models.Assignment
		Runs       []models.Run
	}
	c.must(&detail, "get_assignment_detail", nil)
	if detail.Assignment.ID != "task" || len(detail.Runs) != 1 {
		t.Fatalf("want its own assignment, have %+v", detail)
	}
	var beat struct{ Event models.Event }
	c.must(&beat, "heartbeat_run", map[string]any{"summary": "reading", "actor_id": "worker-1", "actor_role": "agent", "run_id": run.ID})
	if beat.Event.Type != models.EventRunHeartbeat || beat.Event.RunID != run.ID {
		t.Fatalf("want a heartbeat of %s, have %+v", run.ID, beat.Event)
	}
	c.must(&beat, "append_event", map[string]any{"event_type": "progress", "status": "observed", "base_revision": detail.Assignment.Revision, "payload": map[string]any{"done": 1}})
	revision := f.read("task").Revision
	if revision != detail.Assignment.Revision+1 {
		t.Fatalf("an event raises the revision by one: %d to %d", detail.Assignment.Revision, revision)
	}
	var bound struct{ Run models.Run }
	c.must(&bound, "record_run_binding", map[string]any{"binding_patch": map[string]any{"adapter": map[string]any{"kind": "fake"}}})
	if adapter, _ := bound.Run.Metadata["adapter"].(map[string]any); adapter["kind"] != "fake" {
		t.Fatalf("the patch is not in %+v", bound.Run.Metadata)
	}
	handoff := map[string]any{"base_revision": revision, "payload": map[string]any{"summary": "done", "head_commit": "0000000"}}
	c.refused("INVALID_ARGUMENT", "submit_handoff", handoff) // another commit than HEAD's
	handoff["payload"] = map[string]any{"summary": "done"}
	c.must(&beat, "submit_handoff", handoff)
	if beat.Event.Payload["head_commit"] != head {
		t.Fatalf("want the commit of HEAD in the event, have %+v", beat.Event)
	}
	a := f.read("task")
	if a.Status != models.AssignmentAwaitingReview || a.HandoffEventID != beat.Event.ID {
		t.Fatalf("want an undecided handoff, have %+v", a)
	}
	stored, err := f.l.Run(context.Background(), run.ID)
	f.check(err)
	if stored.HeadCommit != head || stored.Status != models.RunCompletedGatePassed {
		t.Fatalf("want the commit of HEAD in the run, have %+v", stored)
	}
	handoff["base_revision"] = a.Revision
	if out := c.refused("INVALID_ARGUMENT", "submit_handoff", handoff); out.Error.Next != "get_assignment_detail task" {
		t.Fatalf("want a tool as the next step, have %s", out.raw)
	}
	reviews, err := f.l.PendingReviews(context.Background(), ledger.ReviewFilter{TeamID: "crew"})
	f.check(err)
	if len(reviews) != 1 || reviews[0].HeadCommit != head {
		t.Fatalf("want one pending review of %s, have %+v", head, reviews)
	}
}

func TestAWorkerReachesOnlyItsOwn(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	f.assignment("other", "crew")
	o, _ := f.worker("task", "worker-1")
	otherRun := f.claim("other", "worker-2")
	before := len(f.events("other")) + len(f.events("task"))
	c := connected(t, o)
	revision := f.read("other").Revision
	payload := map[string]any{"summary": "done"}
	for name, calls := range map[string]struct {
		tool      string
		arguments map[string]any
	}{
		"read":         {"get_assignment_detail", map[string]any{"assignment_id": "other"}},
		"read run":     {"get_run_detail", map[string]any{"run_id": otherRun.ID}},
		"heartbeat":    {"heartbeat_run", map[string]any{"run_id": otherRun.ID, "summary": "x"}},
		"bind":         {"record_run_binding", map[string]any{"run_id": otherRun.ID, "binding_patch": map[string]any{"a": 1}}},
		"ask":          {"request_intervention", map[string]any{"run_id": otherRun.ID, "prompt": "?", "intervention_kind": "decision"}},
		"append":       {"append_event", map[string]any{"assignment_id": "other", "event_type": "progress", "status": "observed", "base_revision": revision, "payload": payload}},
		"hand off":     {"submit_handoff", map[string]any{"assignment_id": "other", "base_revision": revision, "payload": payload}},
		"other actor":  {"heartbeat_run", map[string]any{"actor_id": "worker-2", "summary": "x"}},
		"another role": {"heartbeat_run", map[string]any{"actor_role": "integrator", "summary": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			if out := c.refused("FORBIDDEN", calls.tool, calls.arguments); out.Error.Next == "" {
				t.Fatalf("want a next step in %s", out.raw)
			}
		})
	}
	if after := len(f.events("other")) + len(f.events("task")); after != before {
		t.Fatalf("refused calls left %d events", after-before)
	}
	c.t = t
	if answer := c.ask("tools/call", map[string]any{"name": "claim_assignment", "arguments": map[string]any{"assignment_id": "other", "base_revision": revision}}); answer.Error == nil {
		t.Fatal("a worker must have no tool to claim")
	}
}

func TestTheThreadIsChecked(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, _ := f.worker("task", "worker-1")
	c := connected(t, o)
	arguments := map[string]any{"summary": "at work"}
	c.refused("FORBIDDEN", "heartbeat_run", arguments, map[string]any{"threadId": "thread-of-a-child"})
	for name, meta := range map[string]map[string]any{
		"its own": {"threadId": "thread-worker-1", "callId": "1", "x-codex-turn-metadata": map[string]any{"turn_id": "t1"}}, "none": {},
	} {
		if out := c.tool("heartbeat_run", arguments, meta); !out.OK {
			t.Fatalf("thread %s: %s", name, out.raw)
		}
	}
	f.exec("UPDATE bindings SET thread_id = ''") // not started yet
	if out := c.tool("heartbeat_run", arguments, map[string]any{"threadId": "any"}); !out.OK {
		t.Fatalf("a binding without a thread: %s", out.raw)
	}
}

func TestARevokedTokenIsRefusedAtTheNextCall(t *testing.T) {
	for name, revoke := range map[string]func(*fixture){
		"generation raised": func(f *fixture) {
			f.exec("UPDATE bindings SET generation = 2, token_hash = ?", tokenHash(f.l.BindingToken("bind-worker-1", 2)))
		},
		"closed": func(f *fixture) { f.exec("UPDATE bindings SET status = 'closed'") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.assignment("task", "crew")
			o, _ := f.worker("task", "worker-1")
			c := connected(t, o)
			if out := c.tool("heartbeat_run", map[string]any{"summary": "before"}); !out.OK {
				t.Fatalf("before: %s", out.raw)
			}
			revoke(f)
			events := len(f.events("task"))
			c.refused("FORBIDDEN", "heartbeat_run", map[string]any{"summary": "after"})
			c.refused("FORBIDDEN", "get_assignment_detail", nil)
			if after := len(f.events("task")); after != events {
				t.Fatalf("the revoked token wrote %d events", after-events)
			}
		})
	}
}

func TestAWorkerWithoutAnOpenRunIsRefused(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, run := f.worker("task", "worker-1")
	c := connected(t, o)
	f.exec("UPDATE runs SET ended_at = 1 WHERE id = ?", run.ID)
	for tool, arguments := range map[string]map[string]any{
		"heartbeat_run": {"summary": "x"}, "get_run_detail": {}, "request_intervention": {"prompt": "?", "intervention_kind": "decision"},
	} {
		if out := c.refused("FORBIDDEN", tool, arguments); !strings.Contains(out.Error.Message, "no open run") {
			t.Fatalf("%s: %s", tool, out.raw)
		}
	}
}

func TestASecretIsRefusedAndNowhereRepeated(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, _ := f.worker("task", "worker-1")
	c := connected(t, o)
	secret := "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEowIBAAKCAQEAx7\n-----END RSA PRIVATE " + "KEY-----"
	a := f.read("task")
	out := c.refused("SECRET_DETECTED", "submit_handoff", map[string]any{"base_revision": a.Revision, "payload": map[string]any{"summary": "done", "log": secret}})
	if !strings.Contains(out.Error.Message, "payload") || strings.Contains(string(out.raw), "MIIEowIBAAKCAQEAx7") {
		t.Fatalf("want the field and not the value: %s", out.raw)
	}
	if strings.Contains(c.logs.String(), "MIIEowIBAAKCAQEAx7") {
		t.Fatal("the log repeats the secret")
	}
	if now := f.read("task"); now.HandoffEventID != "" {
		t.Fatalf("the handoff was recorded: %+v", now)
	}
}

func TestAHandoffNeedsASummaryAndAReadableHead(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, _ := f.worker("task", "worker-1")
	o.Head = func(context.Context, models.Workspace) (string, error) { return "", errors.New("HEAD is unborn") }
	c := connected(t, o)
	revision := f.read("task").Revision
	for _, payload := range []map[string]any{{}, {"summary": "  "}, {"summary": 7}} {
		if out := c.refused("INVALID_ARGUMENT", "submit_handoff", map[string]any{"base_revision": revision, "payload": payload}); !strings.Contains(out.Error.Message, "summary") {
			t.Fatalf("%v: %s", payload, out.raw)
		}
	}
	arguments := map[string]any{"base_revision": revision, "payload": map[string]any{"summary": "done"}}
	if out := c.refused("INVALID_ARGUMENT", "submit_handoff", arguments); out.Error.Details["reason"] != "HEAD is unborn" {
		t.Fatalf("want the reason: %s", out.raw)
	}
	if a := f.read("task"); a.HandoffEventID != "" {
		t.Fatalf("a refused handoff was recorded: %+v", a)
	}
	f.exec("UPDATE workspaces SET git_common_dir = ''")
	if out := c.tool("submit_handoff", arguments); !out.OK {
		t.Fatalf("a workspace without Git has no commit to read: %s", out.raw)
	}
}

func TestAWorkerAsksOneQuestionAtATime(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, run := f.worker("task", "worker-1")
	c := connected(t, o)
	question := map[string]any{"prompt": "Which colour?", "intervention_kind": "decision", "decision_packet": map[string]any{"options": []any{"red", "blue"}}}
	var asked struct{ Event models.Event }
	c.must(&asked, "request_intervention", question)
	out := c.tool("request_intervention", question)
	if out.OK {
		t.Fatal("a second question was taken")
	}
	open, err := f.l.Interventions(context.Background(), ledger.InterventionFilter{RunID: run.ID})
	f.check(err)
	if len(open) != 1 || open[0].ID != asked.Event.ID {
		t.Fatalf("want one question, have %+v", open)
	}
}

func TestRequestsAreReplayed(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, _ := f.worker("task", "worker-1")
	c := connected(t, o)
	arguments := map[string]any{
		"event_type": "progress", "status": "observed", "base_revision": f.read("task").Revision,
		"payload": map[string]any{"step": 1}, "request_id": "req-1",
	}
	var first, second struct{ Event models.Event }
	c.must(&first, "append_event", arguments)
	again := c.tool("append_event", arguments)
	mustDecode(t, again.raw, &second)
	if !again.Replayed || second.Event.ID != first.Event.ID {
		t.Fatalf("want the first answer again, have %s", again.raw)
	}
	arguments["payload"] = map[string]any{"step": 2}
	c.refused("IDEMPOTENCY_CONFLICT", "append_event", arguments)
}

func TestAStaleRevisionSaysWhatToDo(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	o, _ := f.worker("task", "worker-1")
	out := connected(t, o).refused("STALE_REVISION", "append_event",
		map[string]any{"event_type": "progress", "status": "observed", "base_revision": 1, "payload": map[string]any{}})
	if !strings.Contains(out.Error.Next, "get_assignment_detail") || out.Error.Details["revision"] == nil {
		t.Fatalf("want the tool to read and the revision: %s", out.raw)
	}
}
