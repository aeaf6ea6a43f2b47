package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// handedOff brings an assignment to its undecided handoff and plans the nudge.
func handedOff(r *rig) (handoff models.Event, nudge models.Command) {
	r.Helper()
	r.create("a")
	run := r.claimed(r.planned(models.CommandStart), "th", "tu")
	handoff = r.handOff(run.ID)
	r.endTurn("th", "tu", models.TurnCompleted)
	return handoff, r.planned(models.CommandNudge)
}

// raised is how often the loop was woken by now.
func (r *rig) raised() int64 {
	r.Helper()
	g, err := r.l.Acknowledge(r.Context(), teamLoop)
	r.ok(err)
	return g
}

func TestANudgeEndsWhenItsHandoffIsDecided(t *testing.T) {
	r := newRig(t, nil)
	handoff, nudge := handedOff(r)
	r.quiet(time.Second, func() {
		n, err := r.l.NextMessage(t.Context(), "th-1")
		r.ok(err)
		if n.Pending != 1 || n.Message == nil || n.Message.Item.Kind != models.PromptReview || !strings.Contains(n.Message.Item.Text, handoff.ID) {
			t.Errorf("queued %+v", n)
		}
	})
	r.at(30*time.Second, func() { r.decide(handoff.ID, models.DecisionAccept) })
	r.ends(workflows.Nudge, nudge.ID, ledger.NudgeWorkflow(nudge.ID))
	r.wantSteps("LookAtNudge", "StartThread", "QueueNudge", "LookAtNudge", "LookAtNudge", "WakeTeam", "Rest")
	r.wantTimers(time.Minute)
	if cmd := r.command(nudge.ID); cmd.State != models.CommandDone {
		t.Errorf("command %s", cmd.State)
	}
}

func TestANudgeInVainEndsWhenTheNextIsDueAndWakesTheLoop(t *testing.T) {
	r := newRig(t, func(s *models.LoopSettings) { s.ReviewNudgeSeconds = 300 })
	_, nudge := handedOff(r)
	before := r.raised()
	var queued int64
	r.quiet(time.Second, func() { queued = r.raised() })
	start := r.env.Now()
	r.ends(workflows.Nudge, nudge.ID, ledger.NudgeWorkflow(nudge.ID))
	r.wantTimers(5 * time.Minute)
	if took := r.env.Now().Sub(start); took < 5*time.Minute || took > 6*time.Minute {
		t.Errorf("ended after %s", took)
	}
	if after := r.raised(); queued != before || after != queued+1 { // nothing is to be planned while the integrator reads
		t.Errorf("the loop was woken %d, %d, %d times", before, queued, after)
	}
	r.delivered("th-1", "tu-i")
	r.endTurn("th-1", "tu-i", models.TurnCompleted)
	if next := r.planned(models.CommandNudge); next.Attempt != 2 || next.Cause != nudge.Cause {
		t.Errorf("next nudge %+v", next)
	}
}

func TestANudgeWhoseThreadCannotBeStartedEnds(t *testing.T) {
	r := newRig(t, nil)
	_, nudge := handedOff(r)
	r.node.reject = "no thread"
	r.ends(workflows.Nudge, nudge.ID, ledger.NudgeWorkflow(nudge.ID))
	r.wantSteps("LookAtNudge", "StartThread", "LookAtNudge", "WakeTeam", "Rest")
	if cmd := r.command(nudge.ID); cmd.State != models.CommandFailed {
		t.Errorf("command %s", cmd.State)
	}
}

func TestANudgeIsNotQueuedForADecidedHandoff(t *testing.T) {
	r := newRig(t, nil)
	handoff, nudge := handedOff(r)
	r.control.before["QueueNudge"] = func() { r.decide(handoff.ID, models.DecisionNeedsFix) }
	r.ends(workflows.Nudge, nudge.ID, ledger.NudgeWorkflow(nudge.ID))
	if cmd := r.command(nudge.ID); cmd.State != models.CommandFailed || cmd.Result != "not_wanted" {
		t.Errorf("command %+v", cmd)
	}
	if n, err := r.l.NextMessage(t.Context(), "th-1"); err != nil || n.Pending != 0 {
		t.Errorf("queued %+v, %v", n, err)
	}
}

func TestAFailedNudgeIsLookedAtAgain(t *testing.T) {
	r := newRig(t, nil)
	handoff, nudge := handedOff(r)
	r.node.fails["StartThread"] = []error{broken(), errors.New("not now")}
	r.at(40*time.Second, func() { r.decide(handoff.ID, models.DecisionAccept) })
	r.ends(workflows.Nudge, nudge.ID, ledger.NudgeWorkflow(nudge.ID))
	if timers := r.timersSet(); len(timers) == 0 || timers[0] != 10*time.Second {
		t.Errorf("timers %v", timers)
	}
	if n := r.times("QueueNudge"); n != 1 || r.command(nudge.ID).State != models.CommandDone {
		t.Errorf("queued %d times", n)
	}
}

func TestANudgeMayNotRestWhenItWasWokenMeanwhile(t *testing.T) {
	r := newRig(t, nil)
	handoff, nudge := handedOff(r)
	r.at(time.Second, func() { r.decide(handoff.ID, models.DecisionAccept) })
	r.control.before["Rest"] = func() { r.ok(r.l.RaiseAll(t.Context())) }
	r.ends(workflows.Nudge, nudge.ID, ledger.NudgeWorkflow(nudge.ID))
	steps := r.did()
	if want := []string{"Rest", "LookAtNudge", "WakeTeam", "Rest"}; !slices.Equal(steps[len(steps)-4:], want) {
		t.Errorf("steps %v", steps)
	}
}
