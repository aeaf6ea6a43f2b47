package workflows

import (
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
	"coxswain/models/ledger"
)

// Clock sleeps until the earliest deadline of the ledger, then lets one reconcile
// transaction bring expired rows up to date. It lives as long as the ledger.
func Clock(ctx workflow.Context, s activities.Subject) error {
	var c clock
	work, err := c.setup(ctx, s, nil)
	if err != nil {
		return err
	}
	return c.run(work)
}

type clock struct{ base }

func (c *clock) run(ctx workflow.Context) error {
	for {
		c.drain()
		var look activities.ClockLook
		if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.Reconcile, c.subject).Get(ctx, &look); err != nil {
			return err
		}
		card := ledger.Card{Status: "asleep", Text: "**Clock** · no deadline\n"}
		if look.Deadline != nil {
			card.Text = "**Clock** · next deadline " + look.Deadline.Format("2006-01-02 15:04:05Z") + "\n"
		}
		if err := c.show(ctx, card); err != nil {
			return err
		}
		if err := c.renewed(ctx, look.Generation, Clock); err != nil {
			return err
		}
		if err := c.wait(ctx, look.Deadline); err != nil {
			return err
		}
	}
}
