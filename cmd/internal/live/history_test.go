package live

import (
	"strings"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
)

// history is a thread as the model was last sent it.
type history struct {
	thread    string
	user      []string // messages of the user, oldest first, without Codex's own
	developer string   // all developer messages
	outputs   []string // of tool calls
	tools     []string // of the coordination server, where they are listed
}

// histories reads the final history of every thread out of the request log.
func (r *rig) histories() map[string]history {
	out := map[string]history{}
	for _, q := range r.model.Requests() {
		out[q.ThreadID] = readHistory(q)
	}
	return out
}

func readHistory(q codextest.Request) history {
	h := history{thread: q.ThreadID}
	var developer strings.Builder
	for _, item := range list(q.Body, "input") {
		kind := text(item, "type")
		switch {
		case item["role"] == "developer":
			developer.WriteString(content(item["content"]) + "\n")
		case item["role"] == "user":
			if said := content(item["content"]); !strings.HasPrefix(said, "<") {
				h.user = append(h.user, said)
			}
		case strings.HasSuffix(kind, "_output"):
			h.outputs = append(h.outputs, content(item["output"]))
		}
	}
	h.developer = developer.String()
	for _, tool := range list(q.Body, "tools") {
		if text(tool, "name") == "mcp__"+codextest.MCPServerName {
			for _, t := range list(tool, "tools") {
				h.tools = append(h.tools, text(t, "name"))
			}
		}
	}
	return h
}

// content is the text of a message or an output, which come as text or in parts.
func content(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var out strings.Builder
	for _, part := range list(map[string]any{"parts": v}, "parts") {
		s, _ := part["text"].(string)
		out.WriteString(s)
	}
	return out.String()
}

// toldOnce checks that every message whose receipt is in the ledger stands exactly
// once in the final history of one thread, and that no thread was told anything
// else.
func (r *rig) toldOnce(l *ledger.Ledger) {
	r.t.Helper()
	events, err := l.Events(r.t.Context(), ledger.EventFilter{Types: []string{models.EventMessageDelivered}, Limit: 1000})
	check(r.t, err)
	found := r.histories()
	said := 0
	for _, h := range found {
		said += len(h.user)
	}
	for _, e := range events {
		command := text(e.Payload, "command_id")
		if n := told(found, command); n != 1 {
			r.t.Errorf("message %v of command %s stands %d times in the threads", e.Payload["message_id"], command, n)
		}
	}
	if said != len(events) || said == 0 {
		r.t.Errorf("the threads hold %d messages, the ledger %d receipts", said, len(events))
	}
}

func told(found map[string]history, command string) int {
	n := 0
	for _, h := range found {
		for _, u := range h.user {
			n += strings.Count(u, "- Command: `"+command+"`")
		}
	}
	return n
}

// requests are those whose newest prompt contains a text.
func (r *rig) requests(prompt string) (out []codextest.Request) {
	for _, q := range r.model.Requests() {
		if strings.Contains(q.User, prompt) {
			out = append(out, q)
		}
	}
	return out
}

// wantAll checks that a text contains every part.
func wantAll(t *testing.T, what, in string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(in, p) {
			t.Errorf("%s lacks %q:\n%s", what, p, in)
		}
	}
}

// outputsOf are the results of an assignment's worker in one turn, by the prompt
// that began it.
func (r *rig) outputsOf(prompt string) []string {
	var longest []string
	for _, q := range r.requests(prompt) {
		if len(q.Outputs) > len(longest) {
			longest = q.Outputs
		}
	}
	return longest
}
