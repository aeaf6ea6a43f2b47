package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"coxswain/models"
	"coxswain/models/ledger"
)

// TestInterruptStopsEverything is Ctrl-C in the middle of a demo.
func TestInterruptStopsEverything(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	p := h.start("up", "--demo", "--fake-pace", "200ms")
	p.says(2*time.Minute, "turn started")
	if names := fmt.Sprint(h.processes()); !strings.Contains(names, "cox-temporal") || !strings.Contains(names, "worker") || !strings.Contains(names, "fake-agent") {
		t.Errorf("half-way these run: %s", names)
	}
	p.interrupt()
	within(t, 5*time.Second, "no process is left", func() bool { return len(h.processes()) == 0 })
	if !strings.Contains(p.out.String(), "ASSIGNMENT") {
		t.Errorf("it ends without a table:\n%s", p.out.String())
	}
}

// TestInterruptSparesWhatRanBefore uses a Temporal that somebody else started.
func TestInterruptSparesWhatRanBefore(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	p := h.start("up", "--demo", "--address", e.Address, "--fake-pace", "200ms")
	p.says(2*time.Minute, "turn started")
	p.interrupt()
	if left := h.processes(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := dial(t, e).CheckHealth(t.Context(), &client.CheckHealthRequest{}); err != nil {
		t.Errorf("the Temporal that was used is gone: %v", err)
	}
}

func TestKillEndsTheChildrenToo(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("children follow a killed parent on Linux only")
	}
	h := newHome(t)
	p := h.start("up", "--demo", "--fake-pace", "200ms")
	p.says(2*time.Minute, "turn started")
	p.signal(syscall.SIGKILL)
	within(t, 30*time.Second, "no process is left", func() bool { return len(h.processes()) == 0 })
}

func TestSecondUpNamesTheFirst(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	first := h.start("up", "--adapter", "fake", "--address", e.Address)
	first.says(time.Minute, "loop is on for "+theTeam)
	pid := first.cmd.Process.Pid
	doc, _ := h.fails(3, "LEASE_CONFLICT", "up", "--adapter", "fake", "--address", e.Address)
	if got, ok := doc.Error.Details["holder_pid"].(float64); !ok || int(got) != pid || !strings.Contains(doc.Error.Message, fmt.Sprint(pid)) {
		t.Errorf("the error does not name process %d: %+v", pid, doc.Error)
	}
	if _, r := h.fails(3, "LEASE_CONFLICT", "worker", "--address", e.Address); r.took > 30*time.Second {
		t.Errorf("a second worker was refused after %s", r.took)
	}
	var down struct{ Stopped []int }
	h.ok(&down, "down")
	if len(down.Stopped) == 0 || down.Stopped[0] != pid {
		t.Errorf("cox down stopped %v, want %d", down.Stopped, pid)
	}
	first.ends(0, time.Minute)
	if left := h.processes(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	h.ok(&down, "down")
	if len(down.Stopped) != 0 {
		t.Errorf("a second cox down stopped %v", down.Stopped)
	}
}

// TestWorkerStoppedInATurn is a restart by hand in the middle of a turn: the turn
// is lost, not done, and the next worker resumes it on the same thread.
func TestWorkerStoppedInATurn(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("long", "slow:3s")
	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	h.ok(&struct{}{}, "loop", "--once", "--adapter", "fake", "--address", e.Address)
	l := h.ledger(h.state())
	h.seen(l, models.EventTurnStarted, 1)
	w.interrupt()
	if a := h.shown("long"); a.Status.Terminal() || a.Status == models.AssignmentAwaitingReview {
		t.Errorf("after the worker's end it is %s", a.Status)
	}
	up := h.start("up", "--adapter", "fake", "--address", e.Address)
	h.becomes("long", models.AssignmentAccepted)
	ended := events(t, l, ledger.EventFilter{AssignmentID: "long", Types: []string{models.EventTurnEnded}})
	if len(ended) != 2 || ended[0].Payload["status"] != string(models.TurnLost) || ended[0].RunID != ended[1].RunID ||
		ended[0].Payload["thread_id"] != ended[1].Payload["thread_id"] {
		t.Errorf("turns %+v", ended)
	}
	up.interrupt()
}
