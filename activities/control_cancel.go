package activities

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

// WebUI is the actor as which a cancel in Temporal's Web UI acts.
const WebUI = "web-ui"

// CancelInput names what a cancelled workflow serves, and the workflow's run, which
// can be cancelled once only.
type CancelInput struct {
	ID    string `json:"id"`
	RunID string `json:"run_id"`
}

func (in CancelInput) call() *ledger.Call {
	return ledger.As(models.Principal{ActorID: WebUI, Role: models.RoleHuman}).Request("cancel-" + in.RunID)
}

// CancelAssignment calls the assignment of a cancelled workflow off, unless it is
// over.
func (c *Control) CancelAssignment(ctx context.Context, in CancelInput) error {
	a, err := c.Ledger.Assignment(ctx, in.ID)
	if err == nil && !a.Status.Terminal() {
		_, err = c.Ledger.CancelAssignment(ctx, in.call(), in.ID, nil, "cancelled in the Web UI")
	}
	return failure(err)
}

// TurnLoopOff turns the loop of a cancelled workflow off.
func (c *Control) TurnLoopOff(ctx context.Context, in CancelInput) error {
	_, err := c.Ledger.TurnLoopOff(ctx, in.call(), in.ID)
	return failure(err)
}
