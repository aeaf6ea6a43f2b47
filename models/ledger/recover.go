package ledger

import (
	"context"

	"coxswain/models"
)

// RaiseAll wakes every workflow that has to be alive, for an engine that lost its
// memory. Twice is harmless.
func (l *Ledger) RaiseAll(ctx context.Context) error {
	return l.transact(ctx, full, models.Principal{}, func(tx *Tx) error {
		_, err := tx.raiseAll()
		return err
	})
}

// raiseAll raises every workflow that has to be alive, and the clock; it returns how
// many those are. One that was allowed to end has nothing to do until it is woken.
func (tx *Tx) raiseAll() (int, error) {
	if err := tx.wakeClock(); err != nil { // so that a new ledger's stands there, too
		return 0, err
	}
	res := tx.db.Exec(`UPDATE wakeups SET generation = generation + 1,
	  updated_at = CASE WHEN generation > acknowledged THEN updated_at ELSE ? END WHERE ended < generation`, tx.ms())
	return int(res.RowsAffected), res.Error
}

// Recovered is what a recovery by hand raised.
type Recovered struct {
	Workflows int `json:"workflows"` // that the relay starts again or wakes: those that have to be alive
}

// RecoverWorkflows wakes every workflow from the ledger alone, as the relay does by
// itself when the engine lost its memory. Twice is harmless: a workflow does only
// what the ledger still asks for. FORBIDDEN for agents.
func (l *Ledger) RecoverWorkflows(ctx context.Context, c *Call) (Recovered, error) {
	return write(ctx, l, c, "recover_workflows", args{}, func(tx *Tx) (Recovered, error) {
		if err := tx.needUnbound("recover workflows", models.RoleHuman, models.RoleNode); err != nil {
			return Recovered{}, err
		}
		n, err := tx.raiseAll()
		if err != nil {
			return Recovered{}, err
		}
		_, err = tx.append(models.Event{Type: models.EventWorkflowsRecovered, Payload: map[string]any{"workflows": n}})
		return Recovered{Workflows: n}, err
	})
}
