package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
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
	relayPoll    = 20 * time.Millisecond  // between two looks at the ledger's version
	relayRetry   = 500 * time.Millisecond // between two looks at what was not acknowledged
	relayWindow  = 64                     // workflows that were woken and are expected to read any moment
	relayTrickle = 8                      // the same while as many are late: the engine has more than it can do
	relayBeside  = 16                     // starts and signals at a time
	relayCrowded = 1000                   // unread wake-ups from which on each commit is not looked at by itself
	wakeTimeout  = 5 * time.Second        // of one start or signal
	firstRetry   = 3 * time.Second        // a wake-up that was not acknowledged is repeated after that,
	lastRetry    = 10 * time.Minute       // doubled each time up to this
	jamTries     = 4                      // so many in vain, and somebody is told why
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

// sending is a wake-up that was brought and is not acknowledged yet.
type sending struct {
	generation int64
	next       time.Time // of the repetition
	wait       time.Duration
	tries      int
	told       bool // why it is not read
}

// late tells whether the workflow should have read by now.
func (s sending) late() bool { return s.tries > 1 }

func (r relay) run(ctx context.Context) error {
	watch, err := r.ledger.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close() //nolint:errcheck // a read-only handle
	r.sent = map[string]sending{}
	var last time.Time
	missed := false // a commit that was not looked at yet
	return every(ctx, relayPoll, func() {
		changed, err := watch.Changed(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("the relay cannot see the ledger", "error", err)
			return
		}
		missed = missed || changed
		yes, back := r.reach.answers(ctx)
		if back { // what was sent to the one that went may be lost
			clear(r.sent)
		}
		if yes && (back || missed && len(r.sent) < relayCrowded || time.Since(last) >= relayRetry) {
			missed, last = false, time.Now()
			r.deliver(ctx)
		}
	})
}

// deliver sends what is due and forgets what was acknowledged. Few are under way at a
// time, so that a long queue neither floods the engine nor fills the memory: what the
// engine keeps waiting it serves last.
func (r relay) deliver(ctx context.Context) {
	open, err := r.ledger.OpenWakeups(ctx, slices.Sorted(maps.Keys(r.sent)))
	if err == nil {
		r.forget(open)
		var next []ledger.Due
		next, err = r.ledger.NextWakeups(ctx, relayWindow+len(r.sent))
		open = append(open, next...)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.log.Warn("the relay cannot read the wake-ups", "error", err)
		}
		return
	}
	for beside := range slices.Chunk(r.choose(open, time.Now()), relayBeside) {
		if !r.bring(ctx, beside) {
			return // all of it waits until the engine is back
		}
	}
}

// forget drops what is not due any more, or was acknowledged and raised again: the
// signal that was sent is spent.
func (r relay) forget(due []ledger.Due) {
	open := make(map[string]int64, len(due))
	for _, d := range due {
		open[d.WorkflowID] = d.Acknowledged
	}
	for id, s := range r.sent {
		if acknowledged, yes := open[id]; !yes || acknowledged >= s.generation {
			delete(r.sent, id)
		}
	}
}

// choose picks what is sent now: what is late, and what is new, up to the window. Late
// ones hardly count, so that workflows that do not read jam no others. A signal that
// waits to be read speaks for every later generation, so that a workflow that does not
// read gets no more of them than the repetitions.
func (r relay) choose(due []ledger.Due, now time.Time) []ledger.Due {
	expected := 0
	for _, s := range r.sent {
		if !s.late() {
			expected++
		}
	}
	window := relayWindow
	if len(r.sent)-expected >= relayWindow {
		window = relayTrickle
	}
	var out []ledger.Due
	chosen := map[string]bool{}
	for _, d := range due {
		s, sent := r.sent[d.WorkflowID]
		switch {
		case chosen[d.WorkflowID]:
			continue
		case !sent && expected < window:
			expected++
		case !sent || now.Before(s.next):
			continue
		}
		chosen[d.WorkflowID] = true
		out = append(out, d)
	}
	return out
}

// bring sends some wake-ups side by side and notes when each is repeated. It is false
// when the engine does not answer.
func (r relay) bring(ctx context.Context, some []ledger.Due) bool {
	failed := make([]error, len(some))
	var beside sync.WaitGroup
	for i, d := range some {
		beside.Go(func() { failed[i] = r.wake(ctx, d) })
	}
	beside.Wait()
	if err := errors.Join(failed...); err != nil && ctx.Err() == nil {
		r.reach.doubt()
		yes, _ := r.reach.answers(ctx)
		r.log.Warn("workflows were not woken, repeated", "of", len(some), "error", err)
		if !yes {
			return false
		}
	}
	for i, d := range some {
		r.note(ctx, d, failed[i])
	}
	return ctx.Err() == nil
}

// note remembers that a wake-up was brought, or that it could not be.
func (r relay) note(ctx context.Context, d ledger.Due, failed error) {
	s := r.sent[d.WorkflowID]
	s.generation, s.tries = max(s.generation, d.Generation), s.tries+1
	s.wait = min(max(s.wait*2, firstRetry), lastRetry)
	s.next = time.Now().Add(s.wait)
	if s.tries >= jamTries && !s.told {
		s.told = r.jammed(ctx, d, failed)
	}
	r.sent[d.WorkflowID] = s
}

// jammed tells why a workflow does not read, where it is known; false while it may
// just be busy.
func (r relay) jammed(ctx context.Context, d ledger.Due, failed error) bool {
	why := r.whyJammed(ctx, d, failed)
	if why == "" {
		return false
	}
	r.log.Error("a workflow does not read what was raised for it", "workflow", d.WorkflowID, "reason", why)
	if err := r.ledger.NoteJam(ctx, d.WorkflowID, why); err != nil && ctx.Err() == nil {
		r.log.Warn("a jammed workflow was not noted", "workflow", d.WorkflowID, "error", err)
	}
	return true
}

func (r relay) whyJammed(ctx context.Context, d ledger.Due, failed error) string {
	if failed != nil {
		return "Temporal refuses its wake-ups: " + failed.Error()
	}
	if workflows.NameOf(d.Kind) == "" {
		return fmt.Sprintf("this version of cox knows no workflow of the kind %q; start the version that raised it", d.Kind)
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	w, err := workflows.Front{Client: r.client, Prefix: r.ledger.Prefix()}.Describe(ctx, d.WorkflowID)
	if err != nil || !w.Running() || w.FailedTasks == 0 {
		return "" // gone, which the next repetition mends, or busy
	}
	return fmt.Sprintf("its code fails, %d times so far; the log of the worker says why", w.FailedTasks)
}

// wake starts or signals one workflow.
func (r relay) wake(ctx context.Context, d ledger.Due) error {
	name := workflows.NameOf(d.Kind)
	if name == "" {
		return nil // its repetitions tell
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
