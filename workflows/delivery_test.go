package workflows_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// queuedTwo brings two messages into the thread "th": the prompt of a start, and a
// resume that follows it.
func queuedTwo(r *rig) (first, second string) {
	r.Helper()
	r.create("a")
	start := r.planned(models.CommandStart)
	_, _, err := r.l.BeginCommand(r.Context(), start.ID, "rig")
	r.ok(err)
	_, err = r.l.RecordThread(r.Context(), start.ID, "rig", "th")
	r.ok(err)
	r.ok(r.l.ClaimRun(r.Context(), start.ID, "rig", ledger.Claim{Prompt: "one"}))
	return models.MessageID(start.ID), start.RunID
}

// followUp queues the resume of a run whose turn was lost.
func (r *rig) followUp(turn string) models.Command {
	r.Helper()
	r.endTurn("th", turn, models.TurnInterrupted)
	resume := r.planned(models.CommandResume)
	_, _, err := r.l.BeginCommand(r.Context(), resume.ID, "rig")
	r.ok(err)
	r.ok(r.l.QueueMessage(r.Context(), resume.ID, "rig", "two"))
	return resume
}

func TestMessagesAreSentInOrderOneAtATime(t *testing.T) {
	r := newRig(t, nil)
	first, _ := queuedTwo(r)
	r.control.before["Rest"] = func() { r.followUp("tu-" + first) } // arrives as the sender wants to end
	r.ends(workflows.Delivery, "th", ledger.DeliveryWorkflow("th"))
	r.wantSteps("LookAtThread", "Deliver", "LookAtThread", "Rest", "LookAtThread", "Deliver", "LookAtThread", "Rest")
	if want := []string{"Deliver th one", "Deliver th two"}; !slices.Equal(r.node.called(), want) {
		t.Errorf("sent %v, want %v", r.node.called(), want)
	}
	r.wantTimers()
	if !r.node.queues["01234567-node-n"] {
		t.Errorf("sent on %v", r.node.queues)
	}
}

func TestAMessageThatIsHeldWaitsForItsTimeOrTheEndOfTheTurn(t *testing.T) {
	r := newRig(t, nil)
	first, _ := queuedTwo(r)
	_, err := r.l.BeginMessage(t.Context(), "th", "rig")
	r.ok(err)
	r.ok(r.l.DeliveryHeld(t.Context(), first, "rig", "a turn is active"))
	r.quiet(14*time.Second, func() {
		if n := r.times("Deliver"); n != 0 {
			t.Error("a held message was sent before its time")
		}
	})
	r.ends(workflows.Delivery, "th", ledger.DeliveryWorkflow("th"))
	r.wantSteps("LookAtThread", "LookAtThread", "Deliver", "LookAtThread", "Rest")
	r.wantTimers(15 * time.Second)
}

func TestTheEndOfATurnWakesTheSender(t *testing.T) {
	r := newRig(t, nil)
	first, _ := queuedTwo(r)
	_, err := r.l.BeginMessage(t.Context(), "th", "rig")
	r.ok(err)
	r.ok(r.l.DeliveryHeld(t.Context(), first, "rig", "a turn is active"))
	r.at(3*time.Second, func() { r.endTurn("th", "somebody-elses", models.TurnCompleted) })
	r.quiet(4*time.Second, func() {
		if n := r.times("Deliver"); n != 1 {
			t.Error("the message still waits although the turn has ended")
		}
	})
	r.ends(workflows.Delivery, "th", ledger.DeliveryWorkflow("th"))
}

func TestAFailedDeliveryIsLookedAtAgain(t *testing.T) {
	r := newRig(t, nil)
	queuedTwo(r)
	r.node.fails["Deliver"] = []error{broken(), nil}
	r.ends(workflows.Delivery, "th", ledger.DeliveryWorkflow("th"))
	r.wantTimers(10 * time.Second)
	if got := r.node.called(); len(got) != 2 || !strings.HasSuffix(got[1], " one") {
		t.Errorf("calls %v", got)
	}
}

func TestASenderWithoutMessagesEnds(t *testing.T) {
	r := newRig(t, nil)
	r.ends(workflows.Delivery, "nobody", ledger.DeliveryWorkflow("nobody"))
	r.wantSteps("LookAtThread", "Rest")
}

func TestAWakeUpThatIsThereAlreadySparesTheTimer(t *testing.T) {
	r := newRig(t, nil)
	first, _ := queuedTwo(r)
	_, err := r.l.BeginMessage(t.Context(), "th", "rig")
	r.ok(err)
	r.ok(r.l.DeliveryHeld(t.Context(), first, "rig", "a turn is active"))
	r.control.after["LookAtThread"] = func() { r.endTurn("th", "somebody-elses", models.TurnCompleted); r.wake() }
	r.ends(workflows.Delivery, "th", ledger.DeliveryWorkflow("th"))
	r.wantSteps("LookAtThread", "LookAtThread", "Deliver", "LookAtThread", "Rest")
	r.wantTimers()
}
