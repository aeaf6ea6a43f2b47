package ledger_test

import (
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// A run that waits in the back-off of a failed turn is interrupted at once when its
// assignment is called off.
func TestACancelDoesNotWaitForABackOff(t *testing.T) {
	onBoth(t, aCancelDoesNotWaitForABackOff)
}

func aCancelDoesNotWaitForABackOff(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	c.endTurn("th-1", "tu-1", models.TurnFailed)
	resume := c.only(models.CommandResume)
	if resume.NotBefore == nil {
		t.Fatal("the resume does not back off")
	}
	c.cancelled("a", run)
	if got, err := c.l.Command(t.Context(), resume.ID); err != nil || got.State != models.CommandFailed || got.Result != "not_wanted" {
		t.Errorf("the resume is %+v, %v", got, err)
	}
}

// So is one whose message nobody has begun to send.
func TestACancelDropsAMessageThatNobodySends(t *testing.T) {
	onBoth(t, aCancelDropsAMessageThatNobodySends)
}

func aCancelDropsAMessageThatNobodySends(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.cancelled("a", run)
	if next, err := c.l.NextMessage(t.Context(), "th-1"); err != nil || next.Pending != 0 {
		t.Errorf("left to send: %+v, %v", next, err)
	}
}

// A message that an attempt has begun to send is waited for, since it may arrive.
func TestACancelWaitsForAMessageOnItsWay(t *testing.T) {
	onBoth(t, aCancelWaitsForAMessageOnItsWay)
}

func aCancelWaitsForAMessageOnItsWay(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	if m, err := c.l.BeginMessage(t.Context(), "th-1", "sender"); err != nil || m == nil {
		t.Fatal(m, err)
	}
	_, err := c.l.CancelAssignment(t.Context(), ledger.As(person), "a", nil, "not needed")
	c.ok(err)
	if open, err := c.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true}); err != nil || len(open) != 0 {
		t.Errorf("planned over a message on its way: %+v, %v", open, err)
	}
}

// cancelled cancels an assignment and demands that its run is interrupted now.
func (c *crew) cancelled(id string, run models.Run) {
	c.Helper()
	c.pass(time.Second)
	_, err := c.l.CancelAssignment(c.Context(), ledger.As(person), id, nil, "not needed")
	c.ok(err)
	open, err := c.l.Commands(c.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	c.ok(err)
	if len(open) != 1 || open[0].Type != models.CommandInterrupt {
		c.Fatalf("after the cancel these are open: %+v", open)
	}
}
