package ledger

import (
	"context"
	"time"
)

// TurnUnderWay is an active turn of a node, with whom it works for.
type TurnUnderWay struct {
	TurnID       string    `json:"turn_id"`
	ThreadID     string    `json:"thread_id"`
	RunID        string    `json:"run_id"`        // "" for an integrator
	AssignmentID string    `json:"assignment_id"` // "" for an integrator
	ActorID      string    `json:"actor_id"`
	StartedAt    time.Time `json:"started_at" gorm:"serializer:ms"`
}

// Name is what a person knows the turn by: its assignment, else who works.
func (t TurnUnderWay) Name() string {
	if t.AssignmentID != "" {
		return t.AssignmentID
	}
	return t.ActorID
}

// TurnsUnderWay lists the active turns of a node's threads, the oldest first.
func (l *Ledger) TurnsUnderWay(ctx context.Context, nodeID string) ([]TurnUnderWay, error) {
	out := []TurnUnderWay{}
	err := l.read(ctx).Raw(`SELECT t.id AS turn_id, t.thread_id, t.run_id, b.assignment_id, b.actor_id, t.started_at
	    FROM turns t JOIN bindings b ON b.id = t.binding_id
	    WHERE b.node_id = ? AND t.status = 'active' ORDER BY t.started_at, t.id`, nodeID).Scan(&out).Error
	return out, err
}
