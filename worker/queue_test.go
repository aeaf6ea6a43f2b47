package worker

import (
	"fmt"
	"testing"
	"time"

	"coxswain/models/ledger"
	"coxswain/workflows"
)

// crowded is a relay over a ledger in which the wake-ups of many threads wait.
func crowded(t *testing.T, threads int) (*rig, *engine, relay) {
	t.Helper()
	r := newRig(t)
	waiting := make([]string, 0, threads)
	for n := range threads {
		waiting = append(waiting, fmt.Sprintf("thread-%05d", n))
	}
	r.ok(r.l.WakeThreads(t.Context(), waiting))
	e := &engine{running: map[string]bool{}}
	return r, e, relay{ledger: r.l, client: e, reach: reached(false), log: discard(), sent: map[string]sending{}}
}

// late makes every wake-up that was sent due for its repetition.
func (r relay) late() { r.repeatsAt(time.Now().Add(-time.Millisecond)) }

// repeatsAt sets when every wake-up that was sent is repeated.
func (r relay) repeatsAt(next time.Time) {
	for id, s := range r.sent {
		s.next = next
		r.sent[id] = s
	}
}

// Few of a long queue are under way at a time, and each acknowledgement makes room.
func TestALongQueueIsBroughtStepByStep(t *testing.T) {
	r, e, relay := crowded(t, 3*relayWindow)
	relay.deliver(t.Context())
	relay.deliver(t.Context())
	if e.asked != relayWindow {
		t.Fatalf("%d were woken at once, want %d", e.asked, relayWindow)
	}
	rounds := 0
	for ; rounds < 10; rounds++ {
		due, err := r.l.DueWakeups(t.Context(), 10*relayWindow)
		r.ok(err)
		if len(due) == 0 {
			break
		}
		for id := range relay.sent {
			_, err := r.l.Acknowledge(t.Context(), id)
			r.ok(err)
		}
		relay.deliver(t.Context())
	}
	if rounds > 5 || len(relay.sent) != 0 {
		t.Errorf("after %d rounds %d are remembered", rounds, len(relay.sent))
	}
	for _, w := range e.woken {
		if n := len(e.of(w.id)); n != 1 {
			t.Fatalf("%s was woken %d times", w.id, n)
		}
	}
}

// What was raised last waits behind no long queue of messages: neither work nor the
// message that work waits for.
func TestNewWorkWaitsBehindNoLongQueue(t *testing.T) {
	r, e, relay := crowded(t, 5*relayWindow)
	r.ok(r.l.WakeTeam(t.Context(), "w", "t"))
	r.ok(r.l.WakeThreads(t.Context(), []string{"thread-new"}))
	relay.deliver(t.Context())
	for _, id := range []string{ledger.LoopWorkflow("w", "t"), ledger.DeliveryWorkflow("thread-new")} {
		if n := len(e.of(workflows.ID(r.l.Prefix(), id))); n != 1 {
			t.Errorf("%s was woken %d times at once", id, n)
		}
	}
}

// An engine that is slower than the relay is given little more until it has caught up.
func TestABusyEngineIsGivenLittleMore(t *testing.T) {
	_, e, relay := crowded(t, 5*relayWindow)
	relay.deliver(t.Context())
	relay.late()
	relay.deliver(t.Context()) // repeats what was not read, which counts as late from here on
	relay.repeatsAt(time.Now().Add(time.Hour))
	before := e.asked
	relay.deliver(t.Context())
	relay.deliver(t.Context())
	if more := e.asked - before; more != relayTrickle {
		t.Errorf("%d more were woken while %d are late, want %d", more, relayWindow, relayTrickle)
	}
	if len(relay.sent) != relayWindow+relayTrickle {
		t.Errorf("%d are under way, want %d late ones and %d new ones", len(relay.sent), relayWindow, relayTrickle)
	}
}

// Workflows that do not read leave the way to others, get few signals however often
// they are raised, and are told about.
func TestWorkflowsThatDoNotReadJamNoOthers(t *testing.T) {
	r, e, relay := crowded(t, relayWindow)
	jammed := ledger.DeliveryWorkflow("thread-00000")
	full := workflows.ID(r.l.Prefix(), jammed)
	e.running[full], e.broken = true, 7
	for range jamTries {
		relay.deliver(t.Context())
		relay.late()
	}
	loop := workflows.ID(r.l.Prefix(), ledger.LoopWorkflow("w", "t"))
	for range 50 {
		r.ok(r.l.WakeTeam(t.Context(), "w", "t"))
		r.ok(r.l.WakeThreads(t.Context(), []string{"thread-00000"}))
		relay.deliver(t.Context())
	}
	if len(e.of(loop)) == 0 {
		t.Error("the loop was never woken behind workflows that do not read")
	}
	lag, err := r.l.Lag(t.Context())
	r.ok(err)
	if len(lag.Jams) != 1 || lag.Jams[0].WorkflowID != jammed || lag.Jams[0].Subject != "thread-00000" {
		t.Fatalf("jams %+v", lag.Jams)
	}
	_, err = r.l.Acknowledge(t.Context(), jammed)
	r.ok(err)
	if lag, err = r.l.Lag(t.Context()); err != nil || len(lag.Jams) != 0 {
		t.Errorf("after it has read: jams %+v, %v", lag.Jams, err)
	}
}

// A workflow that is raised again and again and never reads gets one signal until
// it is repeated, so that it never collects as many as a server takes.
func TestSignalsOfAWorkflowThatDoesNotReadAreFew(t *testing.T) {
	r, e, relay := crowded(t, 0)
	id := workflows.ID(r.l.Prefix(), ledger.LoopWorkflow("w", "t"))
	for range 500 {
		r.ok(r.l.WakeTeam(t.Context(), "w", "t"))
		relay.deliver(t.Context())
		relay.repeatsAt(time.Now().Add(time.Hour)) // however slow the machine is
	}
	if n := len(e.of(id)); n != 1 {
		t.Errorf("%d signals for 500 wake-ups that nobody read", n)
	}
}

// A workflow that was terminated by hand is found and started again; one that ended
// by itself, or that waits for the relay already, is left alone.
func TestATerminatedWorkflowComesBack(t *testing.T) {
	r, e, _ := crowded(t, 0)
	loop, clock := ledger.LoopWorkflow("w", "t"), ledger.ClockWorkflow()
	due, err := r.l.DueWakeups(t.Context(), 100)
	r.ok(err)
	for _, d := range due {
		g, err := r.l.Acknowledge(t.Context(), d.WorkflowID)
		r.ok(err)
		if d.WorkflowID != loop && d.WorkflowID != clock {
			_, err := r.l.End(t.Context(), d.WorkflowID, g)
			r.ok(err)
		}
	}
	e.running[workflows.ID(r.l.Prefix(), clock)] = true
	e.running[workflows.ID(r.l.Prefix(), loop)] = false
	look := newReviver(r.l, e, discard())
	r.ok(look.look(t.Context(), time.Now()))
	due, err = r.l.DueWakeups(t.Context(), 100)
	r.ok(err)
	if len(due) != 1 || due[0].WorkflowID != loop {
		t.Fatalf("woken %+v, want the loop alone", due)
	}
	_, err = r.l.Acknowledge(t.Context(), loop)
	r.ok(err)
	now := time.Now()
	r.ok(look.look(t.Context(), now))
	if due, err = r.l.DueWakeups(t.Context(), 100); err != nil || len(due) != 0 {
		t.Errorf("brought back at once again: %+v, %v", due, err)
	}
	for range jamRevivals {
		now = now.Add(lastRevival)
		r.ok(look.look(t.Context(), now))
		if lag, err := r.l.Lag(t.Context()); err != nil || len(lag.Jams) > 0 {
			return
		}
		_, err = r.l.Acknowledge(t.Context(), loop)
		r.ok(err)
	}
	t.Error("nobody was told of a workflow that does not stay alive")
}
