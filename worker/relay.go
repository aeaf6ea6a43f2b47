package worker

import (
	"context"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"coxswain/activities"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
	"coxswain/workflows"
)

// Figures of the relay.
const (
	relayPoll   = 20 * time.Millisecond  // between two looks at the ledger's version
	relayRetry  = 500 * time.Millisecond // between two looks at what was not acknowledged
	relayBatch  = 200
	wakeTimeout = 5 * time.Second // of one start or signal
	firstRetry  = 2 * time.Second // a wake-up that was not acknowledged is repeated after that,
	lastRetry   = time.Minute     // doubled each time up to this
)

// relay carries the ledger's wake-ups to the engine: it starts or signals the
// workflow of each, without arguments, and repeats until the workflow's own read
// has recorded the generation.
type relay struct {
	ledger *ledger.Ledger
	client client.Client
	reach  *reach
	log    *slog.Logger
	sent   map[string]sending
}

type sending struct {
	generation int64
	next       time.Time
	wait       time.Duration
}

func (r relay) run(ctx context.Context) error {
	watch, err := r.ledger.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close() //nolint:errcheck // a read-only handle
	r.sent = map[string]sending{}
	var last time.Time
	return every(ctx, relayPoll, func() {
		changed, err := watch.Changed(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("the relay cannot see the ledger", "error", err)
			return
		}
		yes, back := r.reach.answers(ctx)
		if back { // what was sent to the one that went may be lost
			clear(r.sent)
		}
		if yes && (back || changed || time.Since(last) >= relayRetry) {
			last = time.Now()
			r.deliver(ctx)
		}
	})
}

// deliver sends what is due and forgets what was acknowledged. What was sent already
// leaves room for the next ones, so that workflows that do not read jam no others.
func (r relay) deliver(ctx context.Context) {
	due, err := r.ledger.DueWakeups(ctx, relayBatch+len(r.sent))
	if err != nil {
		if ctx.Err() == nil {
			r.log.Warn("the relay cannot read the wake-ups", "error", err)
		}
		return
	}
	open := make(map[string]bool, len(due))
	for _, d := range due {
		open[d.WorkflowID] = true
		s := r.sent[d.WorkflowID]
		if s.generation == d.Generation && time.Now().Before(s.next) {
			continue
		}
		if err := r.wake(ctx, d); err != nil && ctx.Err() == nil {
			r.log.Warn("a workflow was not woken, repeated", "workflow", d.WorkflowID, "error", err)
			r.reach.doubt()
			if yes, _ := r.reach.answers(ctx); !yes {
				return // all of it waits until the engine is back
			}
		}
		s.wait = min(max(s.wait*2, firstRetry), lastRetry)
		if s.generation != d.Generation {
			s.wait = firstRetry
		}
		r.sent[d.WorkflowID] = sending{generation: d.Generation, next: time.Now().Add(s.wait), wait: s.wait}
	}
	for id := range r.sent {
		if !open[id] {
			delete(r.sent, id)
		}
	}
}

// wake starts or signals one workflow.
func (r relay) wake(ctx context.Context, d ledger.Due) error {
	name := workflows.NameOf(d.Kind)
	if name == "" {
		r.log.Error("the ledger asks for a workflow that this build does not know", "kind", d.Kind, "workflow", d.WorkflowID)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	failpoint.Hit(failpoint.WakeSending)
	_, err := r.client.SignalWithStartWorkflow(ctx, workflows.ID(r.ledger.Prefix(), d.WorkflowID), workflows.WakeSignal, nil,
		client.StartWorkflowOptions{
			TaskQueue:                workflows.ControlQueue(r.ledger.Prefix()),
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			StaticSummary:            d.Kind + " " + d.Subject,
		}, name, activities.Subject{ID: d.Subject, WorkflowID: d.WorkflowID, Attributes: r.reach.attributes})
	failpoint.Hit(failpoint.WakeSent)
	return err
}

// poll evaluates the plan of each team at its own interval and wakes its loop
// only when the pass would not be empty. Loops whose owner has ended go off.
func poll(ctx context.Context, o Options) error {
	l, log := o.Ledger, o.Log
	next := map[string]time.Time{}
	return every(ctx, time.Second, func() {
		if err := releaseLoops(ctx, l, o.StateDir, log); err != nil && ctx.Err() == nil {
			log.Warn("the loops of ended commands were not turned off", "error", err)
		}
		teams, err := l.PollableTeams(ctx)
		for _, t := range teams {
			if time.Now().Before(next[t.ID]) {
				continue
			}
			next[t.ID] = time.Now().Add(time.Duration(max(t.Loop.PollIntervalSeconds, 1)) * time.Second)
			plan, previewErr := l.PreviewTeam(ctx, t.ID)
			if previewErr == nil && !plan.Empty() {
				previewErr = l.WakeTeam(ctx, t.WorkspaceID, t.ID)
			}
			if previewErr != nil {
				err = previewErr
			}
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("a team's plan was not evaluated", "error", err)
		}
	})
}
