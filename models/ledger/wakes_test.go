package ledger_test

import (
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

var teamLoop = ledger.LoopWorkflow("w", "t")

// taken acknowledges the loop's wake-up, so that a later one can be told apart.
func (c *crew) taken() {
	c.Helper()
	_, err := c.l.Acknowledge(c.Context(), teamLoop)
	c.ok(err)
}

// A start and the receipt of its prompt leave the loop asleep: it waits for the end
// of the turn.
func TestAStartThatGoesWellDoesNotWakeTheLoop(t *testing.T) {
	onBoth(t, aStartThatGoesWellDoesNotWakeTheLoop)
}

func aStartThatGoesWellDoesNotWakeTheLoop(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	start := c.only(models.CommandStart)
	c.taken()
	c.claimed(start, "th-1")
	c.delivered("th-1", "tu-1")
	if c.due(teamLoop) {
		t.Error("the loop was woken while the turn is under way")
	}
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	if !c.due(teamLoop) {
		t.Error("the end of the turn did not wake the loop")
	}
}

// What happened while a message was on its way is planned when its receipt comes.
func TestAReceiptWakesTheLoopWhenThereIsMoreToDo(t *testing.T) {
	onBoth(t, aReceiptWakesTheLoopWhenThereIsMoreToDo)
}

func aReceiptWakesTheLoopWhenThereIsMoreToDo(t *testing.T, at place) {
	for name, meanwhile := range map[string]func(*crew){
		"the work was called off": func(c *crew) {
			_, err := c.l.CancelAssignment(c.Context(), ledger.As(person), "a", nil, "no")
			c.ok(err)
		},
		"the turn has ended": func(c *crew) {
			c.ok(c.l.EndTurn(c.Context(), ledger.TurnReport{ThreadID: "th-1", TurnID: "tu-1", Status: models.TurnCompleted}))
		},
	} {
		c := newCrew(t, at, nil)
		c.create("a")
		c.claimed(c.only(models.CommandStart), "th-1")
		m, err := c.l.BeginMessage(t.Context(), "th-1", "sender")
		c.ok(err)
		meanwhile(c)
		if got := c.plan(); len(got) != 0 {
			t.Errorf("%s: planned over a message on its way: %v", name, got)
		}
		c.taken()
		c.ok(c.l.Delivered(t.Context(), m.Item.ID, "sender", "tu-1", false))
		if !c.due(teamLoop) {
			t.Errorf("%s: the receipt did not wake the loop", name)
		}
		if got := c.plan(); len(got) != 1 {
			t.Errorf("%s: after the receipt %v", name, got)
		}
	}
}

// A start that failed wakes the loop, which tries again.
func TestAFailedStartWakesTheLoop(t *testing.T) {
	onBoth(t, aFailedStartWakesTheLoop)
}

func aFailedStartWakesTheLoop(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	start := c.only(models.CommandStart)
	_, _, err := c.l.BeginCommand(t.Context(), start.ID, "x")
	c.ok(err)
	c.taken()
	c.ok(c.l.FailCommand(t.Context(), start.ID, "x", "no thread"))
	if !c.due(teamLoop) {
		t.Error("the failure did not wake the loop")
	}
}
