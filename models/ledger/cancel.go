package ledger

import (
	"context"
	"errors"
	"maps"

	"coxswain/models"
)

// CancelAssignment ends an assignment at once, whatever live status it has. A run
// that a node manages keeps its slot until its turn is seen to end. Errors, in
// the order of their checks: FORBIDDEN, NOT_FOUND, STALE_REVISION,
// INVALID_ARGUMENT (it is over already); SECRET_DETECTED before all of them.
func (l *Ledger) CancelAssignment(ctx context.Context, c *Call, id string, base *int, reason string) (models.Assignment, error) {
	in := args{"assignment_id": id, "base_revision": base, "reason": reason}
	return write(ctx, l, c, "cancel_assignment", in, func(tx *Tx) (models.Assignment, error) {
		a, err := tx.endable("cancel assignment", id, base)
		if err != nil {
			return a, err
		}
		return tx.stop(a, stopping{
			status: models.AssignmentCancelled, run: models.RunCancelled,
			event: models.EventAssignmentCancelled, payload: map[string]any{"reason": reason},
		})
	})
}

// SupersedeAssignment ends an assignment in favour of another one of the same
// workspace; what waits for it waits for that one from then on. Errors as
// CancelAssignment, and NOT_FOUND, INVALID_ARGUMENT or DEPENDENCY_CYCLE for the
// other one.
func (l *Ledger) SupersedeAssignment(ctx context.Context, c *Call, id, by string, base *int, reason string) (models.Assignment, error) {
	in := args{"assignment_id": id, "superseded_by": by, "base_revision": base, "reason": reason}
	return write(ctx, l, c, "supersede_assignment", in, func(tx *Tx) (models.Assignment, error) {
		return tx.supersede(id, by, base, reason)
	})
}

func (tx *Tx) supersede(id, by string, base *int, reason string) (models.Assignment, error) {
	a, err := tx.endable("supersede assignment", id, base)
	if err != nil {
		return a, err
	}
	if err := tx.replaces(a, by); err != nil {
		return a, err
	}
	metadata, err := jsonText(mergePatch(a.Metadata, map[string]any{"superseded_by": by}))
	if err != nil {
		return a, err
	}
	return tx.stop(a, stopping{
		status: models.AssignmentSuperseded, run: models.RunSuperseded, event: models.EventAssignmentSuperseded,
		payload: map[string]any{"reason": reason, "superseded_by": by},
		columns: map[string]any{"superseded_by": by, "metadata": metadata},
	})
}

// endable loads an assignment that the caller may end.
func (tx *Tx) endable(action, id string, base *int) (models.Assignment, error) {
	if err := tx.need(action, models.RoleIntegrator, models.RoleHuman); err != nil {
		return models.Assignment{}, err
	}
	a, err := tx.reach(id, base)
	if err == nil && a.Status.Terminal() {
		err = models.Invalid("assignment_id", "assignment %q is %s already", a.ID, a.Status).With("status", string(a.Status)).Hint("cox assignment show %s", a.ID)
	}
	return a, err
}

// replaces checks the assignment that takes over.
func (tx *Tx) replaces(a models.Assignment, by string) error {
	if by == a.ID {
		return models.Invalid("superseded_by", "an assignment cannot supersede itself").Hint("cox assignment supersede --help")
	}
	other, err := get[models.Assignment](tx.db, "assignment", by)
	if err != nil {
		return err
	}
	if other.WorkspaceID != a.WorkspaceID {
		return models.Invalid("superseded_by", "assignment %q belongs to workspace %q, not %q", by, other.WorkspaceID, a.WorkspaceID).Hint("cox assignment list --workspace %s", a.WorkspaceID)
	}
	if other.Status == models.AssignmentCancelled || other.Status == models.AssignmentSuperseded {
		return models.Invalid("superseded_by", "assignment %q is itself %s", by, other.Status).Hint("cox assignment show %s", by)
	}
	return tx.mayReplace(a, other)
}

// stopping is how an assignment ends without a review.
type stopping struct {
	status  models.AssignmentStatus
	run     models.RunStatus
	event   string
	payload map[string]any
	columns map[string]any // further columns; may be nil
}

// stop ends an assignment and its open run, and plans the interrupt. The active
// run stays named, so that the interrupt finds it.
func (tx *Tx) stop(a models.Assignment, s stopping) (models.Assignment, error) {
	columns := map[string]any{
		"status": s.status, "completed_at": tx.ms(), "claimed_by": "", "lease_expires_at": nil,
		"handoff_event_id": "", "deferred_reason": "",
	}
	maps.Copy(columns, s.columns)
	handoff := a.HandoffEventID
	a, err := tx.advance(a, columns)
	if err != nil {
		return a, err
	}
	run, open, err := tx.openRun(a.ID)
	if err != nil {
		return a, err
	}
	if open {
		if err := errors.Join(tx.closeRun(run, s.run, string(s.status)), tx.withdraw(run.ID, string(s.status))); err != nil {
			return a, err
		}
	}
	if err := tx.closeInterventions(a.ID); err != nil {
		return a, err
	}
	e := assignmentEvent(a, s.event)
	e.RunID, e.Payload = run.ID, s.payload
	if _, err := tx.append(e); err != nil {
		return a, err
	}
	if err := tx.planAssignment(a.ID); err != nil {
		return a, err
	}
	if err := tx.wakeDependents(a.ID); err != nil {
		return a, err
	}
	return a, tx.wakeWork(a, handoff)
}

// withdraw closes what was to be said to a run and nobody has begun to say, such as
// a resume in its back-off, so that the run's end need not wait for it.
func (tx *Tx) withdraw(runID, why string) error {
	var cmds []models.Command
	err := tx.db.Where("run_id = ? AND type = 'resume_assignment' AND state = 'intended' AND owner = ''", runID).Order("id").Find(&cmds).Error
	if err != nil {
		return err
	}
	for _, cmd := range cmds {
		if err := tx.closeCommand(cmd, models.CommandFailed, "not_wanted", "the assignment is "+why); err != nil {
			return err
		}
	}
	var items []models.OutboxItem
	if err := tx.db.Where("run_id = ? AND state = 'pending' AND owner = ''", runID).Order("id").Find(&items).Error; err != nil {
		return err
	}
	for _, item := range items {
		if err := tx.settleItem(item, models.OutboxDropped, "the assignment is "+why); err != nil {
			return err
		}
	}
	return nil
}
