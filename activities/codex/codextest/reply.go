package codextest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Reply is one answer of the model. The zero value ends the turn in silence.
type Reply struct {
	Items   []map[string]any // output items, in order
	Status  int              // an HTTP error instead, with Body
	Body    string
	Header  map[string]string // of the HTTP error
	Hang    bool              // never answer, not even with headers; a steer then waits as well
	Pause   bool              // begin an answer and never go on; a steer ends it
	Cut     bool              // reset the connection within the first item
	Release <-chan struct{}   // hold back the end of each item until closed
}

// Say is an agent message.
func Say(text string) Reply {
	return Reply{Items: []map[string]any{{
		"type": "message", "role": "assistant",
		"content": []map[string]any{{"type": "output_text", "text": text}},
	}}}
}

// Exec runs a shell command and waits for it for up to 30 s; after that Codex
// hands back a session, which Directives polls.
func Exec(callID, cmd string) Reply {
	return call(callID, "", "exec_command", map[string]any{"cmd": cmd, "login": false, "yield_time_ms": 30000})
}

// Escalate runs a shell command and asks for leave to run it unsandboxed.
func Escalate(callID, cmd string) Reply {
	return call(callID, "", "exec_command", map[string]any{
		"cmd": cmd, "login": false, "sandbox_permissions": "require_escalated", "justification": "test",
	})
}

// WaitFor polls a running command's session.
func WaitFor(callID, session string) Reply {
	return call(callID, "", "write_stdin", map[string]any{"session_id": json.Number(session), "chars": "", "yield_time_ms": 30000})
}

// Patch adds a file with the text as its only line by apply_patch.
func Patch(callID, path, text string) Reply {
	patch := fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n", path, text)
	return Reply{Items: []map[string]any{{"type": "custom_tool_call", "call_id": callID, "name": "apply_patch", "input": patch}}}
}

// Tool calls a tool of an MCP server of the thread.
func Tool(callID, server, name string, args map[string]any) Reply {
	return call(callID, "mcp__"+server, name, args)
}

func call(callID, namespace, name string, args map[string]any) Reply {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // arguments are maps of plain values
	}
	item := map[string]any{"type": "function_call", "call_id": callID, "name": name, "arguments": string(data)}
	if namespace != "" {
		item["namespace"] = namespace
	}
	return Reply{Items: []map[string]any{item}}
}

// Failure is an HTTP error as the API words it.
func Failure(status int) Reply {
	return Reply{Status: status, Body: fmt.Sprintf(`{"error":{"message":"scripted failure %d"}}`, status)}
}

// UsageLimit is the refusal of an account whose limit is reached until reset.
func UsageLimit(reset time.Time) Reply {
	at := reset.Unix()
	return Reply{
		Status: http.StatusTooManyRequests,
		Body:   fmt.Sprintf(`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"pro","resets_at":%d}}`, at),
		Header: map[string]string{
			"x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": strconv.FormatInt(at, 10),
			"x-codex-secondary-used-percent": "40", "x-codex-secondary-window-minutes": "10080", "x-codex-secondary-reset-at": strconv.FormatInt(at+86400, 10),
		},
	}
}

// Slow is an agent message whose text is streamed and whose end is held back
// until release is closed.
func Slow(text string, release <-chan struct{}) Reply {
	r := Say(text)
	r.Release = release
	return r
}

// CutOff resets the connection within a message.
func CutOff() Reply {
	r := Say("this message is never whole")
	r.Cut = true
	return r
}

// Together plays several replies as one response.
func Together(replies ...Reply) Reply {
	var out Reply
	for _, r := range replies {
		items := append(out.Items, r.Items...)
		out = r
		out.Items = items
	}
	return out
}

func messageText(item map[string]any) string {
	content, ok := item["content"].([]map[string]any)
	if !ok || len(content) == 0 {
		return ""
	}
	text, _ := content[0]["text"].(string)
	return text
}

// opened is an item as a stream announces it: a message still has no text.
func opened(item map[string]any) map[string]any {
	if messageText(item) == "" {
		return item
	}
	return map[string]any{"type": "message", "role": "assistant", "content": []map[string]any{}}
}

// readInput finds the newest user message and the results after it. Messages
// that Codex itself puts in the user's name begin with "<" or "# AGENTS.md".
func readInput(body map[string]any) (user string, outputs []string) {
	input, _ := body["input"].([]any)
	for _, entry := range input {
		item, _ := entry.(map[string]any)
		kind, _ := item["type"].(string)
		switch {
		case item["role"] == "user":
			text := joinText(item["content"])
			if !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "# AGENTS.md") {
				user, outputs = text, nil
			}
		case strings.HasSuffix(kind, "_output"):
			outputs = append(outputs, outputText(item["output"]))
		}
	}
	return user, outputs
}

func joinText(content any) string {
	list, _ := content.([]any)
	var b strings.Builder
	for _, entry := range list {
		part, _ := entry.(map[string]any)
		text, _ := part["text"].(string)
		b.WriteString(text)
	}
	return b.String()
}

func outputText(output any) string {
	if text, ok := output.(string); ok {
		return text
	}
	return joinText(output)
}
