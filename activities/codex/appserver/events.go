package appserver

import (
	"encoding/json"
	"strings"
	"time"

	"coxswain/activities/codex"
)

// note is the union of the notifications' parameters that mean something here.
type note struct {
	ThreadID   string         `json:"threadId"`
	TurnID     string         `json:"turnId"`
	Turn       wireTurn       `json:"turn"`
	Item       wireItem       `json:"item"`
	TokenUsage wireUsage      `json:"tokenUsage"`
	RateLimits map[string]any `json:"rateLimits"`
}

type wireUsage struct {
	Total struct {
		Input  int64 `json:"inputTokens"`
		Output int64 `json:"outputTokens"`
		Total  int64 `json:"totalTokens"`
	} `json:"total"`
}

// notification turns what the server tells into events.
func (h *Host) notification(method string, params json.RawMessage) {
	now := time.Now().UTC()
	switch method {
	case "turn/started", "turn/completed", "item/completed", "thread/tokenUsage/updated",
		"account/rateLimits/updated", "thread/closed", "thread/archived", "thread/deleted":
		h.report(method, params, now)
	case "warning", "configWarning", "deprecationNotice", "error":
		h.log.Warn("codex", "notice", method, "text", cut(string(params), 500))
		h.sign(params, now)
	case "serverRequest/resolved":
		h.resolved(params, now)
	case "rawResponseItem/completed":
		h.rawItem(params, now)
	case "item/started":
		h.patches.note(params)
		h.progress(params, now)
	default:
		if strings.HasPrefix(method, "item/") || strings.HasPrefix(method, "turn/") {
			h.progress(params, now)
		}
	}
}

func (h *Host) report(method string, params json.RawMessage, now time.Time) {
	var n note
	if err := decode(params, &n); err != nil {
		h.log.Error("codex notification not understood", "method", method, "error", err)
		return
	}
	e := codex.Event{ThreadID: n.ThreadID, TurnID: n.TurnID, At: now}
	switch method {
	case "turn/started":
		h.turns.start(n.ThreadID, n.Turn.ID)
		e.Type, e.TurnID, e.Turn = codex.EventTurnStarted, n.Turn.ID, n.Turn.turn()
	case "turn/completed":
		h.turns.end(n.Turn.ID)
		h.requests.drop(func(r *waitingRequest) bool { return r.turnID == n.Turn.ID })
		h.patches.drop(n.Turn.ID)
		h.calls.drop(n.Turn.ID)
		e.Type, e.TurnID, e.Turn = codex.EventTurnEnded, n.Turn.ID, n.Turn.turn()
	case "item/completed":
		if toolsGone(n.Item) {
			h.held.losesTools(n.ThreadID)
		}
		e.Type, e.Item = codex.EventItemCompleted, n.Item.item(n.TurnID)
	case "thread/tokenUsage/updated":
		t := n.TokenUsage.Total
		e.Type, e.Tokens = codex.EventTokens, codex.Tokens{Input: t.Input, Output: t.Output, Total: t.Total}
	case "account/rateLimits/updated":
		e.Type, e.Limits = codex.EventRateLimits, n.RateLimits
	default:
		h.turns.drop(n.ThreadID)
		h.held.drop(n.ThreadID)
		h.requests.drop(func(r *waitingRequest) bool { return r.threadID == n.ThreadID })
		e.Type = codex.EventThreadClosed
	}
	h.hub.emit(e)
}

// sign reports that a turn lives, when a notice is about one.
func (h *Host) sign(params json.RawMessage, now time.Time) {
	var n note
	if json.Unmarshal(params, &n) == nil && n.ThreadID != "" && n.TurnID != "" {
		h.hub.emit(codex.Event{Type: codex.EventSign, ThreadID: n.ThreadID, TurnID: n.TurnID, At: now})
	}
}

// progress reports that something happened in a turn, at most once per turn and
// second.
func (h *Host) progress(params json.RawMessage, now time.Time) {
	var n struct {
		ThreadID string `json:"threadId"`
		TurnID   string `json:"turnId"`
	}
	if json.Unmarshal(params, &n) != nil || n.TurnID == "" || !h.turns.progressed(n.TurnID, now) {
		return // not of a live turn, or too soon
	}
	h.hub.emit(codex.Event{Type: codex.EventProgress, ThreadID: n.ThreadID, TurnID: n.TurnID, At: now})
}
