package workflows

import (
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
	"coxswain/models"
)

// Assignment is one assignment's life from its first dispatch to its end: it
// carries out the start, resume and interrupt commands of all its runs, one at a
// time. Between two commands it waits; the node's observer watches the turns.
func Assignment(ctx workflow.Context, s activities.Subject) error {
	var a assignment
	work, err := a.setup(ctx, s, control.CancelAssignment)
	if err != nil {
		return err
	}
	return a.run(work)
}

type assignment struct{ base }

func (a *assignment) run(ctx workflow.Context) error {
	for {
		a.drain()
		var look activities.AssignmentLook
		if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.LookAtAssignment, a.subject).Get(ctx, &look); err != nil {
			return err
		}
		if err := a.show(ctx, look.Step.Card); err != nil {
			return err
		}
		if err := a.renewed(ctx, look.Generation, Assignment); err != nil {
			return err
		}
		done, err := a.step(ctx, look)
		if err != nil || done {
			return err
		}
	}
}

// step does what the look found: a hook, a command with what it needs first, the last
// look at the scope, the worktree's removal, the end, or a rest.
func (a *assignment) step(ctx workflow.Context, look activities.AssignmentLook) (done bool, err error) {
	switch {
	case look.Step.HookID != "":
		return false, a.effect(ctx, look.Step.NodeID, "run hook", node.RunHook, activities.HookInput{ID: look.Step.HookID})
	case look.Step.Prepare:
		return false, a.effect(ctx, look.Step.NodeID, "prepare run", node.PrepareRun, activities.CommandInput{CommandID: look.Step.Command.ID})
	case look.Step.Remove:
		return false, a.effect(ctx, look.Step.NodeID, "remove worktree", node.RemoveWorktree, activities.ScopeInput{AssignmentID: a.subject.ID})
	case look.Step.Command != nil:
		if err := a.carryOut(ctx, *look.Step.Command, look.Step.NodeID); err != nil {
			return false, a.retryLater(ctx, string(look.Step.Command.Type), err)
		}
		return false, nil
	case look.Step.Dirty:
		err := workflow.ExecuteActivity(effect(ctx, look.Step.NodeID, "inspect scope"), node.InspectScope,
			activities.ScopeInput{AssignmentID: a.subject.ID}).Get(ctx, nil)
		if err != nil {
			return false, a.retryLater(ctx, "inspect scope", err)
		}
		return false, nil
	case look.Step.Done:
		return a.mayEnd(ctx, look.Generation)
	}
	return false, a.wait(ctx, look.Step.WakeAt)
}

// effect runs a long activity on a node; one that fails is looked at again later.
func (a *assignment) effect(ctx workflow.Context, nodeID, summary string, activity, in any) error {
	err := workflow.ExecuteActivity(longEffect(ctx, nodeID, summary), activity, in).Get(ctx, nil)
	if err != nil {
		return a.retryLater(ctx, summary, err)
	}
	return nil
}

func (a *assignment) carryOut(ctx workflow.Context, cmd models.Command, nodeID string) error {
	in := activities.CommandInput{CommandID: cmd.ID}
	switch cmd.Type {
	case models.CommandStart:
		return a.start(ctx, in, nodeID)
	case models.CommandResume:
		return workflow.ExecuteLocalActivity(ledgerCall(ctx), control.QueueResume, in).Get(ctx, nil)
	case models.CommandInterrupt:
		return workflow.ExecuteActivity(effect(ctx, nodeID, "interrupt run"), node.InterruptRun, in).Get(ctx, nil)
	case models.CommandNudge, models.CommandRefresh: // the nudge's own workflow and the loop carry these out
	}
	return nil
}

// start readies a thread, then claims. A claim that is refused gives the empty
// thread back.
func (a *assignment) start(ctx workflow.Context, in activities.CommandInput, nodeID string) error {
	var s activities.Started
	if err := workflow.ExecuteActivity(effect(ctx, nodeID, "start thread"), node.StartThread, in).Get(ctx, &s); err != nil || s.Closed || s.Failed {
		return err
	}
	var wanted bool
	claim := activities.ClaimInput{CommandID: in.CommandID, Owner: s.Owner, Branch: s.Branch, BaseCommit: s.BaseCommit}
	if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.ClaimRun, claim).Get(ctx, &wanted); err != nil || wanted {
		return err
	}
	return workflow.ExecuteActivity(effect(ctx, nodeID, "abandon start"), node.AbandonStart,
		activities.ArchiveInput{CommandID: in.CommandID, Owner: s.Owner, ThreadID: s.ThreadID}).Get(ctx, nil)
}
