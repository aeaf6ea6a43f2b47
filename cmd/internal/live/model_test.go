package live

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"coxswain/activities/codex/codextest"
)

// turn is one request as a scripted agent sees it: the newest prompt, and what
// its tool calls since then have answered.
type turn struct {
	codextest.Request
	assignment string // "" for an integrator
	title      string
	first      bool // the worker's first prompt, not a reminder
}

var (
	assignmentLine = regexp.MustCompile("(?m)^- Assignment: `+([^`]+)`+")
	titleLine      = regexp.MustCompile(`(?m)^- Title: (.*)$`)
)

func readTurn(q codextest.Request) turn {
	out := turn{Request: q, first: strings.Contains(q.User, "Your assignment is ")}
	if m := assignmentLine.FindStringSubmatch(q.User); m != nil {
		out.assignment = m[1]
	}
	if m := titleLine.FindStringSubmatch(q.User); m != nil {
		out.title = m[1]
	}
	return out
}

// agents is a model with a script for workers and the integrator that accepts.
func agents(worker func(turn) codextest.Reply) codextest.Model {
	return func(q codextest.Request) codextest.Reply {
		t := readTurn(q)
		if strings.HasPrefix(q.User, "You are Codex integrator actor") {
			return acceptAll(t)
		}
		return worker(t)
	}
}

// id is a call id: unique within a thread, whose history only grows.
func (t turn) id() string {
	input, _ := t.Body["input"].([]any)
	return fmt.Sprintf("call_%d", len(input))
}

func (t turn) tool(name string, args map[string]any) codextest.Reply {
	return codextest.Tool(t.id(), codextest.MCPServerName, name, args)
}

// at tells which step of its turn an agent is at: how many calls were answered.
func (t turn) at() int { return len(t.Outputs) }

// document is the JSON that the n-th call of the turn answered.
func (t turn) document(n int) map[string]any {
	doc := map[string]any{}
	text := t.Outputs[n]
	start := strings.Index(text, "{")
	if start < 0 || json.NewDecoder(strings.NewReader(text[start:])).Decode(&doc) != nil {
		return nil
	}
	return doc
}

// work is the ordinary worker: it reads its assignment, runs commands, says so,
// and hands off on the revision that it read. Without commands it changes one file
// in its allowed paths. It stops when nothing is to be done.
func work(t turn, commands ...string) codextest.Reply {
	n := t.at()
	if n == 0 {
		return t.tool("get_assignment_detail", map[string]any{})
	}
	a := object(t.document(0), "assignment")
	if s := text(a, "status"); s != "claimed" && s != "running" {
		return codextest.Say("there is nothing for me to do: " + s)
	}
	if len(commands) == 0 {
		commands = []string{edit(t.assignment, a["allowed_paths"])}
	}
	switch {
	case n <= len(commands):
		return codextest.Exec(t.id(), commands[n-1])
	case n == len(commands)+1:
		return t.tool("heartbeat_run", map[string]any{"summary": "the file is written"})
	case n == len(commands)+2:
		return t.tool("submit_handoff", map[string]any{
			"base_revision": a["revision"],
			"payload":       map[string]any{"summary": "done: " + t.assignment},
		})
	}
	return codextest.Say("handed off")
}

// edit adds a line once to the first allowed path, or to a file of the
// assignment's name in it.
func edit(assignment string, allowed any) string {
	paths, _ := allowed.([]any)
	if len(paths) == 0 {
		return "false"
	}
	line := "made by " + assignment
	return fmt.Sprintf("f='%v'; [ -d \"$f\" ] && f=\"$f/%s.txt\"; grep -qs '%s' \"$f\" || echo '%s' >> \"$f\"", paths[0], assignment, line, line)
}

// outFile is the allowed path of an assignment of the rig.
func outFile(assignment string) string { return "src/" + assignment + ".txt" }

// acceptAll is the ordinary integrator: it lists the pending handoffs and accepts
// each with the values that the list shows.
func acceptAll(t turn) codextest.Reply {
	n := t.at()
	if n == 0 {
		return t.tool("list_pending_reviews", map[string]any{})
	}
	pending := list(t.document(0), "pending_reviews")
	if n > len(pending) {
		return codextest.Say(fmt.Sprintf("%d handoffs are decided", len(pending)))
	}
	p := pending[n-1]
	args := map[string]any{"event_id": object(p, "event")["event_id"], "base_revision": p["revision"], "decision_note": "the file is there"}
	if head := text(p, "head_commit"); head != "" {
		args["head_commit"] = head
	}
	return t.tool("accept_event", args)
}

// askUser puts a question to a person by Codex's own tool.
func (t turn) askUser() codextest.Reply {
	args := `{"questions":[{"id":"q","header":"Go on","question":"Shall I go on?","options":[{"label":"Yes","description":"go on"},{"label":"No","description":"stop"}]}]}`
	return codextest.Reply{Items: []map[string]any{{"type": "function_call", "call_id": t.id(), "name": "request_user_input", "arguments": args}}}
}
