package worker_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// Limits on what one turn writes into histories.
const (
	maxEventsOfWork = 40  // the assignment's own workflow, for its one turn (design, numbers)
	maxEventsInAll  = 100 // everything that takes part, by turn: also loop, nudge, senders and clock from their start on
)

func TestAnAssignmentIsAcceptedOnTheFake(t *testing.T) {
	c := newCrew(t, nil)
	c.serve()
	c.create("add-a-line", "Add a line to the notes")
	c.awaitStatus("add-a-line", models.AssignmentAccepted)
	taking := c.partOf("add-a-line")
	front := workflows.Front{Client: c.dial(), Prefix: c.l.Prefix()}
	var events int64
	for id, status := range taking {
		d := c.awaitWorkflow(front, id, status)
		t.Logf("%-60s %3d events", id, d.Events)
		events += d.Events
	}
	turns := int64(2) // the worker's and the integrator's
	t.Logf("%d events for %d turns: %d a turn", events, turns, events/turns)
	if events > turns*maxEventsInAll {
		t.Errorf("%d events for %d turns, want at most %d a turn", events, turns, maxEventsInAll)
	}
	if d := c.awaitWorkflow(front, ledger.AssignmentWorkflow("add-a-line"), "Completed"); d.Events > maxEventsOfWork {
		t.Errorf("the assignment's workflow has %d events for one turn, want at most %d", d.Events, maxEventsOfWork)
	}
	card, err := front.Card(t.Context(), ledger.LoopWorkflow("ship", "deck"))
	if err != nil || card.TeamID != "deck" || card.Status != "on" {
		t.Errorf("card %+v, %v", card, err)
	}
}

// partOf are the workflows that take part in an assignment, with the states in
// which they rest after its end.
func (c *crew) partOf(id string) map[string]string {
	c.Helper()
	out := map[string]string{ledger.ClockWorkflow(): "Running", ledger.LoopWorkflow("ship", "deck"): "Running", ledger.AssignmentWorkflow(id): "Completed"}
	cmds, err := c.l.Commands(c.Context(), ledger.CommandFilter{TeamID: "deck"})
	ok(c.T, err)
	for _, cmd := range cmds {
		if cmd.Type == models.CommandNudge {
			out[ledger.NudgeWorkflow(cmd.ID)] = "Completed"
		}
	}
	turns, err := c.l.Events(c.Context(), ledger.EventFilter{Types: []string{models.EventTurnStarted}})
	ok(c.T, err)
	for _, e := range turns {
		if thread, _ := e.Payload["thread_id"].(string); thread != "" {
			out[ledger.DeliveryWorkflow(thread)] = "Completed"
		}
	}
	return out
}

// With a cache of no workflows every task replays its history from the start,
// which finds what workflowcheck cannot see.
func TestTheSameWithoutACacheOfWorkflows(t *testing.T) {
	if os.Getenv(uncachedEnv) != "" {
		t.Skip("this process is the one without the cache")
	}
	if built.temporal == "" {
		startTemporal(t) // skips or fails
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAnAssignmentIsAcceptedOnTheFake$", "-test.v", "-test.timeout", "4m")
	cmd.Env = append(os.Environ(), uncachedEnv+"=1", "COX_BIN="+built.cox, "COX_TEMPORAL_BIN="+built.temporal)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// An idle loop writes nothing: neither timers nor tasks.
func TestAnIdleWorkerWritesNoHistory(t *testing.T) {
	c := newCrew(t, nil)
	c.serve()
	front := workflows.Front{Client: c.dial(), Prefix: c.l.Prefix()}
	loop := ledger.LoopWorkflow("ship", "deck")
	c.awaitWorkflow(front, loop, "Running")
	quiet := func() int64 { return c.awaitWorkflow(front, loop, "Running").Events }
	before, since := quiet(), time.Now()
	eventually(t, 30*time.Second, "the loop does not come to rest", func() bool {
		if now := quiet(); now != before {
			before, since = now, time.Now()
		}
		return time.Since(since) > 4*time.Second // four polls of the team's plan
	})
	history := c.history(c.dial(), loop)
	for _, e := range history.GetEvents() {
		if e.GetTimerStartedEventAttributes() != nil {
			t.Errorf("an idle loop set a timer: %v", e)
		}
	}
	t.Logf("an idle loop rests with %d events", before)
}
