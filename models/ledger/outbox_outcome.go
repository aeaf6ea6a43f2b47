package ledger

import (
	"context"
	"errors"
	"time"

	"coxswain/models"
)

// DropMessage ends an item that turned out to be unwanted and unsent.
func (l *Ledger) DropMessage(ctx context.Context, itemID, owner, reason string) error {
	return l.forItem(ctx, itemID, owner, func(tx *Tx, item models.OutboxItem) error {
		return tx.settleItem(item, models.OutboxDropped, reason)
	})
}

// Delivered writes the receipt: the message is in the thread's history, in that
// turn, which is recorded as started. No workflow is woken while that turn is all
// that there is to wait for.
func (l *Ledger) Delivered(ctx context.Context, itemID, owner, turnID string, resent bool) error {
	return l.forItem(ctx, itemID, owner, func(tx *Tx, item models.OutboxItem) error {
		reason := ""
		if resent {
			reason = "resent_after_unknown"
		}
		_, err := tx.swap(&models.OutboxItem{}, map[string]any{"state": models.OutboxDelivered, "turn_id": turnID, "delivered_at": tx.ms(), "reason": reason}, "id = ?", item.ID)
		if err != nil {
			return err
		}
		b, err := get[models.Binding](tx.db, "binding", item.BindingID)
		if err != nil {
			return err
		}
		if err := tx.turnStarted(b, TurnReport{ThreadID: item.ThreadID, TurnID: turnID, CauseID: item.ID}); err != nil {
			return err
		}
		_, err = tx.append(models.Event{
			WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID, RunID: item.RunID,
			Type: models.EventMessageDelivered, Payload: map[string]any{"message_id": item.ID, "command_id": item.CommandID, "turn_id": turnID, "kind": string(item.Kind), "resent_after_unknown": resent},
		})
		if err != nil {
			return err
		}
		under, err := tx.workGoesOn(item.RunID, turnID)
		if err != nil || under {
			return err
		}
		return tx.wakeLoop(b.WorkspaceID, b.TeamID)
	})
}

// workGoesOn tells whether a turn is under way that the planner just waits for: it
// has not ended, and its run, where it has one, was neither stopped nor called off.
func (tx *Tx) workGoesOn(runID, turnID string) (bool, error) {
	turn, err := get[models.Turn](tx.db, "turn", turnID)
	if err != nil || turn.Status.Ended() || runID == "" {
		return err == nil && !turn.Status.Ended(), err
	}
	run, err := get[models.Run](tx.db, "run", runID)
	return err == nil && (run.Status == models.RunClaimed || run.Status == models.RunRunning), err
}

// MaxDeliveryRefusals is how often a thread may refuse a message before its run
// waits for a person.
const MaxDeliveryRefusals = 6

// DeliveryFailed records that an attempt certainly sent nothing. The message is
// tried again after a back-off; after MaxDeliveryRefusals a person is asked.
func (l *Ledger) DeliveryFailed(ctx context.Context, itemID, owner, reason string) error {
	return l.forItem(ctx, itemID, owner, func(tx *Tx, item models.OutboxItem) error {
		if item.Attempts >= MaxDeliveryRefusals {
			return errors.Join(tx.settleItem(item, models.OutboxFailed, reason), tx.askDelivery(item, reason))
		}
		due := tx.Now.Add(models.BackOff(item.Attempts) / 10)
		_, err := tx.swap(&models.OutboxItem{}, map[string]any{"state": models.OutboxPending, "reason": reason, "not_before": due.UnixMilli()}, "id = ?", item.ID)
		return err
	})
}

// DeliveryUnknown records that an attempt may have sent the message; the next one
// reads the thread first, after a back-off.
func (l *Ledger) DeliveryUnknown(ctx context.Context, itemID, owner, reason string) error {
	return l.forItem(ctx, itemID, owner, func(tx *Tx, item models.OutboxItem) error {
		due := tx.Now.Add(models.BackOff(item.Attempts) / 10)
		_, err := tx.swap(&models.OutboxItem{}, map[string]any{"reason": reason, "not_before": due.UnixMilli()}, "id = ?", item.ID)
		return err
	})
}

// heldFor is when a message that was held back is looked at again, at the latest.
const heldFor = 15 * time.Second

// DeliveryHeld gives a message back as it was found, because the thread is busy
// or its adapter is not to be had. The end of the turn wakes the sender again.
func (l *Ledger) DeliveryHeld(ctx context.Context, itemID, owner, reason string) error {
	return l.forItem(ctx, itemID, owner, func(tx *Tx, item models.OutboxItem) error {
		due := tx.Now.Add(heldFor)
		columns := map[string]any{"attempts": item.Attempts - 1, "not_before": due.UnixMilli(), "reason": reason}
		if item.Attempts == 1 {
			columns["state"], columns["owner"] = models.OutboxPending, ""
		}
		_, err := tx.swap(&models.OutboxItem{}, columns, "id = ?", item.ID)
		return err
	})
}

func (tx *Tx) askDelivery(item models.OutboxItem, reason string) error {
	b, err := get[models.Binding](tx.db, "binding", item.BindingID)
	if err != nil {
		return err
	}
	in := models.PlanInput{WorkspaceID: b.WorkspaceID, TeamID: b.TeamID}
	return tx.ask(in, models.Ask{
		RunID: item.RunID, AssignmentID: b.AssignmentID, Kind: "delivery_failed",
		Prompt: "The message " + item.ID + " could not be delivered: " + reason + ". Answer to try again.",
	})
}

// forItem runs fn on an item that the attempt still owns.
func (l *Ledger) forItem(ctx context.Context, itemID, owner string, fn func(*Tx, models.OutboxItem) error) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		item, err := get[models.OutboxItem](tx.db, "message", itemID)
		if err != nil || item.Owner != owner || item.State != models.OutboxSending {
			return err
		}
		return fn(tx, item)
	})
}
