package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// TestKilledUpLeavesNoLoopOn kills `cox up` outright: whatever starts next takes
// its loop as off, and gives nothing back as on.
func TestKilledUpLeavesNoLoopOn(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	kill := func(args ...string) {
		p := h.start(append(args, "--adapter", "fake", "--address", e.Address)...)
		p.says(time.Minute, "loop is on for "+theTeam)
		p.signal(syscall.SIGKILL)
		within(t, time.Minute, "its processes end with it", func() bool { return len(h.processes()) == 0 })
	}
	loop := func() models.LoopSettings {
		team, err := h.ledger(h.state()).Team(t.Context(), theTeam)
		if err != nil {
			t.Fatal(err)
		}
		return team.Loop
	}
	kill("up")
	if s := loop(); !s.Enabled || s.Owner == "" {
		t.Fatalf("after the kill the ledger has %+v", s)
	}
	h.assign("unwanted", "")
	bare := h.start("up", "--no-loop", "--address", e.Address)
	bare.says(time.Minute, "worker is ready")
	if s := loop(); s.Enabled {
		t.Errorf("a start without loops has %+v", s)
	}
	bare.interrupt()
	if started := events(t, h.ledger(h.state()), ledger.EventFilter{AssignmentID: "unwanted", Types: []string{models.EventCommandDispatched}}); len(started) != 0 {
		t.Errorf("started by a loop that nobody had turned on: %+v", started)
	}
	h.ok(&struct{}{}, "assignment", "cancel", "--reason", "not needed", "unwanted")

	kill("loop")
	next := h.start("loop", "--adapter", "fake", "--address", e.Address)
	next.says(time.Minute, "loop is on for "+theTeam)
	next.interrupt()
	if s := loop(); s.Enabled {
		t.Errorf("the next loop gave back %+v", s)
	}
}

// TestWorkerTurnsOffTheLoopOfAKilledCommand has a worker of its own, which goes on.
func TestWorkerTurnsOffTheLoopOfAKilledCommand(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	p := h.start("loop", "--adapter", "fake", "--address", e.Address)
	p.says(time.Minute, "loop is on for "+theTeam)
	p.signal(syscall.SIGKILL)
	l := h.ledger(h.state())
	within(t, time.Minute, "the loop goes off", func() bool {
		team, err := l.Team(t.Context(), theTeam)
		return err == nil && !team.Loop.Enabled && team.Loop.Owner == ""
	})
	w.interrupt()
}
