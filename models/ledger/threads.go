package ledger

import (
	"context"
	"errors"

	"coxswain/models"
)

// KnowsThread tells whether any binding has, or had, the thread.
func (l *Ledger) KnowsThread(ctx context.Context, threadID string) (bool, error) {
	_, found, err := find[models.Binding](l.read(ctx), "thread_id = ?", threadID)
	return found, err
}

// ThreadHasTurns tells whether the ledger has seen a turn of the thread.
func (l *Ledger) ThreadHasTurns(ctx context.Context, threadID string) (bool, error) {
	_, found, err := find[models.Turn](l.read(ctx), "thread_id = ?", threadID)
	return found, err
}

// MessageInFlight tells whether a message into the thread may be on its way: an
// attempt owns it and has not recorded what became of it.
func (l *Ledger) MessageInFlight(ctx context.Context, threadID string) (bool, error) {
	_, found, err := find[models.OutboxItem](l.read(ctx), "thread_id = ? AND state = 'sending'", threadID)
	return found, err
}

// CloseBinding ends a binding whose thread was archived; its token is worthless
// from then on.
func (l *Ledger) CloseBinding(ctx context.Context, bindingID string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		_, err := tx.swap(&models.Binding{}, map[string]any{"status": "closed", "updated_at": tx.ms()}, "id = ? AND status = 'active'", bindingID)
		return err
	})
}

// LoseTurn ends a turn that the ledger holds for active and its thread's host
// does not know any more.
func (l *Ledger) LoseTurn(ctx context.Context, threadID, turnID string) error {
	return l.EndTurn(ctx, TurnReport{ThreadID: threadID, TurnID: turnID, Status: models.TurnInterrupted, Error: "the turn's host ended"})
}

// EndKnownTurn records the end of a turn that the ledger holds for active, and
// ignores every other one.
func (l *Ledger) EndKnownTurn(ctx context.Context, r TurnReport) error {
	t, found, err := find[models.Turn](l.read(ctx), "id = ?", r.TurnID)
	if err != nil || !found || t.Status.Ended() {
		return err
	}
	return l.EndTurn(ctx, r)
}

// LastReview is the newest decision about an assignment; NOT_FOUND without one.
func (l *Ledger) LastReview(ctx context.Context, assignmentID string) (models.Event, error) {
	var rows []models.Event
	err := l.read(ctx).Where("assignment_id = ? AND type = ?", assignmentID, models.EventIntegratorReview).
		Order("sequence DESC").Limit(1).Find(&rows).Error
	if err == nil && len(rows) == 0 {
		err = models.NotFound("review of assignment", assignmentID)
	}
	if err != nil {
		return models.Event{}, err
	}
	return rows[0], nil
}

// Answered finds the question that an answer event belongs to.
func (l *Ledger) Answered(ctx context.Context, answerEventID string) (models.Intervention, error) {
	event, err := get[models.Event](l.read(ctx), "event", answerEventID)
	if err != nil {
		return models.Intervention{}, err
	}
	return get[models.Intervention](l.read(ctx), "intervention", event.ReviewedEventID)
}

// Settled tells whether a run that its worker finished can be ended now: the
// node read its thread as idle. It ends the run when nothing of it is active.
func (l *Ledger) Settled(ctx context.Context, runID string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		run, err := get[models.Run](tx.db, "run", runID)
		if err != nil || !run.Status.Terminal() || run.EndedAt != nil {
			return err
		}
		_, active, err := find[models.Turn](tx.db, "run_id = ? AND status = 'active'", runID)
		if err != nil || active {
			return err
		}
		return errors.Join(tx.finishRun(runID, "", "handed off"), tx.wakeLoop(run.WorkspaceID, run.TeamID))
	})
}
