package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"coxswain/activities"
	"coxswain/models/ledger"
	"coxswain/models/ledger/pgtest"
	"coxswain/workflows"
)

// engine is a client that records signal-with-starts.
type engine struct {
	client.Client

	mu      sync.Mutex
	asked   int
	fails   int
	woken   []woken
	running map[string]bool // what Describe says: false is a workflow that has ended
	broken  int             // failed tasks of each running one
}

func (e *engine) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	running, known := e.running[id]
	if !known {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	status := enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	if running {
		status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status},
		PendingWorkflowTask:   &workflowpb.PendingWorkflowTaskInfo{Attempt: int32(e.broken) + 1},
	}, nil
}

type woken struct {
	id, signal, workflow string
	arg                  any
	subject              activities.Subject
	options              client.StartWorkflowOptions
}

func (e *engine) SignalWithStartWorkflow(_ context.Context, id, signal string, arg any, o client.StartWorkflowOptions, wf any, args ...any) (client.WorkflowRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	if e.fails > 0 {
		e.fails--
		return nil, errors.New("away")
	}
	name, _ := wf.(string)
	subject, _ := args[0].(activities.Subject)
	e.woken = append(e.woken, woken{id, signal, name, arg, subject, o})
	return nil, nil
}

// reached is an engine that answers.
func reached(attributes bool) *reach {
	return &reach{
		namespace: func(context.Context) (string, error) { return "one", nil },
		prepare:   func(context.Context) (bool, error) { return attributes, nil },
		note:      func(context.Context, bool) error { return nil },
		log:       discard(), prepared: "one", attributes: attributes,
	}
}

// of are the wake-ups of one workflow.
func (e *engine) of(id string) []woken {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []woken
	for _, w := range e.woken {
		if w.id == id {
			out = append(out, w)
		}
	}
	return out
}

func TestTheRelayStartsOrSignalsWithoutState(t *testing.T) {
	r := newRig(t)
	e := &engine{}
	relay := relay{ledger: r.l, client: e, reach: reached(true), log: discard(), sent: map[string]sending{}}
	relay.deliver(t.Context())
	id := ledger.LoopWorkflow("w", "t")
	got := e.of(workflows.ID(r.l.Prefix(), id))
	if len(got) != 1 {
		t.Fatalf("woken %+v", e.woken)
	}
	w := got[0]
	if w.signal != "wake" || w.arg != nil || w.workflow != "Loop" || w.subject != (activities.Subject{ID: "t", WorkflowID: id, Attributes: true}) {
		t.Errorf("woken %+v", w)
	}
	if w.options.TaskQueue != r.l.Prefix()+"-control" || w.options.WorkflowIDReusePolicy != enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE ||
		w.options.WorkflowIDConflictPolicy != enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING {
		t.Errorf("options %+v", w.options)
	}
}

func TestTheRelayRepeatsUntilTheWorkflowHasRead(t *testing.T) {
	r := newRig(t)
	e := &engine{fails: 1000}
	relay := relay{ledger: r.l, client: e, reach: reached(false), log: discard(), sent: map[string]sending{}}
	id := ledger.LoopWorkflow("w", "t")
	full := workflows.ID(r.l.Prefix(), id)
	relay.deliver(t.Context()) // the engine is away
	e.fails = 0
	relay.deliver(t.Context())
	if n := len(e.of(full)); n != 0 {
		t.Fatalf("repeated %d times within the back-off", n)
	}
	due := func() {
		for id, s := range relay.sent {
			s.next = time.Now().Add(-time.Millisecond)
			relay.sent[id] = s
		}
	}
	due()
	relay.deliver(t.Context())
	first := relay.sent[id].wait
	due()
	relay.deliver(t.Context())
	if n := len(e.of(full)); n != 2 || relay.sent[id].wait != 2*first {
		t.Errorf("woken %d times, waits %s and %s", n, first, relay.sent[id].wait)
	}
	r.ok(r.l.WakeTeam(t.Context(), "w", "t"))
	relay.deliver(t.Context())
	if n := len(e.of(full)); n != 2 {
		t.Errorf("woken %d times; the signal that was not read yet speaks for the new generation", n)
	}
	_, err := r.l.Acknowledge(t.Context(), id)
	r.ok(err)
	r.ok(r.l.WakeTeam(t.Context(), "w", "t")) // after the read it does not
	relay.deliver(t.Context())
	if n := len(e.of(full)); n != 3 || relay.sent[id].wait != firstRetry {
		t.Errorf("woken %d times, wait %s", n, relay.sent[id].wait)
	}
	_, err = r.l.Acknowledge(t.Context(), id)
	r.ok(err)
	due()
	relay.deliver(t.Context())
	if _, kept := relay.sent[id]; len(e.of(full)) != 3 || kept {
		t.Errorf("woken %d times after it has read, remembered %t", len(e.of(full)), kept)
	}
}

func TestTheRelaySeesCommitsOfOthers(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { seesOthers(t, newRig(t)) })
	t.Run("postgres", func(t *testing.T) {
		seesOthers(t, newRigAt(t, ledger.Options{Path: pgtest.Address(t), StateDir: t.TempDir()}))
	})
}

func seesOthers(t *testing.T, r *rig) {
	t.Helper()
	e := &engine{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay{ledger: r.l, client: e, reach: reached(false), log: discard()}.run(ctx) }()
	defer func() { cancel(); r.ok(<-done) }()
	id := ledger.LoopWorkflow("w", "t")
	full := workflows.ID(r.l.Prefix(), id)
	r.until("the first wake-up is not delivered", func() bool { return len(e.of(full)) == 1 })
	_, err := r.l.Acknowledge(t.Context(), id)
	r.ok(err)
	other, err := ledger.Open(t.Context(), r.at)
	r.ok(err)
	defer func() { r.ok(other.Close()) }()
	r.ok(other.WakeTeam(t.Context(), "w", "t"))
	r.until("the wake-up of another process is not delivered", func() bool { return len(e.of(full)) == 2 })
}

// An engine that comes back as another one is prepared before anything is sent, and
// gets again what was sent to the one that went.
func TestTheRelaySendsAgainToAnEngineThatComesBack(t *testing.T) {
	r := newRig(t)
	e, id, away := &engine{}, atomic.Value{}, atomic.Bool{}
	id.Store("one")
	link := reached(true)
	link.namespace = func(context.Context) (string, error) {
		if away.Load() {
			return "", errors.New("away")
		}
		return id.Load().(string), nil
	}
	var prepared atomic.Int32
	link.prepare = func(ctx context.Context) (bool, error) {
		prepared.Add(1)
		_, err := r.l.EngineSeen(ctx, "n", id.Load().(string))
		return true, err
	}
	link.note = func(ctx context.Context, gone bool) error { return r.l.EngineAway(ctx, "n", gone) }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay{ledger: r.l, client: e, reach: link, log: discard()}.run(ctx) }()
	defer func() { cancel(); r.ok(<-done) }()
	loop := ledger.LoopWorkflow("w", "t")
	full := workflows.ID(r.l.Prefix(), loop)
	r.until("the wake-up is not delivered", func() bool { return len(e.of(full)) > 0 })
	_, err := r.l.Acknowledge(t.Context(), loop) // nothing is left for the loop
	r.ok(err)

	away.Store(true)
	lag := func() ledger.Lag { g, err := r.l.Lag(t.Context()); r.ok(err); return g }
	r.until("the ledger does not say that the engine is away", func() bool { return lag().AwaySince != nil })
	sent := len(e.of(full))
	r.ok(r.l.WakeTeam(t.Context(), "w", "t"))
	_, err = r.l.Acknowledge(t.Context(), loop)
	r.ok(err)

	id.Store("two")
	away.Store(false)
	r.until("the loop is not rebuilt in the new engine", func() bool { return len(e.of(full)) > sent })
	if n := prepared.Load(); n != 1 {
		t.Errorf("the new engine was prepared %d times", n)
	}
	r.until("the ledger still says that the engine is away", func() bool { return lag().AwaySince == nil })
}
