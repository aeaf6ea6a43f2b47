package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

var person = models.Principal{ActorID: "human:ann", Role: models.RoleHuman}

// rig runs one workflow in the SDK's test environment over a real ledger, whose
// clock is the environment's, and a scripted node. What other parties do is
// scripted by time with at.
type rig struct {
	*testing.T
	env     *testsuite.TestWorkflowEnvironment
	l       *ledger.Ledger
	control *tapped
	node    *scripted

	mu     sync.Mutex
	over   bool            // stopAt has come; what follows is not noted
	steps  []string        // names of the activities, as they start
	timers []time.Duration // as they are set
}

// tapped is the real Control; a hook runs right after the call of its name.
type tapped struct {
	*activities.Control
	after  map[string]func()
	before map[string]func()
	over   atomic.Bool // a cancel is the test's own way to stop
}

func newRig(t *testing.T, settings func(*models.LoopSettings)) *rig {
	t.Helper()
	r := &rig{T: t, env: newEnvironment()}
	var err error
	r.l, err = ledger.Open(t.Context(), ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Clock: r.env.Now})
	r.ok(err)
	t.Cleanup(func() { r.ok(r.l.Close()) })
	r.control = &tapped{Control: &activities.Control{Ledger: r.l}, after: map[string]func(){}, before: map[string]func(){}}
	r.node = &scripted{l: r.l, hook: map[string]func(){}, fails: map[string][]error{}}
	r.listen()
	r.crew(settings)
	return r
}

func newEnvironment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartTime(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{TaskQueue: "01234567-control"})
	return env
}

// next is the same world for the workflow's next run.
func (r *rig) next() *rig {
	n := &rig{T: r.T, env: newEnvironment(), l: r.l, control: r.control, node: r.node}
	n.listen()
	return n
}

// listen registers the activities and notes what the workflow does.
func (r *rig) listen() {
	r.env.RegisterActivity(r.control)
	r.env.RegisterActivity(r.node)
	note := func(info *activity.Info) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.over {
			r.steps = append(r.steps, info.ActivityType.Name)
		}
	}
	r.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) { note(info) })
	r.env.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, _ []any) { note(info) })
	r.env.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.over {
			r.timers = append(r.timers, d)
		}
	})
}

// crew makes a team whose loop is on and whose node has probed the fake.
func (r *rig) crew(settings func(*models.LoopSettings)) {
	r.Helper()
	_, err := r.l.RegisterWorkspace(r.Context(), ledger.As(person), ledger.NewWorkspace{ID: "w", RepoRoot: "/srv/w", NodeID: "n"})
	r.ok(err)
	team, err := r.l.CreateTeam(r.Context(), ledger.As(person), ledger.NewTeam{ID: "t", WorkspaceID: "w"})
	r.ok(err)
	s := team.Loop
	s.Enabled, s.AdapterKind, s.MaxConcurrentRuns = true, models.AdapterKindFake, 2
	if settings != nil {
		settings(&s)
	}
	_, _, err = r.l.ConfigureLoop(r.Context(), ledger.As(person), "t", s)
	r.ok(err)
	_, err = r.l.StartNode(r.Context(), "n", "host", 0)
	r.ok(err)
	r.ok(r.l.RecordProbe(r.Context(), "n", able()))
}

func able() models.Probe {
	p := models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusActive, Capabilities: map[string]bool{}}
	for _, name := range models.RequiredCapabilities() {
		p.Capabilities[name] = true
	}
	return p
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) create(id string) {
	r.Helper()
	_, err := r.l.CreateAssignment(r.Context(), ledger.As(person), models.NewAssignment{ID: id, WorkspaceID: "w", TeamID: "t", Title: "Do " + id, AllowedPaths: []string{id}}, nil)
	r.ok(err)
}

// planned runs one pass that has to create one command of a type.
func (r *rig) planned(t models.CommandType) models.Command {
	r.Helper()
	p, err := r.l.PlanTeam(r.Context(), "t")
	r.ok(err)
	if len(p.Commands) != 1 || p.Commands[0].Type != t {
		r.Fatalf("the pass made %+v, want one %s", p.Commands, t)
	}
	return p.Commands[0]
}

func (r *rig) command(id string) models.Command {
	r.Helper()
	c, err := r.l.Command(r.Context(), id)
	r.ok(err)
	return c
}

func (r *rig) assignment(id string) models.Assignment {
	r.Helper()
	a, err := r.l.Assignment(r.Context(), id)
	r.ok(err)
	return a
}

func (r *rig) run(id string) models.Run {
	r.Helper()
	run, err := r.l.Run(r.Context(), id)
	r.ok(err)
	return run
}

// claimed carries a start command out beside the workflow, up to the first turn
// on a thread.
func (r *rig) claimed(cmd models.Command, thread, turn string) models.Run {
	r.Helper()
	_, _, err := r.l.BeginCommand(r.Context(), cmd.ID, "rig")
	r.ok(err)
	_, err = r.l.RecordThread(r.Context(), cmd.ID, "rig", thread)
	r.ok(err)
	r.ok(r.l.ClaimRun(r.Context(), cmd.ID, "rig", ledger.Claim{Prompt: "do it"}))
	r.delivered(thread, turn)
	return r.run(cmd.RunID)
}

func (r *rig) delivered(thread, turn string) {
	r.Helper()
	m, err := r.l.BeginMessage(r.Context(), thread, "rig")
	r.ok(err)
	if m == nil {
		r.Fatalf("nothing to send into %s", thread)
	}
	r.ok(r.l.Delivered(r.Context(), m.Item.ID, "rig", turn, false))
}

func (r *rig) endTurn(thread, turn string, status models.TurnStatus) {
	r.Helper()
	r.ok(r.l.EndTurn(r.Context(), ledger.TurnReport{ThreadID: thread, TurnID: turn, Status: status, ErrorKind: "server"}))
}

// handOff claims that the run's work is ready, as its worker.
func (r *rig) handOff(runID string) models.Event {
	r.Helper()
	run := r.run(runID)
	spec, err := r.l.ThreadSpec(r.Context(), run.BindingID)
	r.ok(err)
	_, p, err := r.l.Bound(r.Context(), spec.Token)
	r.ok(err)
	e, err := r.l.SubmitHandoff(r.Context(), ledger.As(p), ledger.HandoffRequest{AssignmentID: run.AssignmentID, Payload: map[string]any{"summary": "done"}})
	r.ok(err)
	return e
}

func (r *rig) decide(eventID string, d models.Decision) {
	r.Helper()
	_, err := r.l.Decide(r.Context(), ledger.As(person), ledger.DecideRequest{EventID: eventID, Decision: d})
	r.ok(err)
}

func (r *rig) cancel(id string) {
	r.Helper()
	_, err := r.l.CancelAssignment(r.Context(), ledger.As(person), id, nil, "not needed")
	r.ok(err)
}

// at lets others do something a while after the workflow's start, and wakes the
// workflow as the relay would.
func (r *rig) at(d time.Duration, fn func()) {
	r.env.RegisterDelayedCallback(func() { fn(); r.wake() }, d)
}

func (r *rig) wake() { r.env.SignalWorkflow(workflows.WakeSignal, nil) }

// quiet lets something be done or read at a time, without a wake-up.
func (r *rig) quiet(d time.Duration, fn func()) { r.env.RegisterDelayedCallback(fn, d) }

// stopAt ends a workflow that would rest for ever: a cancel makes it begin anew.
func (r *rig) stopAt(d time.Duration) {
	r.env.RegisterDelayedCallback(func() {
		r.mu.Lock()
		r.over = true
		r.mu.Unlock()
		r.control.over.Store(true)
		r.env.CancelWorkflow()
	}, d)
}

func (r *rig) execute(wf any, id, workflowID string) error {
	r.Helper()
	r.env.ExecuteWorkflow(wf, activities.Subject{ID: id, WorkflowID: workflowID})
	if !r.env.IsWorkflowCompleted() {
		r.Fatal("the workflow did not end")
	}
	return r.env.GetWorkflowError()
}

// ends runs the workflow to its own end.
func (r *rig) ends(wf any, id, workflowID string) {
	r.Helper()
	if err := r.execute(wf, id, workflowID); err != nil {
		r.Fatalf("the workflow ended with %v; steps %v", err, r.did())
	}
}

// stopped runs the workflow until stopAt ends it.
func (r *rig) stopped(wf any, id, workflowID string) {
	r.Helper()
	var anew *workflow.ContinueAsNewError
	if err := r.execute(wf, id, workflowID); !errors.As(err, &anew) || !r.over {
		r.Fatalf("the workflow ended by itself with %v; steps %v", err, r.did())
	}
}

func (r *rig) did() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.steps)
}

func (r *rig) times(step string) int {
	n := 0
	for _, s := range r.did() {
		if s == step {
			n++
		}
	}
	return n
}

func (r *rig) timersSet() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.timers)
}

func (r *rig) wantSteps(want ...string) {
	r.Helper()
	if got := r.did(); !slices.Equal(got, want) {
		r.Errorf("steps\n  %v\nwant\n  %v", got, want)
	}
}

// wantTimers asserts the timers that were set: a workflow that rests sets none.
func (r *rig) wantTimers(want ...time.Duration) {
	r.Helper()
	if got := r.timersSet(); !slices.Equal(got, want) {
		r.Errorf("timers %v, want %v", got, want)
	}
}

func assign(id string) string { return ledger.AssignmentWorkflow(id) }
