package workflows

import (
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
)

// Loop runs one planning pass of a team at each wake-up, and makes the capability
// probes that the plan asks for. It lives while the loop is on or work is live.
func Loop(ctx workflow.Context, s activities.Subject) error {
	var l loop
	work, err := l.setup(ctx, s, control.TurnLoopOff)
	if err != nil {
		return err
	}
	return l.run(work)
}

type loop struct{ base }

func (l *loop) run(ctx workflow.Context) error {
	for {
		l.drain()
		var look activities.LoopLook
		if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.PlanTeam, l.subject).Get(ctx, &look); err != nil {
			return err
		}
		if err := l.show(ctx, look.Step.Card); err != nil {
			return err
		}
		if err := l.renewed(ctx, look.Generation, Loop); err != nil {
			return err
		}
		for _, p := range look.Refresh {
			err := workflow.ExecuteActivity(effect(ctx, p.NodeID, "probe adapter"), node.Probe, activities.CommandInput{CommandID: p.CommandID}).Get(ctx, nil)
			if err != nil {
				if err := l.retryLater(ctx, "probe adapter", err); err != nil {
					return err
				}
			}
		}
		if done, err := l.rest(ctx, look); err != nil || done {
			return err
		}
	}
}

// rest waits for the next wake-up. A pass that probed looks again at once.
func (l *loop) rest(ctx workflow.Context, look activities.LoopLook) (done bool, err error) {
	if len(look.Refresh) > 0 {
		return false, nil
	}
	if look.Step.Idle {
		if done, err := l.mayEnd(ctx, look.Generation); err != nil || done {
			return done, err
		}
	}
	return false, l.wait(ctx, nil)
}
