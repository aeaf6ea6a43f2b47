package live

import (
	"slices"
	"strings"
	"testing"

	"coxswain/models/ledger"
)

// listed is a model whose requests list the tools of MCP servers one by one.
const listed = "mock-model"

// One assignment goes from created to accepted, by a worker's thread and an
// integrator's (seed 000, acceptance: a worker and an integrator finish a card).
func TestLiveHandoffIsAcceptedByAnotherThread(t *testing.T) {
	t.Parallel()
	r := newRig(t, agents(func(t turn) reply { return work(t) }))
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	doc := r.up("--model", listed, "--exit-when-done").finish()
	wantStatus(t, doc, "accepted", "one")
	l := r.ledger()
	r.toldOnce(l)
	r.intact()
	wantAll(t, "the worker's file", string(read(t, r.repo+"/"+outFile("one"))), "made by one")

	run := r.onlyRun(l, "one")
	found := r.histories()
	if len(found) != 2 {
		t.Fatalf("the model was asked by %d threads, want 2", len(found))
	}
	worker := found[run.SessionRef]
	delete(found, run.SessionRef)
	for _, integrator := range found {
		wantIntegrator(t, integrator, run)
	}
	wantWorker(t, worker, run)
	r.wantOneStream()
	r.wantRunShown(run)
}

// wantWorker checks what the worker's thread was told and offered.
func wantWorker(t *testing.T, h history, run ledger.RunDetail) {
	t.Helper()
	if len(h.user) != 1 {
		t.Fatalf("the worker's thread holds %d messages, want 1: %q", len(h.user), h.user)
	}
	wantAll(t, "the worker's prompt", h.user[0], "codex-worker-one", "`docs/plan.md#Purpose`", "`"+outFile("one")+"`", criterion("one"),
		run.ID, run.BaseCommit, "on branch `main`")
	wantAll(t, "the worker's instructions", h.developer, agentsText, "codex-worker-one")
	if !slices.Contains(h.tools, "submit_handoff") || !slices.Contains(h.tools, "get_assignment_detail") {
		t.Errorf("the worker is offered %v", h.tools)
	}
	for _, tool := range h.tools {
		if strings.Contains(tool, "accept") || strings.Contains(tool, "reject") || strings.Contains(tool, "review") || strings.HasSuffix(tool, "_assignment") {
			t.Errorf("the worker is offered %s", tool)
		}
	}
}

// wantIntegrator checks the same of the integrator's.
func wantIntegrator(t *testing.T, h history, run ledger.RunDetail) {
	t.Helper()
	if len(h.user) != 1 {
		t.Fatalf("the integrator's thread holds %d messages, want 1: %q", len(h.user), h.user)
	}
	wantAll(t, "the integrator's prompt", h.user[0], "codex-integrator-"+teamID, run.ID, run.HeadCommit, "`"+outFile("one")+"`")
	wantAll(t, "the integrator's instructions", h.developer, agentsText, "codex-integrator-"+teamID)
	if !slices.Contains(h.tools, "accept_event") || !slices.Contains(h.tools, "list_pending_reviews") {
		t.Errorf("the integrator is offered %v", h.tools)
	}
	for _, tool := range []string{"submit_handoff", "heartbeat_run", "claim_assignment", "respond_intervention"} {
		if slices.Contains(h.tools, tool) {
			t.Errorf("the integrator is offered %s", tool)
		}
	}
}

// wantOneStream checks that each prompt opened one turn only: the model saw it
// without results once.
func (r *rig) wantOneStream() {
	r.t.Helper()
	opened := map[string]int{}
	for _, q := range r.model.Requests() {
		if len(q.Outputs) == 0 {
			opened[q.User]++
		}
	}
	for prompt, n := range opened {
		if n != 1 {
			r.t.Errorf("%d turns began with %.80q", n, prompt)
		}
	}
}

// wantRunShown checks the document of `cox run show`.
func (r *rig) wantRunShown(run ledger.RunDetail) {
	r.t.Helper()
	shown := object(r.must("run", "show", run.ID), "run")
	for key, want := range map[string]string{
		"session_kind": "codex_thread", "session_ref": run.SessionRef, "interactive_url": "codex://threads/" + run.SessionRef,
		"worktree_path": r.repo, "branch": "main", "base_commit": r.git("rev-parse", "HEAD"), "head_commit": r.git("rev-parse", "HEAD"),
		"end_reason": run.EndReason,
	} {
		if got := text(shown, key); got != want || want == "" {
			r.t.Errorf("run show: %s is %q, want %q", key, got, want)
		}
	}
	tokens, _ := object(shown, "tokens")["total"].(float64)
	if asked := len(r.requests("codex-worker-one`.\nYour assignment")); tokens != float64(15*asked) {
		r.t.Errorf("run show: %v tokens after %d requests of 15", tokens, asked)
	}
	cursor := object(object(shown, "metadata"), "communication_cursor")
	turns, messages := list(shown, "turns"), list(shown, "messages")
	if len(turns) != 1 || len(messages) != 1 {
		r.t.Fatalf("run show: %d turns, %d messages, want 1 and 1", len(turns), len(messages))
	}
	for key, want := range map[string]string{
		"last_seen_turn_id": text(turns[0], "turn_id"), "last_completed_turn_id": text(turns[0], "turn_id"),
		"last_client_user_message_id": text(messages[0], "message_id"), "last_command_id": text(messages[0], "command_id"),
	} {
		if got := text(cursor, key); got != want || want == "" {
			r.t.Errorf("run show: cursor %s is %q, want %q", key, got, want)
		}
	}
	if text(messages[0], "state") != "delivered" || text(messages[0], "turn_id") != text(turns[0], "turn_id") {
		r.t.Errorf("run show: message %v", messages[0])
	}
	adapter := object(object(shown, "metadata"), "adapter")
	for key, want := range map[string]string{"kind": "codex_app_server", "version": codexVersion, "transport": "unix"} {
		if got := text(adapter, key); got != want {
			r.t.Errorf("run show: adapter %s is %q, want %q", key, got, want)
		}
	}
}
