package workflows

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
)

// Types of the activities, so that calls are checked by the compiler; the
// pointers are never used as receivers.
var (
	control *activities.Control
	node    *activities.Node
)

// Waits of the workflows.
const (
	nodeTTL         = models.NodeTTL     // a node's heartbeat may be late by that much
	queueLimit      = nodeTTL * 2        // schedule-to-start of a node queue: TTL and a minute
	effectTimeout   = 2 * time.Minute    // one attempt at an effect
	longTimeout     = 30 * time.Minute   // the same for hooks and worktrees: each hook has its own limit, at most 10 minutes
	effectBeat      = 8 * time.Second    // an attempt that is silent for so long died with its worker
	ledgerTimeout   = 30 * time.Second   // one ledger call with its wait for other writers
	retryAfterError = 10 * time.Second   // before a step whose effect failed is looked at again
	historyCap      = 2000               // events after which a workflow continues as new
	longest         = 24 * 7 * time.Hour // a timer is never set further ahead
)

// base is what the workflows share: the wake-up channel, the card and whether a
// person asked to cancel the workflow.
type base struct {
	subject   activities.Subject
	wakes     workflow.ReceiveChannel
	card      ledger.Card
	shown     ledger.Card
	cancelled bool // asked for by a person, and told to the ledger
	stir      bool // the same, since the last look
}

// setup registers the handlers before anything blocks. It returns the context to work
// in, which nothing cancels: a cancel is told to the ledger by the given call, nil
// where it means nothing, and the ledger decides what follows.
func (b *base) setup(ctx workflow.Context, s activities.Subject, cancel any) (workflow.Context, error) {
	b.subject, b.wakes = s, workflow.GetSignalChannel(ctx, WakeSignal)
	work, _ := workflow.NewDisconnectedContext(ctx)
	workflow.Go(work, func(work workflow.Context) {
		ctx.Done().Receive(work, nil)
		b.tellCancel(work, cancel)
		b.cancelled, b.stir = true, true
	})
	return work, workflow.SetQueryHandlerWithOptions(work, CardQuery, func() (ledger.Card, error) { return b.card, nil },
		workflow.QueryHandlerOptions{Description: "the card as the ledger was last read"})
}

// tellCancel lets the ledger do what a cancel of this workflow means.
func (b *base) tellCancel(ctx workflow.Context, cancel any) {
	if cancel == nil {
		return
	}
	in := activities.CancelInput{ID: b.subject.ID, RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID}
	if err := workflow.ExecuteLocalActivity(ledgerCall(ctx), cancel, in).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("a cancel was refused", "subject", b.subject.ID, "error", summary(err))
	}
}

// ledgerCall is the context of a short ledger transaction, run beside the workflow
// task.
func ledgerCall(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: ledgerTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	})
}

// effect is the context of an activity on a node's queue. Its retries stay within
// minutes; after that the step is looked at again.
func effect(ctx workflow.Context, nodeID, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              NodeQueue(workflow.GetInfo(ctx).TaskQueueName, nodeID),
		ScheduleToStartTimeout: queueLimit, StartToCloseTimeout: effectTimeout, HeartbeatTimeout: effectBeat, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: 5},
	})
}

// longEffect is the context of an activity that may run the owner's hooks.
func longEffect(ctx workflow.Context, nodeID, summary string) workflow.Context {
	return workflow.WithStartToCloseTimeout(effect(ctx, nodeID, summary), longTimeout)
}

// show puts the card into the Web UI and the search attributes, where it changed.
func (b *base) show(ctx workflow.Context, c ledger.Card) error {
	b.card = c
	if c == b.shown {
		return nil
	}
	workflow.SetCurrentDetails(ctx, c.Text)
	before := b.shown
	b.shown = c
	before.Text, c.Text = "", ""
	if !b.subject.Attributes || before == c {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, AttrWorkspace.ValueSet(c.WorkspaceID), AttrTeam.ValueSet(c.TeamID),
		AttrAssignment.ValueSet(c.AssignmentID), AttrActor.ValueSet(c.ActorID), AttrStatus.ValueSet(c.Status))
}

// drain takes the wake-ups that are there. Right before a look they are its own:
// what they tell of was committed before they were sent.
func (b *base) drain() {
	b.stir = false
	for b.wakes.Len() > 0 {
		b.wakes.ReceiveAsync(nil)
	}
}

// stirred tells whether a wake-up came since the last look, or a cancel, after which
// the workflow begins anew.
func (b *base) stirred() bool { return b.wakes.Len() > 0 || b.stir }

// wait rests until a wake-up or a time. A wake-up that came since the last look
// ends it at once.
func (b *base) wait(ctx workflow.Context, until *time.Time) error {
	if b.stirred() {
		return nil
	}
	if until == nil {
		return workflow.Await(ctx, b.stirred)
	}
	d := min(max(until.Sub(workflow.Now(ctx)), time.Millisecond), longest)
	_, err := workflow.AwaitWithTimeout(ctx, d, b.stirred)
	return err
}

// retryLater waits before a failed step is looked at again. A wake-up does not
// cut the wait short, so that a broken node makes no storm.
func (b *base) retryLater(ctx workflow.Context, step string, err error) error {
	workflow.GetLogger(ctx).Warn("step failed, looked at again", "step", step, "subject", b.subject.ID, "error", summary(err))
	return workflow.Sleep(ctx, retryAfterError)
}

// summary is the code or type of a failure, never its cause's text.
func summary(err error) string {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Type()
	}
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return enumspb.TimeoutType_name[int32(timeout.TimeoutType())]
	}
	return "failed"
}

// mayEnd asks the ledger whether nothing was raised since the last look, so that the
// workflow can end.
func (b *base) mayEnd(ctx workflow.Context, generation int64) (bool, error) {
	return b.mayRest(ctx, generation, true)
}

// mayRest asks the ledger whether nothing was raised since the last look. Then the
// signals that are left told of what the look has covered, and are taken.
func (b *base) mayRest(ctx workflow.Context, generation int64, end bool) (bool, error) {
	var ok bool
	err := workflow.ExecuteLocalActivity(ledgerCall(ctx), control.Rest,
		activities.RestInput{WorkflowID: b.subject.WorkflowID, Generation: generation, End: end}).Get(ctx, &ok)
	if ok {
		b.drain()
	}
	return ok, err
}

// renewed ends the run as continued-as-new when its history is long, or it has been
// cancelled, which a run can be once only, and the ledger allows it; nil means: go on.
func (b *base) renewed(ctx workflow.Context, generation int64, self any) error {
	info := workflow.GetInfo(ctx)
	if !b.cancelled && !info.GetContinueAsNewSuggested() && info.GetCurrentHistoryLength() < historyCap {
		return nil
	}
	ok, err := b.mayRest(ctx, generation, false)
	if err != nil || !ok {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, self, b.subject)
}
