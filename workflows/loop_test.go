package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

var teamLoop = ledger.LoopWorkflow("w", "t")

func TestALoopPlansAtEachWakeUpAndIsSilentBetween(t *testing.T) {
	r := newRig(t, nil)
	r.quiet(time.Hour, func() {
		r.wantSteps("PlanTeam")
		r.wantTimers() // an idle hour writes nothing
	})
	r.at(time.Hour, func() { r.create("a") })
	r.quiet(2*time.Hour, func() {
		cmds, err := r.l.Commands(t.Context(), ledger.CommandFilter{AssignmentID: "a"})
		r.ok(err)
		if len(cmds) != 1 || cmds[0].Type != models.CommandStart || cmds[0].State != models.CommandIntended {
			t.Errorf("commands %+v", cmds)
		}
	})
	r.stopAt(26 * time.Hour)
	r.stopped(workflows.Loop, "t", teamLoop)
	// The probe is old by then: the pass at the wake-up renews it and looks again.
	r.wantSteps("PlanTeam", "PlanTeam", "Probe", "PlanTeam")
	r.wantTimers()
	if !slices.Equal([]bool{r.node.queues["01234567-node-n"], len(r.node.queues) == 1}, []bool{true, true}) {
		t.Errorf("probed on %v", r.node.queues)
	}
}

func TestAFailedProbeIsMadeAgain(t *testing.T) {
	r := newRig(t, nil)
	_, err := r.l.StartNode(t.Context(), "n", "host", 0) // the next incarnation has no probe
	r.ok(err)
	r.create("a")
	r.node.fails["Probe"] = []error{broken()}
	r.stopAt(time.Minute)
	r.stopped(workflows.Loop, "t", teamLoop)
	r.wantSteps("PlanTeam", "Probe", "PlanTeam", "Probe", "PlanTeam")
	r.wantTimers(10 * time.Second)
	cmds, err := r.l.Commands(t.Context(), ledger.CommandFilter{AssignmentID: "a"})
	r.ok(err)
	if len(cmds) != 1 {
		t.Errorf("after the probe: %+v", cmds)
	}
}

func TestALoopThatIsOffEndsOnceNothingIsLive(t *testing.T) {
	r := newRig(t, func(s *models.LoopSettings) { s.Enabled = false })
	r.control.before["Rest"] = func() { r.ok(r.l.WakeTeam(t.Context(), "w", "t")) }
	r.at(time.Minute, func() {})
	r.ends(workflows.Loop, "t", teamLoop)
	r.wantSteps("PlanTeam", "Rest", "PlanTeam", "Rest")
	r.wantTimers()
}

func TestALoopThatIsOffLivesWhileWorkIsLive(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	run := r.claimed(r.planned(models.CommandStart), "th", "tu")
	off := models.DefaultLoop()
	_, _, err := r.l.ConfigureLoop(t.Context(), ledger.As(person), "t", off)
	r.ok(err)
	r.quiet(time.Hour, func() {
		if n := r.times("Rest"); n != 0 {
			t.Error("the loop wanted to end while a run was live")
		}
	})
	r.at(time.Hour, func() {
		e := r.handOff(run.ID)
		r.endTurn("th", "tu", models.TurnCompleted)
		r.decide(e.ID, models.DecisionReject)
	})
	r.ends(workflows.Loop, "t", teamLoop)
}

func TestAWakeUpDuringAPlanningPassIsNotLost(t *testing.T) {
	r := newRig(t, nil)
	r.control.after["PlanTeam"] = func() { r.create("a"); r.wake() }
	r.stopAt(time.Minute)
	r.stopped(workflows.Loop, "t", teamLoop)
	r.wantSteps("PlanTeam", "PlanTeam")
	cmds, err := r.l.Commands(t.Context(), ledger.CommandFilter{AssignmentID: "a"})
	r.ok(err)
	if len(cmds) != 1 {
		t.Errorf("commands %+v", cmds)
	}
}

func TestSearchAttributesFollowTheCardWhereTheNamespaceHasThem(t *testing.T) {
	for _, has := range []bool{true, false} {
		r := newRig(t, nil)
		written := 0
		r.env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
			written++
			set, _ := args.Get(0).(temporal.SearchAttributes)
			team, _ := set.GetKeyword(workflows.AttrTeam)
			status, _ := set.GetKeyword(workflows.AttrStatus)
			if team != "t" || status != "on" {
				t.Errorf("attributes %v", set)
			}
		}).Return(nil).Maybe()
		r.at(time.Minute, func() {})
		r.at(2*time.Minute, func() { r.create("a") }) // changes the card's text only
		r.stopAt(3 * time.Minute)
		r.env.ExecuteWorkflow(workflows.Loop, activities.Subject{ID: "t", WorkflowID: teamLoop, Attributes: has})
		if want := map[bool]int{true: 1, false: 0}[has]; written != want {
			t.Errorf("with attributes %t: written %d times, want %d", has, written, want)
		}
	}
}
