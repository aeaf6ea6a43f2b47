package workflows

import (
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
)

// Delivery is the only sender into a thread, one message at a time, while
// messages are pending.
func Delivery(ctx workflow.Context, s activities.Subject) error {
	var d sender
	work, err := d.setup(ctx, s, nil)
	if err != nil {
		return err
	}
	return d.run(work)
}

type sender struct{ base }

func (d *sender) run(ctx workflow.Context) error {
	for {
		d.drain()
		var look activities.DeliveryLook
		if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.LookAtThread, d.subject).Get(ctx, &look); err != nil {
			return err
		}
		if err := d.show(ctx, look.Card); err != nil {
			return err
		}
		if err := d.renewed(ctx, look.Generation, Delivery); err != nil {
			return err
		}
		done, err := d.step(ctx, look)
		if err != nil || done {
			return err
		}
	}
}

func (d *sender) step(ctx workflow.Context, look activities.DeliveryLook) (done bool, err error) {
	switch {
	case look.Due:
		err := workflow.ExecuteActivity(effect(ctx, look.NodeID, "deliver message"), node.Deliver, activities.DeliverInput{ThreadID: d.subject.ID}).Get(ctx, nil)
		if err != nil {
			return false, d.retryLater(ctx, "deliver", err)
		}
		return false, nil
	case look.Pending == 0:
		return d.mayEnd(ctx, look.Generation)
	}
	return false, d.wait(ctx, look.WakeAt)
}
