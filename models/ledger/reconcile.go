package ledger

import (
	"context"
	"time"

	"coxswain/models"
)

// NextDeadline is the earliest time at which Reconcile has something to do; nil
// when nothing waits for a time.
func (l *Ledger) NextDeadline(ctx context.Context) (*time.Time, error) {
	var ms *int64
	err := l.read(ctx).Raw(`SELECT min(t) FROM (
	    SELECT min(expires_at) AS t FROM tasks WHERE status = 'live'
	    UNION ALL
	    SELECT min(r.lease_expires_at) AS t FROM runs r WHERE ` + unnoticed + `) AS deadlines`).Scan(&ms).Error
	if err != nil || ms == nil {
		return nil, err
	}
	t := time.UnixMilli(*ms).UTC()
	return &t, nil
}

// unnoticed are the live runs whose expiry has no event yet.
const unnoticed = `r.ended_at IS NULL AND r.status IN ('claimed','running') AND NOT EXISTS (
  SELECT 1 FROM events e WHERE e.run_id = r.id AND e.type = 'run_stale' AND e.created_at >= r.lease_expires_at)`

// Reconciled counts what one reconcile transaction found.
type Reconciled struct {
	Vanished int // tasks that were not heard of in time
	Stale    int // runs whose claim expired
}

// Reconcile brings the stored status of expired tasks and claims up to date. It
// takes nothing from anybody: a stale run gets an observed event, and the planner
// decides (seed 000, lease expiry).
func (l *Ledger) Reconcile(ctx context.Context) (Reconciled, error) {
	var out Reconciled
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		out = Reconciled{}
		if err := tx.vanish(&out); err != nil {
			return err
		}
		return tx.markStale(&out)
	})
	return out, err
}

func (tx *Tx) vanish(out *Reconciled) error {
	var tasks []models.Task
	if err := tx.db.Where("status = 'live' AND expires_at <= ?", tx.ms()).Order("id").Find(&tasks).Error; err != nil {
		return err
	}
	for _, t := range tasks {
		if _, err := tx.swap(&models.Task{}, map[string]any{"status": "vanished", "version": t.Version + 1}, "id = ?", t.ID); err != nil {
			return err
		}
		run, _, err := find[models.Run](tx.db, "id = ?", t.RunID)
		if err != nil {
			return err
		}
		if _, err := tx.append(models.Event{
			WorkspaceID: run.WorkspaceID, TeamID: run.TeamID, AssignmentID: run.AssignmentID, RunID: run.ID,
			Type: models.EventTaskVanished, Payload: map[string]any{"task_id": t.ID, "expired_at": t.ExpiresAt},
		}); err != nil {
			return err
		}
		out.Vanished++
	}
	return nil
}

func (tx *Tx) markStale(out *Reconciled) error {
	var runs []models.Run
	err := tx.db.Table("runs AS r").Where("r.lease_expires_at <= ? AND "+unnoticed, tx.ms()).Order("r.id").Find(&runs).Error
	if err != nil {
		return err
	}
	for _, r := range runs {
		if _, err := tx.append(models.Event{
			WorkspaceID: r.WorkspaceID, TeamID: r.TeamID, AssignmentID: r.AssignmentID, RunID: r.ID,
			Type: models.EventRunStale, Payload: map[string]any{"lease_expires_at": r.LeaseExpiresAt, "session_ref": r.SessionRef},
		}); err != nil {
			return err
		}
		if err := tx.wakeLoop(r.WorkspaceID, r.TeamID); err != nil {
			return err
		}
		out.Stale++
	}
	return nil
}
