package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

func TestAnAssignmentIsStartedAndRestsWithoutATimerUntilItEnds(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	start := r.planned(models.CommandStart)
	r.quiet(time.Minute, func() {
		a, run := r.assignment("a"), r.run(start.RunID)
		if a.Status != models.AssignmentClaimed || run.SessionRef != "th-1" || run.BaseCommit != "c0ffee" || r.command(start.ID).State != models.CommandDone {
			t.Errorf("after the start: %+v %+v", a, run)
		}
		r.delivered("th-1", "tu")
	})
	var event models.Event
	r.quiet(2*time.Minute, func() { event = r.handOff(start.RunID); r.endTurn("th-1", "tu", models.TurnCompleted) })
	r.at(time.Hour, func() { r.decide(event.ID, models.DecisionAccept) })
	r.ends(workflows.Assignment, "a", assign("a"))
	r.wantSteps("LookAtAssignment", "StartThread", "ClaimRun", "LookAtAssignment", "LookAtAssignment", "InspectScope", "LookAtAssignment", "Rest")
	r.wantTimers()
	if a := r.assignment("a"); a.Status != models.AssignmentAccepted {
		t.Errorf("assignment is %s", a.Status)
	}
	if !r.node.queues["01234567-node-n"] || len(r.node.queues) != 1 {
		t.Errorf("effects ran on %v, want the node's queue", r.node.queues)
	}
}

func TestARefusedClaimGivesTheThreadBack(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	start := r.planned(models.CommandStart)
	r.control.before["ClaimRun"] = func() { r.cancel("a") }
	r.ends(workflows.Assignment, "a", assign("a"))
	if want := "AbandonStart " + start.ID + " th-1"; !slices.Contains(r.node.called(), want) {
		t.Errorf("the node did %v, want %s", r.node.called(), want)
	}
	if cmd, run := r.command(start.ID), r.run(start.RunID); cmd.State != models.CommandFailed || run.EndedAt == nil || r.assignment("a").Status != models.AssignmentCancelled {
		t.Errorf("command %s, run %+v", cmd.State, run)
	}
	if n := r.times("ClaimRun"); n != 1 {
		t.Errorf("claimed %d times", n)
	}
}

func TestAStartThatDidNothingIsNotClaimed(t *testing.T) {
	for name, script := range map[string]func(*scripted, models.Command){
		"failed": func(s *scripted, _ models.Command) { s.reject = "no thread" },
		"closed": func(s *scripted, cmd models.Command) {
			s.hook["StartThread"] = func() {
				if _, _, err := s.l.BeginCommand(t.Context(), cmd.ID, "other"); err != nil {
					t.Error(err)
				}
				if err := s.l.FailCommand(t.Context(), cmd.ID, "other", "somebody closed it"); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.create("a")
			start := r.planned(models.CommandStart)
			script(r.node, start)
			r.stopAt(time.Hour)
			r.stopped(workflows.Assignment, "a", assign("a"))
			r.wantSteps("LookAtAssignment", "StartThread", "LookAtAssignment")
			r.wantTimers()
			if a := r.assignment("a"); a.Status != models.AssignmentReady || r.command(start.ID).State != models.CommandFailed {
				t.Errorf("assignment %s, command %+v", a.Status, r.command(start.ID))
			}
		})
	}
}

func TestACancelledRunIsInterruptedBeforeAnythingElse(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	run := r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.at(time.Minute, func() { r.cancel("a") })
	r.ends(workflows.Assignment, "a", assign("a"))
	r.wantSteps("LookAtAssignment", "LookAtAssignment", "InterruptRun", "LookAtAssignment", "InspectScope", "LookAtAssignment", "Rest")
	if got := r.run(run.ID); got.EndedAt == nil || got.Status != models.RunCancelled {
		t.Errorf("run %+v", got)
	}
	r.wantTimers()
}

func TestARunIsResumedOnceWhenItIsDue(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	run := r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.at(time.Minute, func() {
		r.endTurn("th", "tu", models.TurnFailed)
		if cmd := r.planned(models.CommandResume); cmd.NotBefore == nil {
			t.Errorf("resume %+v has no time", cmd)
		}
	})
	queued := func() int {
		n, err := r.l.NextMessage(t.Context(), "th")
		r.ok(err)
		return n.Pending
	}
	r.quiet(time.Minute+9*time.Second, func() {
		if n := queued(); n != 0 {
			t.Errorf("%d messages before the back-off ended", n)
		}
	})
	r.quiet(time.Minute+11*time.Second, func() {
		if n := queued(); n != 1 {
			t.Errorf("%d messages after the back-off", n)
		}
	})
	r.stopAt(time.Hour)
	r.stopped(workflows.Assignment, "a", assign("a"))
	r.wantTimers(10 * time.Second)
	if n := r.times("QueueResume"); n != 1 {
		t.Errorf("resumed %d times", n)
	}
	cmds, err := r.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID})
	r.ok(err)
	if cmds[0].Type != models.CommandResume || cmds[0].State != models.CommandDone || cmds[0].Result != "message_queued" {
		t.Errorf("resume %+v", cmds[0])
	}
}

// The run is cancelled while its resume waits for its time: the timer fires and
// nothing is resumed.
func TestATimerOnlyWakes(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.endTurn("th", "tu", models.TurnFailed)
	resume := r.planned(models.CommandResume)
	r.quiet(5*time.Second, func() { // the wake-up is not relayed
		_, _, err := r.l.BeginCommand(t.Context(), resume.ID, "other")
		r.ok(err)
		r.ok(r.l.FailCommand(t.Context(), resume.ID, "other", "closed by somebody"))
	})
	r.stopAt(time.Hour)
	r.stopped(workflows.Assignment, "a", assign("a"))
	if n := r.times("QueueResume"); n != 0 {
		t.Errorf("the timer resumed %d times", n)
	}
	if got := r.did(); len(got) < 2 || got[0] != "LookAtAssignment" || got[1] != "LookAtAssignment" {
		t.Errorf("the timer did not look again: %v", got)
	}
	r.wantTimers(10 * time.Second)
}

func TestAFailedEffectIsLookedAtAgainAndNeverLost(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	start := r.planned(models.CommandStart)
	r.node.fails["StartThread"] = []error{broken(), errors.New("not now"), nil, broken()}
	r.quiet(5*time.Second, func() {
		if s := r.command(start.ID).State; s != models.CommandIntended {
			t.Errorf("after the failure the command is %s", s)
		}
	})
	r.at(6*time.Second, func() {}) // a wake-up does not cut the wait short
	r.quiet(9*time.Second, func() {
		if n := r.times("StartThread"); n != 1 {
			t.Errorf("tried %d times within the wait", n)
		}
	})
	r.stopAt(time.Hour)
	r.stopped(workflows.Assignment, "a", assign("a"))
	if s := r.command(start.ID).State; s != models.CommandDone || r.assignment("a").Status != models.AssignmentClaimed {
		t.Errorf("command %s, assignment %s", s, r.assignment("a").Status)
	}
	r.wantTimers(10 * time.Second)
}

func TestAFailedInspectionIsLookedAtAgain(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.cancel("a")
	r.node.fails["InspectScope"] = []error{broken()}
	r.node.fails["InterruptRun"] = []error{broken()}
	r.ends(workflows.Assignment, "a", assign("a"))
	r.wantTimers(10*time.Second, 10*time.Second)
	if n, m := r.times("InspectScope"), r.times("InterruptRun"); n != 2 || m != 2 {
		t.Errorf("inspected %d times, interrupted %d times", n, m)
	}
}

func TestRefusedRestGoesOn(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.cancel("a")
	r.control.before["Rest"] = func() { r.ok(r.l.RaiseAll(t.Context())) }
	r.ends(workflows.Assignment, "a", assign("a"))
	steps := r.did()
	if want := []string{"Rest", "LookAtAssignment", "Rest"}; !slices.Equal(steps[len(steps)-3:], want) {
		t.Errorf("after a refused rest %v, want %v", steps, want)
	}
}

// The cancel happens and is relayed after the look has read the ledger, and
// before the workflow waits.
func TestAWakeUpDuringAStepIsNotLost(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.control.after["LookAtAssignment"] = func() { r.cancel("a"); r.wake(); r.wake() }
	r.ends(workflows.Assignment, "a", assign("a"))
	r.wantSteps("LookAtAssignment", "LookAtAssignment", "InterruptRun", "LookAtAssignment", "InspectScope", "LookAtAssignment", "Rest")
	r.wantTimers()
}

func TestWakeUpsThatArriveTogetherAreOneLook(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.quiet(time.Minute, func() {
		for range 50 {
			r.env.SignalWorkflowSkippingWorkflowTask(workflows.WakeSignal, nil)
		}
		r.wake()
	})
	r.stopAt(time.Hour)
	r.stopped(workflows.Assignment, "a", assign("a"))
	if n := r.times("LookAtAssignment"); n != 2 {
		t.Errorf("%d looks", n)
	}
}

func TestALongHistoryContinuesAsNewOnlyAfterRest(t *testing.T) {
	for name, long := range map[string]func(*rig){
		"by its length":   func(r *rig) { r.env.SetCurrentHistoryLength(2000) },
		"by the server's": func(r *rig) { r.env.SetContinueAsNewSuggested(true) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.create("a")
			r.claimed(r.planned(models.CommandStart), "th", "tu")
			long(r)
			r.control.before["Rest"] = func() { r.ok(r.l.RaiseAll(t.Context())) }
			r.at(time.Minute, func() {})
			err := r.execute(workflows.Assignment, "a", assign("a"))
			var next *workflow.ContinueAsNewError
			if !errors.As(err, &next) || next.WorkflowType.Name != workflows.AssignmentName {
				t.Fatalf("ended with %v", err)
			}
			r.wantSteps("LookAtAssignment", "Rest", "LookAtAssignment", "Rest")
		})
	}
}

func TestAShortHistoryGoesOn(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.env.SetCurrentHistoryLength(1999)
	r.stopAt(time.Hour)
	r.stopped(workflows.Assignment, "a", assign("a"))
	if n := r.times("Rest"); n != 0 {
		t.Errorf("asked %d times for leave to renew", n)
	}
}

func TestTheCardIsWhatTheLedgerSaid(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	run := r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.quiet(time.Minute, func() {
		v, err := r.env.QueryWorkflow(workflows.CardQuery)
		r.ok(err)
		var c ledger.Card
		r.ok(v.Get(&c))
		if c.AssignmentID != "a" || c.TeamID != "t" || c.WorkspaceID != "w" || c.Status != "claimed" || c.ActorID != run.ActorID || !strings.Contains(c.Text, run.ID) {
			t.Errorf("card %+v", c)
		}
	})
	r.stopAt(time.Hour)
	r.stopped(workflows.Assignment, "a", assign("a"))
}
