package workflows

import (
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
)

// Nudge is one review nudge, until every handoff it names is decided or it is due
// again: it readies the integrator's thread, queues the prompt and waits its
// interval. The planner makes the next attempt.
func Nudge(ctx workflow.Context, s activities.Subject) error {
	var n nudge
	work, err := n.setup(ctx, s, nil)
	if err != nil {
		return err
	}
	return n.run(work)
}

type nudge struct{ base }

func (n *nudge) run(ctx workflow.Context) error {
	for {
		n.drain()
		var look activities.NudgeLook
		if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.LookAtNudge, n.subject).Get(ctx, &look); err != nil {
			return err
		}
		if err := n.show(ctx, look.Step.Card); err != nil {
			return err
		}
		if err := n.renewed(ctx, look.Generation, Nudge); err != nil {
			return err
		}
		done, err := n.step(ctx, look)
		if err != nil || done {
			return err
		}
	}
}

func (n *nudge) step(ctx workflow.Context, look activities.NudgeLook) (done bool, err error) {
	switch {
	case look.Step.Execute:
		if err := n.send(ctx, look.Step.NodeID); err != nil {
			return false, n.retryLater(ctx, "nudge", err)
		}
		return false, nil
	case look.Step.Done:
		team := activities.WakeTeamInput{WorkspaceID: look.Step.Card.WorkspaceID, TeamID: look.Step.Card.TeamID}
		if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.WakeTeam, team).Get(ctx, nil); err != nil {
			return false, err
		}
		return n.mayEnd(ctx, look.Generation)
	}
	return false, n.wait(ctx, look.Step.WakeAt)
}

// send readies the integrator's thread and queues the prompt.
func (n *nudge) send(ctx workflow.Context, nodeID string) error {
	in := activities.CommandInput{CommandID: n.subject.ID}
	var s activities.Started
	if err := workflow.ExecuteActivity(effect(ctx, nodeID, "integrator thread"), node.StartThread, in).Get(ctx, &s); err != nil || s.Closed || s.Failed {
		return err
	}
	return workflow.ExecuteLocalActivity(ledgerCall(ctx), control.QueueNudge,
		activities.ClaimInput{CommandID: in.CommandID, Owner: s.Owner}).Get(ctx, nil)
}
