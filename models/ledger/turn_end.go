package ledger

import (
	"context"
	"errors"

	"coxswain/models"
)

// EndTurn records the proven end of a turn: its outcome, the cursor, and, for a
// run that was handed off or cancelled, the run's end. An interrupted turn
// without a cancel or a person's stop is lost. The workflows that wait for it are
// woken.
func (l *Ledger) EndTurn(ctx context.Context, r TurnReport) error {
	lines := summaries(r.Seen)
	return l.onThread(ctx, full, r.ThreadID, func(tx *Tx, b models.Binding) error {
		if err := tx.turnStarted(b, r); err != nil {
			return err
		}
		turn, err := get[models.Turn](tx.db, "turn", r.TurnID)
		if err != nil || turn.Status.Ended() {
			return err
		}
		run, err := tx.runOf(b)
		if err != nil {
			return err
		}
		if r.Status, err = tx.endedAs(r.Status, run); err != nil {
			return err
		}
		if err := errors.Join(tx.keepItems(run.ID, lines), tx.recordEnd(b, turn, run, r), tx.endRequests(run, turn.ID, r.Status)); err != nil {
			return err
		}
		if err := tx.afterOutcome(b, turn, run, r); err != nil {
			return err
		}
		if run.ID != "" && run.ID == turn.RunID && run.Status.Terminal() && !run.Status.CalledOff() {
			if err := tx.finishRun(run.ID, "", "handed off"); err != nil {
				return err
			}
		}
		return tx.wakeAfterTurn(b)
	})
}

// endedAs tells a turn that was lost from one that somebody wanted interrupted.
func (tx *Tx) endedAs(status models.TurnStatus, run models.Run) (models.TurnStatus, error) {
	if status != models.TurnInterrupted || run.ID == "" || run.Status.Terminal() {
		return status, nil
	}
	stop, err := pendingStop(tx.db, run.ID)
	if err == nil && stop == "" {
		status = models.TurnLost
	}
	return status, err
}

func (tx *Tx) recordEnd(b models.Binding, turn models.Turn, run models.Run, r TurnReport) error {
	columns := map[string]any{"status": r.Status, "error": r.Error, "error_kind": r.ErrorKind, "ended_at": tx.ms(), "progress_at": tx.ms()}
	if r.Items > 0 {
		columns["items"], columns["last_item"] = r.Items, r.LastItem
	}
	putTokens(columns, r.Tokens)
	incomplete := r.Tokens.Total == 0 && turn.Tokens.Total == 0
	columns["tokens_incomplete"] = incomplete
	if _, err := tx.swap(&models.Turn{}, columns, "id = ?", turn.ID); err != nil {
		return err
	}
	if run.ID != "" {
		if err := tx.runUsage(run, r); err != nil {
			return err
		}
		if _, err := tx.swap(&models.Run{}, map[string]any{"tokens_incomplete": run.Tokens.Incomplete || incomplete}, "id = ?", run.ID); err != nil {
			return err
		}
		if err := tx.cursor(run.ID, map[string]any{"last_completed_turn_id": turn.ID, "last_loop_check_at": tx.Now}); err != nil {
			return err
		}
	}
	payload := map[string]any{"turn_id": turn.ID, "thread_id": turn.ThreadID, "status": string(r.Status)}
	if r.Error != "" {
		payload["error"], payload["error_kind"] = r.Error, r.ErrorKind
	}
	_, err := tx.append(models.Event{
		WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID, RunID: turn.RunID,
		Type: models.EventTurnEnded, Payload: payload,
	})
	return err
}

// wakeAfterTurn wakes the loop, whose plan follows from the turn's end, and the
// thread's sender when it holds messages back. The assignment's workflow has
// nothing to do until the plan gives it a command.
func (tx *Tx) wakeAfterTurn(b models.Binding) error {
	err := tx.wakeLoop(b.WorkspaceID, b.TeamID)
	res := tx.db.Model(&models.OutboxItem{}).Where("thread_id = ? AND state IN ('pending','sending')", b.ThreadID).UpdateColumn("not_before", nil)
	if res.Error == nil && res.RowsAffected > 0 {
		err = errors.Join(err, tx.wake(WakeDelivery, DeliveryWorkflow(b.ThreadID), b.ThreadID))
	}
	return errors.Join(err, res.Error)
}

// finishRun writes the proven end of a managed run. A status is given for runs that did not
// reach a final one by themselves.
func (tx *Tx) finishRun(runID string, status models.RunStatus, reason string) error {
	columns := map[string]any{"ended_at": tx.ms(), "end_reason": reason, "updated_at": tx.ms()}
	if status != "" {
		columns["status"] = status
	}
	ok, err := tx.swap(&models.Run{}, columns, "id = ? AND ended_at IS NULL", runID)
	if err != nil || !ok {
		return err
	}
	if _, err := tx.swap(&models.Task{}, map[string]any{"status": "completed"}, "run_id = ?", runID); err != nil {
		return err
	}
	run, err := get[models.Run](tx.db, "run", runID)
	if err != nil {
		return err
	}
	_, err = tx.append(models.Event{
		WorkspaceID: run.WorkspaceID, TeamID: run.TeamID, AssignmentID: run.AssignmentID, RunID: run.ID,
		Type: models.EventRunEnded, Payload: map[string]any{"status": string(run.Status), "reason": reason},
	})
	return errors.Join(err, tx.wakeLoop(run.WorkspaceID, run.TeamID), tx.wakeEnded(run.AssignmentID))
}

// wakeEnded lets the workflow of an assignment that is over finish, now that its
// run has ended. While it is not over, the end of a run is nothing to act upon but
// for the hook that it owes.
func (tx *Tx) wakeEnded(assignmentID string) error {
	a, err := get[models.Assignment](tx.db, "assignment", assignmentID)
	if err != nil {
		return err
	}
	_, owed, err := owedAfterRun(tx.db, assignmentID)
	if err != nil || !owed && !a.Status.Terminal() {
		return err
	}
	return tx.wakeAssignment(assignmentID)
}

// EndRun writes the end of a run whose thread was seen idle with no command left
// behind: after an interrupt, or when nothing was ever started.
func (l *Ledger) EndRun(ctx context.Context, runID, reason string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error { return tx.finishRun(runID, "", reason) })
}
