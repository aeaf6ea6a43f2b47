package crash

import (
	"encoding/json"
	"fmt"
	"strings"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
)

// model plays all agents behind a real Codex by the roles of the scene. It keeps no
// state: everything follows from the prompt and the answers since.
func model(q codextest.Request) codextest.Reply {
	if strings.HasPrefix(q.User, "You are Codex integrator actor") {
		return integrate(turn{q})
	}
	return work(turn{q})
}

// turn is one request as an agent sees it.
type turn struct{ codextest.Request }

// id is a call id: unique within a thread, whose history only grows.
func (t turn) id() string {
	input, _ := t.Body["input"].([]any)
	return fmt.Sprintf("call_%d", len(input))
}

func (t turn) tool(name string, args map[string]any) codextest.Reply {
	return codextest.Tool(t.id(), codextest.MCPServerName, name, args)
}

// answer decodes the document that the n-th call of the turn answered and tells
// whether there was one.
func (t turn) answer(n int, out any) bool {
	text := t.Outputs[n]
	start := strings.Index(text, "{")
	return start >= 0 && json.NewDecoder(strings.NewReader(text[start:])).Decode(out) == nil
}

// detail is what get_assignment_detail tells.
type detail struct {
	Assignment models.Assignment `json:"assignment"`
	Events     []models.Event    `json:"events"`
}

func (d detail) has(event string) bool {
	for _, e := range d.Events {
		if e.Type == event {
			return true
		}
	}
	return false
}

// work is a worker's turn, the first one and every later one alike: it looks where
// the assignment stands and goes on from there. A tool that fails ends the turn.
func work(t turn) codextest.Reply {
	n := len(t.Outputs)
	if n == 0 {
		return t.tool("get_assignment_detail", map[string]any{})
	}
	var d detail
	if !t.answer(0, &d) || d.Assignment.ID == "" {
		return codextest.Say("my tools do not answer")
	}
	if s := d.Assignment.Status; s != models.AssignmentClaimed && s != models.AssignmentRunning {
		return codextest.Say("there is nothing for me to do: " + string(s))
	}
	if n == 1 {
		return t.tool("heartbeat_run", map[string]any{"summary": "at work"})
	}
	switch role := roleOf(d.Assignment.ID); {
	case role == cancelled:
		return codextest.Reply{Pause: true}
	case role == asking && !d.has(models.EventInterventionResponded):
		return ask(t, d)
	case role == reminded && strings.Contains(t.User, "Your assignment is "):
		return steps(t, 2, codextest.Exec(t.id(), edit(d.Assignment.ID)), codextest.Say("I leave it at that"))
	}
	return steps(t, 2, codextest.Exec(t.id(), edit(d.Assignment.ID)), handOff(t, d), codextest.Say("handed off"))
}

// steps plays the replies that follow the first answers.
func steps(t turn, first int, replies ...codextest.Reply) codextest.Reply {
	return replies[min(len(t.Outputs)-first, len(replies)-1)]
}

func ask(t turn, d detail) codextest.Reply {
	if d.has(models.EventInterventionRequested) {
		return codextest.Say("my question is still open")
	}
	return steps(t, 2, t.tool("request_intervention", map[string]any{
		"prompt": "May " + d.Assignment.ID + " go on?", "intervention_kind": "question",
	}), codextest.Say("I wait for the answer"))
}

func handOff(t turn, d detail) codextest.Reply {
	summary := "done: " + d.Assignment.ID
	if d.has(models.EventIntegratorReview) {
		summary = fixedSummary
	}
	return t.tool("submit_handoff", map[string]any{"base_revision": d.Assignment.Revision, "payload": map[string]any{"summary": summary}})
}

// fixedSummary is what a handoff says after a review asked for a fix.
const fixedSummary = "the fix is made"

// edit adds an assignment's line once.
func edit(assignmentID string) string {
	line := "made by " + assignmentID
	return fmt.Sprintf("grep -qs '%s' %s || echo '%s' >> %s", line, workFile(assignmentID), line, workFile(assignmentID))
}

// integrate decides every pending handoff by its role.
func integrate(t turn) codextest.Reply {
	n := len(t.Outputs)
	if n == 0 {
		return t.tool("list_pending_reviews", map[string]any{})
	}
	var pending struct {
		Reviews []models.PendingReview `json:"pending_reviews"`
	}
	if !t.answer(0, &pending) {
		return codextest.Say("my tools do not answer")
	}
	if n > len(pending.Reviews) {
		return codextest.Say(fmt.Sprintf("%d handoffs are looked at", len(pending.Reviews)))
	}
	return decide(t, pending.Reviews[n-1])
}

func decide(t turn, p models.PendingReview) codextest.Reply {
	args := map[string]any{"event_id": p.Event.ID, "base_revision": p.Revision, "decision_note": "looked at"}
	if p.HeadCommit != "" {
		args["head_commit"] = p.HeadCommit
	}
	summary, _ := p.Event.Payload["summary"].(string)
	switch role := roleOf(p.Event.AssignmentID); {
	case role == rejected:
		return t.tool("reject_event", args)
	case role == fixed && summary != fixedSummary:
		args["decision_status"] = string(models.DecisionNeedsFix)
		return t.tool("review_event", args)
	}
	return t.tool("accept_event", args)
}
