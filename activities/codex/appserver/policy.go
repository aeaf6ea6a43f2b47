package appserver

import (
	"context"
	"encoding/json"
	"time"

	"coxswain/activities/codex"
)

// maxAnswers is how many of the server's requests are decided at a time; what
// comes on top is declined at once.
const maxAnswers = 64

// Ask is a request of the server that needs an answer.
type Ask struct {
	Method   string
	ThreadID string
	TurnID   string
	ItemID   string
	Command  string          // of a command approval: the command line
	CWD      string          // of a command approval
	Server   string          // of an elicitation: the MCP server's name
	Kind     string          // of an elicitation: codex_approval_kind, such as mcp_tool_call
	Tool     string          // of an elicitation: the tool's name
	Reason   string          // as the agent gives it
	Params   json.RawMessage // everything, as the server sent it
}

// Verdict is a policy's answer.
type Verdict string

// A verdict holds for the one request, never for the session.
const (
	Accept  Verdict = "accepted"
	Decline Verdict = "declined"        // the turn goes on and the agent is told
	Refuse  Verdict = "refused_unknown" // an error: nobody here can answer this
)

// Policy decides one request. It must return when ctx ends, which is after
// Options.AnswerTimeout; then the request is declined whatever it says.
type Policy func(ctx context.Context, ask Ask) Verdict

// The server's requests that a verdict can be put into.
const (
	askCommand     = "item/commandExecution/requestApproval"
	askFiles       = "item/fileChange/requestApproval"
	askElicitation = "mcpServer/elicitation/request"
)

// CoordinationServer is the MCP server whose tool calls the default policy
// accepts.
const CoordinationServer = "cox"

// DefaultPolicy declines commands and file changes, accepts tool calls of the
// coordination server and refuses everything else.
func DefaultPolicy(_ context.Context, ask Ask) Verdict {
	switch ask.Method {
	case askCommand, askFiles:
		return Decline
	case askElicitation:
		if ask.Server == CoordinationServer && ask.Kind == "mcp_tool_call" {
			return Accept
		}
		return Decline
	}
	return Refuse
}

// serverRequest answers a request of the server without holding up the reader.
func (h *Host) serverRequest(m message) {
	ask := readAsk(m)
	id := append(json.RawMessage(nil), m.ID...)
	select {
	case h.answers <- struct{}{}:
	default:
		h.log.Warn("too many requests of codex at once", "limit", maxAnswers)
		go h.answer(id, ask, Decline)
		return
	}
	go func() {
		defer func() { <-h.answers }()
		h.answer(id, ask, h.decide(ask))
	}()
}

// decide asks the policy within its limit.
func (h *Host) decide(ask Ask) Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), h.opts.AnswerTimeout)
	defer cancel()
	verdict := make(chan Verdict, 1)
	go func() { verdict <- h.opts.Policy(ctx, ask) }()
	select {
	case v := <-verdict:
		return v
	case <-ctx.Done():
		h.log.Warn("no decision on a request of codex in time", "method", ask.Method, "limit", h.opts.AnswerTimeout)
	case <-h.done:
	}
	return Decline
}

// answer sends the verdict, reports it and logs it.
func (h *Host) answer(id json.RawMessage, ask Ask, verdict Verdict) {
	result := verdictResult(ask.Method, verdict)
	var refusal *rpcError
	if result == nil {
		verdict = Refuse
		refusal = &rpcError{Code: -32601, Message: "not answered here: " + ask.Method}
	}
	if err := h.rpc.reply(id, result, refusal); err != nil {
		h.log.Warn("answering codex", "method", ask.Method, "error", err)
		return
	}
	detail := ask.Command
	if ask.Tool != "" {
		detail = ask.Server + "/" + ask.Tool
	}
	request := codex.ServerRequest{Method: ask.Method, Answer: string(verdict), Detail: cut(detail, 500)}
	h.log.Info("answered codex", "method", ask.Method, "answer", verdict, "thread", ask.ThreadID, "detail", request.Detail)
	h.hub.emit(codex.Event{
		Type: codex.EventServerRequest, ThreadID: ask.ThreadID, TurnID: ask.TurnID, Request: request, At: time.Now().UTC(),
	})
}

// verdictResult words a verdict for a method, nil when it can only be refused.
// There is no wording for "for the session".
func verdictResult(method string, verdict Verdict) any {
	if verdict != Accept && verdict != Decline {
		return nil
	}
	switch method {
	case askCommand, askFiles:
		return map[string]any{"decision": map[Verdict]string{Accept: "accept", Decline: "decline"}[verdict]}
	case askElicitation:
		if verdict == Accept {
			return map[string]any{"action": "accept", "content": map[string]any{}}
		}
		return map[string]any{"action": "decline"}
	}
	return nil
}

func readAsk(m message) Ask {
	var p struct {
		ThreadID   string `json:"threadId"`
		TurnID     string `json:"turnId"`
		ItemID     string `json:"itemId"`
		Command    string `json:"command"`
		CWD        string `json:"cwd"`
		Reason     string `json:"reason"`
		ServerName string `json:"serverName"`
		Meta       struct {
			Kind string `json:"codex_approval_kind"`
			Tool string `json:"tool_name"`
		} `json:"_meta"`
	}
	// What is not understood stays empty, and no policy accepts the unknown.
	_ = decode(m.Params, &p)
	return Ask{
		Method: m.Method, ThreadID: p.ThreadID, TurnID: p.TurnID, ItemID: p.ItemID,
		Command: p.Command, CWD: p.CWD, Server: p.ServerName, Kind: p.Meta.Kind, Tool: p.Meta.Tool,
		Reason: p.Reason, Params: append(json.RawMessage(nil), m.Params...),
	}
}
