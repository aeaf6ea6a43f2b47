package appserver

import (
	"context"
	"encoding/json"
	"time"

	"coxswain/activities/codex"
)

// StartTurn implements codex.Adapter. On a thread with an active turn Codex adds
// the text to that turn and the answer is that turn.
func (h *Host) StartTurn(ctx context.Context, threadID string, in codex.TurnInput) (codex.Turn, error) {
	var answer struct {
		Turn wireTurn `json:"turn"`
	}
	// The turn is entered before the reader can see its start, so that an
	// interrupt can wait for that.
	enter := func(result json.RawMessage) {
		var answer struct {
			Turn struct {
				ID string `json:"id"`
			} `json:"turn"`
		}
		if json.Unmarshal(result, &answer) == nil && answer.Turn.ID != "" {
			h.turns.announce(threadID, answer.Turn.ID)
		}
	}
	params := inputParams(threadID, in)
	if err := h.rpc.request(ctx, h.opts.RequestTimeout, "turn/start", params, &answer, enter); err != nil {
		return codex.Turn{}, err
	}
	return answer.Turn.turn(), nil
}

func inputParams(threadID string, in codex.TurnInput) map[string]any {
	return map[string]any{
		"threadId": threadID, "clientUserMessageId": in.ClientMessageID,
		"input": []any{map[string]any{"type": "text", "text": in.Text}},
	}
}

// SteerTurn implements codex.Adapter.
func (h *Host) SteerTurn(ctx context.Context, threadID, expectedTurnID string, in codex.TurnInput) error {
	params := inputParams(threadID, in)
	params["expectedTurnId"] = expectedTurnID
	return h.call(ctx, "turn/steer", params, nil)
}

// InterruptTurn implements codex.Adapter. Codex drops an interrupt that comes
// between its answer to turn/start and turn/started, so that moment is waited
// for, within Options.RequestTimeout. Commands of the turn live on: see
// CleanBackgroundTerminals.
func (h *Host) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	if started := h.turns.starting(turnID); started != nil {
		timer := time.NewTimer(h.opts.RequestTimeout)
		defer timer.Stop()
		select {
		case <-started:
		case <-timer.C:
			return &codex.Error{Kind: codex.ErrTurnMismatch, Message: "turn " + turnID + " has not started"}
		case <-ctx.Done():
			return &codex.Error{Kind: codex.ErrTimeout, Message: "turn/interrupt was given up", Cause: context.Cause(ctx)}
		}
	}
	return h.call(ctx, "turn/interrupt", map[string]any{"threadId": threadID, "turnId": turnID}, nil)
}
