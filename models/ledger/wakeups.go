package ledger

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"coxswain/models"
	"coxswain/models/ledger/failpoint"
)

// The kinds of workflows that the relay starts and signals.
const (
	WakeLoop       = "loop"
	WakeAssignment = "assignment"
	WakeNudge      = "nudge"
	WakeDelivery   = "delivery"
	WakeClock      = "clock"
)

// LoopWorkflow is the workflow id of a team's loop, without the ledger's prefix.
func LoopWorkflow(workspaceID, teamID string) string {
	return WakeLoop + ":" + models.IDPart(workspaceID) + ":" + models.IDPart(teamID)
}

// AssignmentWorkflow is the workflow id of an assignment's life.
func AssignmentWorkflow(id string) string { return WakeAssignment + ":" + models.IDPart(id) }

// NudgeWorkflow is the workflow id of one review nudge.
func NudgeWorkflow(commandID string) string { return WakeNudge + ":" + models.IDPart(commandID) }

// DeliveryWorkflow is the workflow id of the only sender into a thread.
func DeliveryWorkflow(threadID string) string { return WakeDelivery + ":" + models.IDPart(threadID) }

// ClockWorkflow is the workflow id of the ledger's clock.
func ClockWorkflow() string { return WakeClock + ":ledger" }

// wake raises the generation of a workflow, so that the relay starts or signals
// it until its own ledger read has recorded that generation.
func (tx *Tx) wake(kind, workflowID, subject string) error {
	return tx.db.Exec(`INSERT INTO wakeups (workflow_id, kind, subject, generation, acknowledged, updated_at) VALUES (?, ?, ?, 1, 0, ?)
	  ON CONFLICT (workflow_id) DO UPDATE SET generation = wakeups.generation + 1,
	    updated_at = CASE WHEN wakeups.generation > wakeups.acknowledged THEN wakeups.updated_at ELSE excluded.updated_at END`,
		workflowID, kind, subject, tx.ms()).Error
}

// wakeup adds the full id of what the workflow serves, which its workflow id may
// hold only shortened.
type wakeup struct {
	models.Wakeup `gorm:"embedded"`
	Subject       string
}

func (wakeup) TableName() string { return "wakeups" }

func (tx *Tx) wakeLoop(workspaceID, teamID string) error {
	return tx.wake(WakeLoop, LoopWorkflow(workspaceID, teamID), teamID)
}

func (tx *Tx) wakeAssignment(id string) error {
	return tx.wake(WakeAssignment, AssignmentWorkflow(id), id)
}

// namesEvent finds the commands whose list of events, stored as JSON, holds a quoted
// id; written with what every database has.
const namesEvent = "replace(event_ids, ?, '') <> event_ids"

func quoted(id string) string { return `"` + id + `"` }

// wakeNudges wakes the nudges that wait for a decision on a handoff.
func (tx *Tx) wakeNudges(teamID, eventID string) error {
	if eventID == "" {
		return nil
	}
	var ids []string
	err := tx.db.Model(&models.Command{}).Where("team_id = ? AND type = 'nudge_review' AND state <> 'failed' AND "+namesEvent, teamID, quoted(eventID)).
		Order("id").Pluck("id", &ids).Error
	for _, id := range ids {
		if err == nil {
			err = tx.wake(WakeNudge, NudgeWorkflow(id), id)
		}
	}
	return err
}

func (tx *Tx) wakeClock() error { return tx.wake(WakeClock, ClockWorkflow(), "") }

// Due is one workflow that has something to read.
type Due struct {
	WorkflowID   string
	Kind         string
	Subject      string // the id it serves: team, assignment, command or thread
	Generation   int64
	Acknowledged int64 // the generation that its last read covered
}

// DueWakeups lists workflows whose generation is ahead of what they recorded, the one
// that waits longest first, at most limit.
func (l *Ledger) DueWakeups(ctx context.Context, limit int) ([]Due, error) {
	return dueWakeups(l.read(ctx).Order("updated_at, workflow_id"), limit)
}

// NextWakeups is what to wake next while more wait than can be woken at a time, at most
// about limit: whatever plans, watches and carries out before the messages, whose number
// has no bound, and of these some of the newest beside the oldest. So a long queue of
// messages holds up no new work.
func (l *Ledger) NextWakeups(ctx context.Context, limit int) ([]Due, error) {
	out, err := l.DueWakeups(ctx, limit)
	if err != nil || len(out) < limit {
		return out, err // it is all there is, as it nearly always is
	}
	out = nil
	for _, lane := range []struct {
		kinds, order string
		limit        int
	}{
		{"kind <> ?", "updated_at, workflow_id", limit},
		{"kind = ?", "updated_at DESC, workflow_id DESC", (limit + 3) / 4},
		{"kind = ?", "updated_at, workflow_id", limit},
	} {
		rows, err := dueWakeups(l.read(ctx).Where(lane.kinds, WakeDelivery).Order(lane.order), lane.limit)
		if err != nil {
			return nil, err
		}
		for _, d := range rows {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// OpenWakeups are those of some workflows that have something to read.
func (l *Ledger) OpenWakeups(ctx context.Context, workflowIDs []string) ([]Due, error) {
	var out []Due
	for some := range slices.Chunk(workflowIDs, 500) {
		rows, err := dueWakeups(l.read(ctx).Where("workflow_id IN ?", some), len(some))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

func dueWakeups(db *gorm.DB, limit int) ([]Due, error) {
	var rows []Due
	err := db.Table("wakeups").Select("workflow_id, kind, subject, generation, acknowledged").
		Where("generation > acknowledged").Limit(limit).Find(&rows).Error
	return rows, err
}

// Acknowledge records that a workflow is about to read the ledger and returns the
// generation that its read will cover. It is called before the read.
func (l *Ledger) Acknowledge(ctx context.Context, workflowID string) (int64, error) {
	row, found, err := find[wakeup](l.read(ctx), "workflow_id = ?", workflowID)
	if err != nil || !found {
		return 0, err
	}
	if row.Acknowledged >= row.Generation {
		return row.Generation, nil
	}
	err = l.transact(ctx, normal, models.Principal{}, func(tx *Tx) error {
		return tx.db.Table("wakeups").Where("workflow_id = ? AND acknowledged < ?", workflowID, row.Generation).
			Updates(map[string]any{"acknowledged": row.Generation, "jam": ""}).Error
	})
	failpoint.Hit(failpoint.WakeAcknowledged)
	return row.Generation, err
}

// Rest tells whether a workflow may begin anew: only while nothing was raised since
// the generation that its last read covered.
func (l *Ledger) Rest(ctx context.Context, workflowID string, generation int64) (bool, error) {
	row, found, err := find[wakeup](l.read(ctx), "workflow_id = ?", workflowID)
	return !found || row.Generation == generation, err
}

// End is Rest for a workflow that ends. What was granted is recorded: until it is
// woken again, nobody misses it.
func (l *Ledger) End(ctx context.Context, workflowID string, generation int64) (bool, error) {
	ok, err := l.Rest(ctx, workflowID, generation)
	if err != nil || !ok {
		return ok, err
	}
	err = l.transact(ctx, normal, models.Principal{}, func(tx *Tx) error {
		row, found, err := find[wakeup](tx.db, "workflow_id = ?", workflowID)
		if ok = !found || row.Generation == generation; err != nil || !found || !ok {
			return err
		}
		return tx.db.Table("wakeups").Where("workflow_id = ?", workflowID).Update("ended", generation).Error
	})
	return ok, err
}

// Watch is a connection of its own that sees the commits of every other one.
type Watch struct{ watcher watcher }

// Watch opens a watch on the ledger.
func (l *Ledger) Watch(ctx context.Context) (*Watch, error) {
	w, err := l.store.watch(ctx)
	if err != nil {
		return nil, err
	}
	return &Watch{watcher: w}, nil
}

// Changed tells whether anything was committed since the last call, or may have been
// while the database was out of reach. It costs a few microseconds.
func (w *Watch) Changed(ctx context.Context) (bool, error) { return w.watcher.changed(ctx) }

// Close releases the connection.
func (w *Watch) Close() error { return w.watcher.close() }
