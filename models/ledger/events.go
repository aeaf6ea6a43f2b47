package ledger

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// eventsPerPage is the number of events of a query that names none.
const eventsPerPage = 200

// EventFilter narrows a list of events; zero fields do not.
type EventFilter struct {
	After        int64 // only later sequences
	WorkspaceID  string
	TeamID       string
	AssignmentID string
	RunID        string
	ActorID      string
	Types        []string
	Statuses     []string
	Since, Until time.Time // at Since or later, before Until
	Limit        int       // 200 when 0
	Newest       bool      // the last Limit events instead of the first
}

// Events lists events in ascending sequence.
func (l *Ledger) Events(ctx context.Context, f EventFilter) ([]models.Event, error) {
	q := l.read(ctx).Where("sequence > ?", f.After)
	q = where(q, "workspace_id", f.WorkspaceID)
	q = where(q, "team_id", f.TeamID)
	q = where(q, "assignment_id", f.AssignmentID)
	q = where(q, "run_id", f.RunID)
	q = where(q, "actor_id", f.ActorID)
	q = f.more(q)
	if f.Limit <= 0 {
		f.Limit = eventsPerPage
	}
	order := "sequence"
	if f.Newest {
		order = "sequence DESC"
	}
	rows := []models.Event{}
	err := q.Order(order).Limit(f.Limit).Find(&rows).Error
	if f.Newest {
		slices.Reverse(rows)
	}
	return rows, err
}

// more adds the conditions that are not one equal value.
func (f EventFilter) more(q *gorm.DB) *gorm.DB {
	if len(f.Types) > 0 {
		q = q.Where("type IN ?", f.Types)
	}
	if len(f.Statuses) > 0 {
		q = q.Where("status IN ?", f.Statuses)
	}
	if !f.Since.IsZero() {
		q = q.Where("created_at >= ?", f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		q = q.Where("created_at < ?", f.Until.UnixMilli())
	}
	return q
}

// LastSequence is the sequence of the newest event, 0 before the first.
func (l *Ledger) LastSequence(ctx context.Context) (int64, error) {
	var last int64
	return last, l.read(ctx).Raw("SELECT COALESCE(max(sequence), 0) FROM events").Scan(&last).Error
}

// AppendRequest is an event that a caller writes about an assignment.
type AppendRequest struct {
	AssignmentID string
	Type         string // free, but none of models.ReservedEventTypes
	Status       string // proposed, observed (when blank), completed_gate_passed, completed_gate_failed
	Base         *int
	Payload      map[string]any
}

// AppendEvent records an event such as progress or evidence and raises the
// assignment's revision. Errors, in the order of their checks: FORBIDDEN,
// INVALID_ARGUMENT (status and type), NOT_FOUND, STALE_REVISION, INVALID_ARGUMENT
// (the assignment's status), FORBIDDEN (an agent without the active run);
// SECRET_DETECTED before all of them.
func (l *Ledger) AppendEvent(ctx context.Context, c *Call, r AppendRequest) (models.Event, error) {
	in := args{"assignment_id": r.AssignmentID, "event_type": r.Type, "status": r.Status, "base_revision": r.Base, "payload": r.Payload}
	return write(ctx, l, c, "append_event", in, func(tx *Tx) (models.Event, error) { return tx.appendByCaller(r) })
}

func (tx *Tx) appendByCaller(r AppendRequest) (models.Event, error) {
	var none models.Event
	if err := tx.need("append event", models.RoleAgent, models.RoleIntegrator, models.RoleHuman); err != nil {
		return none, err
	}
	r.Status = first(r.Status, models.EventObserved)
	if err := checkEventKind(r.Type, r.Status); err != nil {
		return none, err
	}
	a, err := tx.reach(r.AssignmentID, r.Base)
	if err != nil {
		return none, err
	}
	if a.Status.Terminal() || a.Status == models.AssignmentNeedsFix || a.Status == models.AssignmentBlocked {
		return none, models.Invalid("assignment_id", "assignment %q is %s and takes no events", a.ID, a.Status)
	}
	run, err := tx.ownRun(a)
	if err != nil && tx.By.Role == models.RoleAgent {
		return none, err
	}
	payload, err := object("payload", r.Payload)
	if err != nil {
		return none, err
	}
	if a, err = tx.advance(a, args{}); err != nil {
		return none, err
	}
	e := assignmentEvent(a, r.Type)
	e.RunID, e.Status, e.Payload = first(run.ID, a.ActiveRunID), r.Status, payload
	return tx.append(e)
}

// checkEventKind refuses types that only the ledger writes and the statuses of
// decisions.
func checkEventKind(kind, status string) error {
	if err := models.CheckID("event_type", kind); err != nil {
		return err
	}
	if slices.Contains(models.ReservedEventTypes(), kind) || len(kind) >= 4 && kind[:4] == "cox_" {
		return models.Invalid("event_type", "%q is written by the ledger only", kind)
	}
	if !models.AgentEventStatus(status) {
		return models.Invalid("status", "%q is none of proposed, observed, completed_gate_passed, completed_gate_failed; decisions are made by review", status)
	}
	return nil
}

// reach loads an assignment that the caller may touch, at its base revision.
func (tx *Tx) reach(id string, base *int) (models.Assignment, error) {
	a, err := loadAssignment(tx.db, id)
	if err != nil {
		return a, err
	}
	if err := tx.mayTouch(a); err != nil {
		return a, err
	}
	return a, checkBase(a, base)
}
