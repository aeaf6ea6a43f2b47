package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"coxswain/models"
)

// RunLog is what a run did, oldest first.
type RunLog struct {
	Run     models.Run        `json:"run"`
	Entries []models.LogEntry `json:"entries"`
	// Unrecorded counts items of the run's turns that are in the Codex thread only.
	Unrecorded int `json:"unrecorded"`
}

// RunLog reads what a run did from the ledger alone: turns, items, messages with
// their receipts, commands, heartbeats, the handoff and what people said. NOT_FOUND
// without such a run.
func (l *Ledger) RunLog(ctx context.Context, runID string) (RunLog, error) {
	d, err := l.RunDetail(ctx, runID)
	if err != nil {
		return RunLog{}, err
	}
	items, err := l.RunItems(ctx, runID)
	if err != nil {
		return RunLog{}, err
	}
	log := RunLog{Run: d.Run, Entries: []models.LogEntry{}}
	for _, t := range d.Turns {
		log.Unrecorded += t.Items
	}
	log.Unrecorded = max(log.Unrecorded-len(items), 0)
	log.commands(d.Commands)
	log.messages(d.Messages)
	log.turnsBegin(d.Turns)
	log.items(beforeHandoffs(items, d.Events))
	log.turnsEnd(d.Turns)
	log.events(d.Events)
	slices.SortStableFunc(log.Entries, func(a, b models.LogEntry) int { return a.At.Compare(b.At) })
	return log, nil
}

func (g *RunLog) add(e models.LogEntry) { g.Entries = append(g.Entries, e) }

func (g *RunLog) commands(list []models.Command) {
	for _, c := range list {
		g.add(models.LogEntry{ID: c.ID, At: c.CreatedAt, Kind: models.LogCommand, Status: "planned", Text: fmt.Sprintf("%s planned: %s", c.Type, c.Reason)})
		if c.EndedAt != nil {
			g.add(models.LogEntry{
				ID: c.ID + ":end", At: *c.EndedAt, Kind: models.LogCommand, Status: string(c.State),
				Text: phrase(fmt.Sprintf("%s %s", c.Type, c.State), c.Result, c.Error),
			})
		}
	}
}

func (g *RunLog) messages(list []models.OutboxItem) {
	for _, m := range list {
		about := fmt.Sprintf("%s %s", m.Kind, m.ID)
		g.add(models.LogEntry{ID: m.ID, At: m.CreatedAt, Kind: models.LogMessage, Status: "queued", Text: phrase(about+" queued", undelivered(m))})
		if m.DeliveredAt != nil {
			g.add(models.LogEntry{
				ID: m.ID + ":receipt", At: *m.DeliveredAt, Kind: models.LogMessage, Status: string(m.State), TurnID: m.TurnID,
				Text: phrase(about+" is in turn "+m.TurnID, m.Reason),
			})
		}
	}
}

// undelivered says where a message without a receipt stands.
func undelivered(m models.OutboxItem) string {
	switch m.State {
	case models.OutboxDelivered:
		return ""
	case models.OutboxPending:
		return m.Reason
	default:
		return phrase(string(m.State), m.Reason)
	}
}

func (g *RunLog) turnsBegin(list []models.Turn) {
	for _, t := range list {
		g.add(models.LogEntry{ID: t.ID, At: t.StartedAt, Kind: models.LogTurn, Status: string(models.TurnActive), TurnID: t.ID, Text: phrase("turn started", t.CauseID)})
	}
}

func (g *RunLog) turnsEnd(list []models.Turn) {
	for _, t := range list {
		if t.EndedAt == nil {
			continue
		}
		tokens := t.Tokens
		g.add(models.LogEntry{
			ID: t.ID + ":end", At: *t.EndedAt, Kind: models.LogTurn, Status: string(t.Status), TurnID: t.ID, Tokens: &tokens,
			Text: phrase(fmt.Sprintf("turn %s after %s, %d items, %d tokens", t.Status, t.EndedAt.Sub(t.StartedAt).Round(time.Millisecond), t.Items, t.Tokens.Total), t.ErrorKind, t.Error),
		})
	}
}

func (g *RunLog) items(list []models.RunItem) {
	for _, i := range list {
		text := i.Type
		if i.Status != "" && i.Status != "completed" {
			text += " " + i.Status
		}
		g.add(models.LogEntry{ID: i.TurnID + ":" + i.ItemID, At: i.CreatedAt, Kind: models.LogItem, Status: i.Status, TurnID: i.TurnID, Text: phrase(text, i.Summary)})
	}
}

// The tool call by which a turn hands off, as its item names it.
const (
	toolCall    = "mcpToolCall"
	handoffTool = "submit_handoff"
)

// beforeHandoffs are items no later than the handoff that they went before. A host
// reports an item some moments after it happened, and so perhaps after a handoff that
// the ledger wrote meanwhile; but what stands before the call that handed off was done
// by then.
func beforeHandoffs(list []models.RunItem, events []models.Event) []models.RunItem {
	var handoffs []time.Time
	for _, e := range events {
		if e.Type == models.EventHandoffSubmitted {
			handoffs = append(handoffs, e.CreatedAt)
		}
	}
	from := 0
	for i, call := range list {
		if call.Type != toolCall || call.Status != "completed" || !strings.HasSuffix(call.Summary, handoffTool) || len(handoffs) == 0 {
			continue
		}
		for j := range list[from:i] {
			if item := &list[from+j]; item.CreatedAt.After(handoffs[0]) {
				item.CreatedAt = handoffs[0]
			}
		}
		from, handoffs = i, handoffs[1:]
	}
	return list
}

// events adds the run's events except those that turns, messages and commands
// tell better.
func (g *RunLog) events(list []models.Event) {
	told := []string{
		models.EventTurnStarted, models.EventTurnEnded, models.EventMessageDelivered, models.EventCommandDispatched,
		models.EventCommandCompleted, models.EventCommandFailed, models.EventReviewNudgeDispatched,
	}
	for _, e := range list {
		if slices.Contains(told, e.Type) {
			continue
		}
		kind, text := eventLine(e)
		g.add(models.LogEntry{ID: e.ID, At: e.CreatedAt, Kind: kind, Status: e.Status, Text: text})
	}
}

// eventLine says an event in one line.
func eventLine(e models.Event) (models.LogKind, string) {
	get := func(key string) string { s, _ := e.Payload[key].(string); return s }
	switch e.Type {
	case models.EventRunHeartbeat:
		return models.LogBeat, phrase("heartbeat", get("summary"))
	case models.EventHandoffSubmitted:
		return models.LogHandoff, phrase("handed off by "+e.ActorID, get("summary"))
	case models.EventIntegratorReview:
		return models.LogPerson, phrase(e.Status+" by "+e.ActorID, get("decision_note"))
	case models.EventInterventionRequested:
		return models.LogPerson, phrase(e.ActorID+" asks", get("prompt"))
	case models.EventInterventionResponded:
		return models.LogPerson, phrase(e.ActorID+" answers", get("response"))
	case models.EventSteerRequested:
		return models.LogPerson, phrase(e.ActorID+" says", get("message"))
	case models.EventInterruptRequested:
		return models.LogPerson, phrase("stopped by "+e.ActorID, get("reason"))
	case models.EventRunClaimed:
		return models.LogRun, phrase("claimed by "+e.ActorID, get("session_ref"))
	case models.EventRunEnded:
		return models.LogRun, phrase("run ended", get("status"), get("reason"))
	case models.EventServerRequest:
		return models.LogRun, phrase("Codex asked "+get("method")+", "+get("answer"), get("detail"))
	}
	return models.LogRun, phrase(strings.ReplaceAll(e.Type, "_", " "), get("summary"))
}

// phrase puts the parts that say something into one line.
func phrase(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}
