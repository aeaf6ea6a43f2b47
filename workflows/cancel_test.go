package workflows_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// anew runs a workflow that is cancelled a while after its start, which makes it begin
// anew and nothing else.
func (r *rig) anew(wf any, id, workflowID string) {
	r.Helper()
	r.env.RegisterDelayedCallback(r.env.CancelWorkflow, 5*time.Second)
	var next *workflow.ContinueAsNewError
	if err := r.execute(wf, id, workflowID); !errors.As(err, &next) {
		r.Fatalf("the cancelled workflow ended with %v; steps %v", err, r.did())
	}
}

func (r *rig) by(event string) string {
	r.Helper()
	found, err := r.l.Events(r.Context(), ledger.EventFilter{Types: []string{event}, Newest: true, Limit: 1})
	r.ok(err)
	if len(found) != 1 {
		r.Fatalf("%d events %s", len(found), event)
	}
	return found[0].ActorID
}

func TestACancelCallsTheAssignmentOff(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	run := r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.anew(workflows.Assignment, "a", assign("a"))
	if a := r.assignment("a"); a.Status != models.AssignmentCancelled || r.by(models.EventAssignmentCancelled) != activities.WebUI {
		t.Errorf("it is %s", a.Status)
	}
	if got := r.run(run.ID); got.Status != models.RunCancelled || got.EndedAt != nil {
		t.Errorf("before its turn was seen to end the run is %+v", got)
	}
	next := r.next()
	next.ends(workflows.Assignment, "a", assign("a")) // interrupts, looks at the scope, ends
	if got := r.run(run.ID); got.EndedAt == nil || next.times("InterruptRun") != 1 {
		t.Errorf("in the end the run is %+v after %v", got, next.did())
	}
}

// A cancel that comes while a step is repeated does not wait for that step.
func TestACancelIsToldWhileAStepFails(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.planned(models.CommandStart)
	r.node.fails["StartThread"] = []error{broken()}
	r.quiet(6*time.Second, func() {
		if a := r.assignment("a"); a.Status != models.AssignmentCancelled {
			t.Errorf("a second after the cancel it is %s", a.Status)
		}
	})
	r.anew(workflows.Assignment, "a", assign("a"))
}

func TestACancelOfAnEndedAssignmentChangesNothing(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.quiet(time.Second, func() { r.cancel("a") }) // whose wake-up is on its way
	r.anew(workflows.Assignment, "a", assign("a"))
	if by := r.by(models.EventAssignmentCancelled); by != person.ActorID {
		t.Errorf("called off by %s", by)
	}
}

func TestACancelTurnsTheLoopOff(t *testing.T) {
	r := newRig(t, func(s *models.LoopSettings) { s.MaxConcurrentRuns = 7 })
	r.create("a")
	r.anew(workflows.Loop, "t", teamLoop)
	team, err := r.l.Team(t.Context(), "t")
	r.ok(err)
	if team.Loop.Enabled || team.Loop.SetBy != activities.WebUI || team.Loop.MaxConcurrentRuns != 7 {
		t.Errorf("loop %+v", team.Loop)
	}
	if a := r.assignment("a"); a.Status.Terminal() {
		t.Errorf("the assignment is %s", a.Status)
	}
}

func TestACancelOfClockAndDeliveryMeansNothing(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	before, err := r.l.Events(t.Context(), ledger.EventFilter{})
	r.ok(err)
	r.anew(workflows.Clock, "", ledger.ClockWorkflow())
	after, err := r.l.Events(t.Context(), ledger.EventFilter{})
	r.ok(err)
	if len(after) != len(before) {
		t.Errorf("events %+v", after[len(before):])
	}
}
