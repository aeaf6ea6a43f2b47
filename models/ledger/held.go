package ledger

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// HeldRun is a run that could go on but for a time: a back-off, a usage limit or a
// tripped breaker.
type HeldRun struct {
	RunID        string     `json:"run_id"`
	AssignmentID string     `json:"assignment_id"`
	TeamID       string     `json:"team_id"`
	Code         string     `json:"code"` // usage_limit, breaker or retry
	Reason       string     `json:"reason"`
	Until        *time.Time `json:"until,omitempty"`
}

// Held lists the runs that wait for a time, the oldest first, of one assignment or, for
// "", of all.
func (l *Ledger) Held(ctx context.Context, assignmentID string) ([]HeldRun, error) {
	var rows []heldRow
	err := heldRows(l.read(ctx), assignmentID, l.Now()).Scan(&rows).Error
	out := make([]HeldRun, 0, len(rows))
	for _, r := range rows {
		out = addHeld(out, r.held(l.Now()))
	}
	return out, err
}

// addHeld adds what holds a run. Rows of one run, whose assignment and whose team are
// parked both, stand together: the one that counts is told.
func addHeld(to []HeldRun, h HeldRun) []HeldRun {
	last := len(to) - 1
	switch {
	case h.Code == "":
	case last < 0 || to[last].RunID != h.RunID:
		return append(to, h)
	case h.Code == models.StillBreaker && (to[last].Code != models.StillBreaker || to[last].Until.Before(*h.Until)):
		to[last] = h
	}
	return to
}

// heldRow is a run without an active turn, with what may hold it.
type heldRow struct {
	RunID, AssignmentID, TeamID string
	HeldUntil, NotBefore        *int64
	RetryReason, Parked         string
	ParkedAt                    *int64
}

func heldRows(db *gorm.DB, assignmentID string, now time.Time) *gorm.DB {
	scope, values := "", []any{now.UnixMilli(), now.UnixMilli(), true}
	if assignmentID != "" {
		scope, values = " AND r.assignment_id = ?", append(values, assignmentID)
	}
	return db.Raw(`SELECT r.id AS run_id, r.assignment_id, r.team_id, h.held_until, c.not_before, coalesce(c.reason, '') AS retry_reason,
	    coalesce(k.reason, '') AS parked, k.last_at AS parked_at
	  FROM runs r JOIN bindings b ON b.id = r.binding_id
	  LEFT JOIN accounts h ON h.id = b.node_id || '/' || b.adapter_kind AND h.held_until > ?
	  LEFT JOIN commands c ON c.run_id = r.id AND c.type = 'resume_assignment' AND c.state IN ('intended','unknown') AND c.not_before > ?
	  LEFT JOIN breakers k ON k.id IN ('team:' || r.team_id, 'assignment:' || r.assignment_id) AND k.tripped = ?
	  WHERE r.ended_at IS NULL AND r.status IN ('claimed','running')
	    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.run_id = r.id AND t.status = 'active')`+scope+` ORDER BY r.started_at, r.id`, values...)
}

func (r heldRow) held(now time.Time) HeldRun {
	h := HeldRun{RunID: r.RunID, AssignmentID: r.AssignmentID, TeamID: r.TeamID}
	until := func(ms int64, d time.Duration) { t := time.UnixMilli(ms).UTC().Add(d); h.Until = &t }
	switch {
	case r.ParkedAt != nil && time.UnixMilli(*r.ParkedAt).Add(models.BreakerWindow).After(now):
		until(*r.ParkedAt, models.BreakerWindow)
		h.Code = models.StillBreaker
		h.Reason = fmt.Sprintf("parked after identical failures until answered or %s: %s", h.Until.Format("15:04Z"), r.Parked)
	case r.HeldUntil != nil:
		until(*r.HeldUntil, 0)
		h.Code = models.StillUsageLimit
		h.Reason = "usage limit until " + h.Until.Format("2006-01-02 15:04Z")
	case r.NotBefore != nil:
		until(*r.NotBefore, 0)
		h.Code = models.StillRetry
		h.Reason = fmt.Sprintf("%s: tried again at %s", r.RetryReason, h.Until.Format("15:04:05Z"))
	}
	return h
}
