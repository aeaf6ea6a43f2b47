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

// MessageInFlight tells whether a message that begins a turn may be on its way
// into the thread: an attempt owns it and has not recorded what became of it. One
// that was steered into a turn begins none.
func (l *Ledger) MessageInFlight(ctx context.Context, threadID string) (bool, error) {
	_, found, err := find[models.OutboxItem](l.read(ctx), "thread_id = ? AND state = 'sending' AND turn_id = ''", threadID)
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

// RenewBinding raises a binding's generation ahead of a new thread for it, so that
// the thread can be started under its own token; the old one is worthless from
// then on. Undelivered messages stay with the thread that is gone, and with the
// attempt that owns them, until ReplaceThread. It is refused (false) when the
// binding ended or is of another generation.
func (l *Ledger) RenewBinding(ctx context.Context, bindingID string, generation int) (bool, error) {
	kept := false
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		var err error
		kept, err = tx.swap(&models.Binding{}, map[string]any{
			"generation": generation + 1,
			"token_hash": hashToken(tx.l.BindingToken(bindingID, generation+1)), "updated_at": tx.ms(),
		},
			"id = ? AND generation = ? AND status = 'active'", bindingID, generation)
		if err != nil || !kept {
			return err
		}
		return tx.db.Model(&models.OutboxItem{}).Where("binding_id = ? AND state IN ('pending','sending')", bindingID).
			Update("generation", generation+1).Error
	})
	return kept, err
}

// ReplaceThread ties a renewed binding to a new thread, when the old one never had
// a turn and is gone. Undelivered messages move to it.
func (l *Ledger) ReplaceThread(ctx context.Context, bindingID string, generation int, threadID string) (bool, error) {
	kept := false
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		b, err := get[models.Binding](tx.db, "binding", bindingID)
		if err != nil {
			return err
		}
		kept, err = tx.swap(&models.Binding{}, map[string]any{"thread_id": threadID, "updated_at": tx.ms()},
			"id = ? AND generation = ? AND status = 'active'", bindingID, generation)
		if err != nil || !kept {
			return err
		}
		if err := tx.db.Model(&models.OutboxItem{}).Where("binding_id = ? AND state IN ('pending','sending')", bindingID).
			Updates(map[string]any{"thread_id": threadID, "state": models.OutboxPending, "owner": "", "attempts": 0}).Error; err != nil {
			return err
		}
		if err := tx.db.Model(&models.Run{}).Where("binding_id = ? AND ended_at IS NULL", bindingID).
			Updates(map[string]any{"session_ref": threadID, "interactive_url": "codex://threads/" + threadID, "updated_at": tx.ms()}).Error; err != nil {
			return err
		}
		_, err = tx.append(models.Event{
			WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID,
			Type: models.EventRunBindingRecorded, Payload: map[string]any{"thread_replaced": b.ThreadID, "thread_id": threadID},
		})
		return errors.Join(err, tx.wake(WakeDelivery, DeliveryWorkflow(threadID), threadID))
	})
	return kept, err
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

// Settled ends a run that its worker finished when nothing of it is active: the node
// read its thread as idle. A run that was called off is ended by its interrupt alone,
// which waits for a message that may be on its way.
func (l *Ledger) Settled(ctx context.Context, runID string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		run, err := get[models.Run](tx.db, "run", runID)
		if err != nil || !run.Status.Terminal() || run.Status.CalledOff() || run.EndedAt != nil {
			return err
		}
		_, active, err := find[models.Turn](tx.db, "run_id = ? AND status = 'active'", runID)
		if err != nil || active {
			return err
		}
		return errors.Join(tx.finishRun(runID, "", "handed off"), tx.wakeLoop(run.WorkspaceID, run.TeamID))
	})
}
