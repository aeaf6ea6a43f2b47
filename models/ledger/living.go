package ledger

import (
	"context"

	"coxswain/models"
)

// Living is a workflow that has to be alive: it has not been allowed to end since it
// was last woken.
type Living struct {
	WorkflowID string
	Kind       string
	Subject    string
	Generation int64
}

// LivingWorkflows lists, by id, workflows that have to be alive and have read all
// that was raised, so that nobody would bring them back if they were gone. after is
// the last id of the page before, "" for the first.
func (l *Ledger) LivingWorkflows(ctx context.Context, after string, limit int) ([]Living, error) {
	var rows []Living
	err := l.read(ctx).Table("wakeups").Select("workflow_id, kind, subject, generation").
		Where("ended < generation AND generation = acknowledged AND workflow_id > ?", after).
		Order("workflow_id").Limit(limit).Find(&rows).Error
	return rows, err
}

// Revive wakes a workflow that was found missing, unless it was woken or allowed to
// end since it was listed.
func (l *Ledger) Revive(ctx context.Context, w Living) (bool, error) {
	revived := false
	err := l.transact(ctx, normal, models.Principal{}, func(tx *Tx) error {
		row, found, err := find[wakeup](tx.db, "workflow_id = ? AND generation = ? AND ended < generation", w.WorkflowID, w.Generation)
		if revived = found; err != nil || !found {
			return err
		}
		return tx.wake(row.Kind, row.WorkflowID, row.Subject)
	})
	return revived, err
}

// WakeThreads lets the senders of threads look again.
func (l *Ledger) WakeThreads(ctx context.Context, threadIDs []string) error {
	return l.transact(ctx, normal, systemPrincipal(), func(tx *Tx) error {
		for _, id := range threadIDs {
			if err := tx.wake(WakeDelivery, DeliveryWorkflow(id), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Jam is a workflow that does not read what was raised for it, or does not live.
type Jam struct {
	WorkflowID string `json:"workflow_id"`
	Kind       string `json:"kind"`
	Subject    string `json:"subject"`
	Reason     string `json:"reason" gorm:"column:jam"`
}

// NoteJam records why a workflow does not read, and the event of it once, until it
// reads again.
func (l *Ledger) NoteJam(ctx context.Context, workflowID, reason string) error {
	return l.transact(ctx, normal, systemPrincipal(), func(tx *Tx) error {
		var before Jam
		err := tx.db.Table("wakeups").Where("workflow_id = ?", workflowID).Limit(1).Find(&before).Error
		if err != nil || before.WorkflowID == "" || before.Reason == reason {
			return err
		}
		if err := tx.db.Table("wakeups").Where("workflow_id = ?", workflowID).Update("jam", reason).Error; err != nil || before.Reason != "" {
			return err
		}
		_, err = tx.append(models.Event{Type: models.EventWorkflowJammed, Payload: map[string]any{
			"workflow_id": workflowID, "kind": before.Kind, "subject": before.Subject, "reason": reason,
		}})
		return err
	})
}

// jams lists what is jammed, by id, at most limit.
func (l *Ledger) jams(ctx context.Context, limit int) ([]Jam, error) {
	rows := []Jam{}
	err := l.read(ctx).Table("wakeups").Select("workflow_id, kind, subject, jam").
		Where("jam <> ''").Order("workflow_id").Limit(limit).Find(&rows).Error
	return rows, err
}
