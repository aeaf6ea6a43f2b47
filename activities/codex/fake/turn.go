package fake

import (
	"context"
	"errors"
	"os"
	"time"

	"coxswain/activities/codex"
)

// turn is the active turn of a thread.
type turn struct {
	thread  *thread
	id      string
	text    string // whole, while the stored message is cut
	record  turnRecord
	message itemRecord // the user message that began it
	before  int        // items of the thread before it

	previous <-chan struct{} // closed when the end of the turn before was reported
	reported chan struct{}   // closed when this one's was
	ready    chan struct{}   // closed when agent is set, or will never be
	agent    *child          // after ready; nil when it could not be started

	stopping context.Context // done when an interrupt was asked for
	stop     context.CancelFunc
}

func newTurn(t *thread, in codex.TurnInput, now time.Time) *turn {
	id := newID()
	run := &turn{
		thread: t, id: id, text: in.Text, before: len(t.rec.Items),
		record: turnRecord{ID: id, Status: codex.TurnInProgress, StartedAt: now},
		message: itemRecord{
			ID: newID(), TurnID: id, Type: itemUser, ClientID: in.ClientMessageID,
			Text: cut(in.Text, itemTextLimit), Status: statusCompleted,
		},
		reported: make(chan struct{}), ready: make(chan struct{}),
	}
	run.stopping, run.stop = context.WithCancel(context.Background())
	return run
}

func (t *turn) interrupt() { t.stop() }

// StartTurn implements codex.Adapter. When it returns, the message is in the
// thread's history and the turn can be interrupted.
func (h *host) StartTurn(ctx context.Context, threadID string, in codex.TurnInput) (codex.Turn, error) {
	t, err := h.needLoaded(ctx, threadID)
	if err != nil {
		return codex.Turn{}, err
	}
	if in.Text == "" {
		return codex.Turn{}, refused("the text is empty", nil)
	}
	if err := h.track(ctx); err != nil {
		return codex.Turn{}, err
	}
	run, err := t.begin(in, time.Now().UTC())
	if err != nil {
		h.running.Done()
		return codex.Turn{}, err
	}
	go func() {
		defer h.running.Done()
		h.live(run)
	}()
	return codex.Turn(run.record), nil
}

// SteerTurn implements codex.Adapter. The agent takes the text between two
// steps; a turn that ends before has not taken it.
func (h *host) SteerTurn(ctx context.Context, threadID, expectedTurnID string, in codex.TurnInput) error {
	t, err := h.needLoaded(ctx, threadID)
	if err != nil {
		return err
	}
	run, err := t.expect(expectedTurnID)
	if err != nil {
		return err
	}
	if in.Text == "" {
		return refused("the text is empty", nil)
	}
	select {
	case <-run.ready:
	case <-ctx.Done():
		return refused("the turn's agent is not there yet", ctx.Err())
	}
	if run.agent == nil {
		return &codex.Error{Kind: codex.ErrTurnMismatch, Message: "turn " + run.id + " has no agent and is ending"}
	}
	err = run.agent.send(Steer{ClientMessageID: in.ClientMessageID, Text: in.Text})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &codex.Error{Kind: codex.ErrTimeout, Message: "the turn's agent does not read", Cause: err}
	}
	return &codex.Error{Kind: codex.ErrTurnMismatch, Message: "turn " + run.id + " is ending", Cause: err}
}

// InterruptTurn implements codex.Adapter.
func (h *host) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	t, err := h.needLoaded(ctx, threadID)
	if err != nil {
		return err
	}
	run, err := t.expect(turnID)
	if err != nil {
		return err
	}
	run.interrupt()
	return nil
}
