package appserver

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/commandline"
	"coxswain/models"
)

// Under the approval policy never Codex refuses by itself, tells the model alone, and
// asks nobody. These are its words for it.
var denialWords = []string{"approval policy is Never", "rejected by user approval settings", "requires approval, but approval policy is never"}

// callTable knows the model's calls whose results have not come. The zero value is
// ready.
type callTable struct {
	mu    sync.Mutex
	calls map[string]modelCall // by call id
}

type modelCall struct{ turnID, name, arguments string }

func (t *callTable) add(id string, c modelCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]modelCall{}
	}
	t.calls[id] = c
}

func (t *callTable) take(id string) (modelCall, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.calls[id]
	delete(t.calls, id)
	return c, ok
}

func (t *callTable) drop(turnID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, c := range t.calls {
		if c.turnID == turnID {
			delete(t.calls, id)
		}
	}
}

// rawItem watches what passes between Codex and the model for denials.
func (h *Host) rawItem(params json.RawMessage, now time.Time) {
	var p struct {
		ThreadID string `json:"threadId"`
		TurnID   string `json:"turnId"`
		Item     struct {
			Type      string          `json:"type"`
			Name      string          `json:"name"`
			CallID    string          `json:"call_id"`
			Arguments string          `json:"arguments"`
			Input     string          `json:"input"`
			Output    json.RawMessage `json:"output"`
		} `json:"item"`
	}
	if decode(params, &p) != nil {
		return
	}
	switch p.Item.Type {
	case "function_call", "custom_tool_call":
		h.calls.add(p.Item.CallID, modelCall{p.TurnID, p.Item.Name, cut(first(p.Item.Arguments, p.Item.Input), maxItemText)})
	case "function_call_output", "custom_tool_call_output":
		if call, known := h.calls.take(p.Item.CallID); known && denies(string(p.Item.Output)) {
			h.denied(p.ThreadID, call, now)
		}
	}
}

func denies(output string) bool {
	for _, words := range denialWords {
		if strings.Contains(output, words) {
			return true
		}
	}
	return false
}

// denied reports what Codex refused by itself.
func (h *Host) denied(threadID string, call modelCall, now time.Time) {
	asked := call.request()
	request := codex.ServerRequest{
		Method: call.name, Answer: codex.AnsweredDenied, Detail: cut(first(asked.Command, call.name), 500),
		Class: models.Classify(asked)[0], Why: "threads ask nobody under this policy",
	}
	h.log.Info("codex denied a request by itself", "call", call.name, "class", request.Class, "thread", threadID, "detail", request.Detail)
	h.hub.emit(codex.Event{Type: codex.EventServerRequest, ThreadID: threadID, TurnID: call.turnID, Request: request, At: now})
}

// request is what the call would have asked.
func (c modelCall) request() models.ApprovalRequest {
	var a struct {
		Cmd     string `json:"cmd"`
		Workdir string `json:"workdir"`
	}
	if c.name == "apply_patch" {
		return models.ApprovalRequest{Kind: models.RequestFiles, Command: cut(strings.Join(patchedFiles(c.arguments), " "), 500)}
	}
	if json.Unmarshal([]byte(c.arguments), &a) == nil && a.Cmd != "" {
		return commandline.Request(a.Cmd, a.Workdir)
	}
	return models.ApprovalRequest{Kind: models.RequestTool, Tool: c.name}
}

// patchedFiles are the files that a patch names.
func patchedFiles(patch string) []string {
	var out []string
	for line := range strings.Lines(patch) {
		for _, begin := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if file, ok := strings.CutPrefix(line, begin); ok {
				out = append(out, strings.TrimSpace(file))
			}
		}
	}
	return out
}
