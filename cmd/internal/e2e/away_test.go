package e2e_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// TestACancelInTheWebUICallsOff cancels the workflow of an assignment by the API that
// the Web UI uses.
func TestACancelInTheWebUICallsOff(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("long", "slow:20s")
	stop := h.crew(e)
	l := h.ledger(h.state())
	h.seen(l, models.EventTurnStarted, 1)
	id := workflows.ID(l.Prefix(), ledger.AssignmentWorkflow("long"))
	if err := dial(t, e).CancelWorkflow(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	h.becomes("long", models.AssignmentCancelled)
	off := events(t, l, ledger.EventFilter{AssignmentID: "long", Types: []string{models.EventAssignmentCancelled}})
	if len(off) != 1 || off[0].ActorID != "web-ui" {
		t.Errorf("called off by %+v", off)
	}
	within(t, time.Minute, "its run ends", func() bool {
		runs, err := l.Runs(t.Context(), ledger.RunFilter{AssignmentID: "long"})
		return err == nil && len(runs) == 1 && runs[0].EndedAt != nil
	})
	stop()
}

// memory starts a Temporal in memory that forgets everything when it ends.
func (h *home) memory(port string) (*process, engine) {
	h.t.Helper()
	return h.server("--port", port)
}

// server starts a Temporal without a Web UI.
func (h *home) server(options ...string) (*process, engine) {
	h.t.Helper()
	p := h.startProgram(built.temporal, append([]string{"--json", "--headless", "--log-level", "error"}, options...)...)
	var e engine
	p.answers(time.Minute, &e)
	return p, e
}

// TestTemporalComesBackWithoutMemory kills a Temporal in memory under a worker that
// goes on. Changes succeed meanwhile, say what they wait for, and take effect when
// another one answers there; what was done before is not done again.
func TestTemporalComesBackWithoutMemory(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	h.site()
	first, e := h.memory("0")
	stop := h.crew(e)
	h.assign("before", "")
	h.becomes("before", models.AssignmentAccepted)
	first.signal(syscall.SIGKILL)
	first.wait(time.Minute)
	var status struct{ Lag struct{ Engine, Next string } }
	within(t, time.Minute, "status says that Temporal is away", func() bool {
		h.ok(&status, "status")
		return status.Lag.Engine == "away" && status.Lag.Next != ""
	})
	var made struct {
		Waits struct {
			Wakeups      int
			Engine, Next string
		}
	}
	h.ok(&made, "assignment", "create", "--id", "meanwhile", "--team", theTeam, "--title", "Do it", "--criterion", "it is done", "--path", "work/meanwhile/**")
	if made.Waits.Wakeups == 0 || made.Waits.Engine != "away" || made.Waits.Next == "" {
		t.Errorf("the change says of what it waits for: %+v", made.Waits)
	}
	_, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := h.memory(port)
	h.becomes("meanwhile", models.AssignmentAccepted)
	h.ok(&struct{}{}, "recover", "workflows")
	within(t, time.Minute, "every wake-up is read", func() bool {
		var now struct{ Lag struct{ Wakeups int } }
		h.ok(&now, "status")
		return now.Lag.Wakeups == 0
	})
	eachMessageOnce(t, h.state())
	stop()
	second.interrupt()
}
