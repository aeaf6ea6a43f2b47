package e2e_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// changes are command lines that change the ledger, one after the other.
func changes() [][]string {
	out := [][]string{
		{"actor", "register", "--role", "agent", "--provider", "codex", "visitor"},
		{"team", "create", "--workspace", theSite, "second"},
		{"recover", "workflows"},
	}
	for n := range strings.FieldsSeq("one two three four five six seven eight") {
		out = append(out,
			[]string{"assignment", "create", "--id", n, "--team", theTeam, "--title", "Do " + n, "--criterion", "done", "--path", "part/" + n + "/**"},
			[]string{"assignment", "edit", "--title", "Do it: " + n, n},
			[]string{"assignment", "edit", "--priority", "3", n},
			[]string{"assignment", "cancel", "--reason", "no need", n},
		)
	}
	return out
}

// reads are command lines that change nothing.
func reads() [][]string {
	return [][]string{
		{"status"},
		{"inbox"},
		{"events"},
		{"workspace", "list"},
		{"team", "list"},
		{"actor", "list"},
		{"assignment", "list"},
		{"assignment", "show", "one"},
		{"run", "list"},
		{"review", "list"},
		{"intervention", "list"},
		{"attention", "board", "--team", theTeam},
		{"node", "list"},
		{"config", "show"},
		{"version"},
		{"explain", "ENGINE_UNAVAILABLE"},
		{"team", "show", theTeam},
		{"snapshot", "show", "--workspace", theSite},
	}
}

// TestCommandsWhileTemporalHangs stops a Temporal in its tracks: it takes connections
// and answers none. Every command succeeds all the same, and those that change
// something say what waits for it. When it goes on, so does everything.
func TestCommandsWhileTemporalHangs(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	h.site()
	server, e := h.memory("0")
	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	server.signal(syscall.SIGSTOP)
	defer func() { _ = server.cmd.Process.Signal(syscall.SIGCONT) }()
	h.awaitEngine("away")
	var took []time.Duration
	waited := 0
	for _, line := range slices.Concat(changes(), reads()) {
		var doc struct {
			OK    bool
			Waits struct {
				Wakeups      int
				Engine, Next string
			}
		}
		r := h.cox(append([]string{"--json"}, line...)...)
		if r.code != 0 {
			t.Fatalf("cox %s: exit %d\n%s%s", strings.Join(line, " "), r.code, r.stdout, r.stderr)
		}
		oneDocument(t, r.stdout, &doc)
		if doc.Waits.Engine == "away" && doc.Waits.Wakeups > 0 && doc.Waits.Next != "" {
			waited++
		}
		took = append(took, r.took)
	}
	if waited < len(changes())-3 { // the first ones wake nothing yet
		t.Errorf("%d of %d changes say what they wait for", waited, len(changes()))
	}
	slices.Sort(took)
	t.Logf("%d commands: p50 %s, the longest %s", len(took), took[len(took)/2], took[len(took)-1])
	server.signal(syscall.SIGCONT)
	h.allRead()
	w.interrupt()
	server.interrupt()
}

// awaitEngine waits until status tells how the worker finds Temporal.
func (h *home) awaitEngine(want string) {
	h.t.Helper()
	within(h.t, time.Minute, "status says that Temporal is "+want, func() bool {
		var status struct{ Lag struct{ Engine string } }
		h.ok(&status, "status")
		return status.Lag.Engine == want
	})
}

// allRead waits until every workflow has read what was raised for it.
func (h *home) allRead() {
	h.t.Helper()
	within(h.t, 2*time.Minute, "every wake-up is read", func() bool {
		var now struct{ Lag struct{ Wakeups int } }
		h.ok(&now, "status")
		return now.Lag.Wakeups == 0
	})
}

// crew starts a worker and a loop of fake agents on a Temporal, the loop with further
// options; stop ends both.
func (h *home) crew(e engine, more ...string) (stop func()) {
	h.t.Helper()
	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	loop := h.start(append([]string{"loop", "--adapter", "fake", "--address", e.Address}, more...)...)
	return func() {
		loop.interrupt()
		w.interrupt()
	}
}

// TestTerminatedWorkflowsComeBack terminates workflows of every kind that lives, as the
// Web UI does, while an agent works. They come back, and nothing is done twice.
func TestTerminatedWorkflowsComeBack(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("long", "slow:20s")
	stop := h.crew(e)
	l := h.ledger(h.state())
	h.seen(l, models.EventTurnStarted, 1)
	h.allRead()
	c := dial(t, e)
	front := workflows.Front{Client: c, Prefix: l.Prefix()}
	before := map[string]string{}
	for _, id := range []string{ledger.AssignmentWorkflow("long"), ledger.LoopWorkflow(theSite, theTeam), ledger.ClockWorkflow()} {
		d, err := front.Describe(t.Context(), id)
		if err == nil {
			err = c.TerminateWorkflow(t.Context(), d.WorkflowID, d.RunID, "by hand")
		}
		if err != nil {
			t.Fatal(err)
		}
		before[id] = d.RunID
	}
	for id, run := range before {
		within(t, 2*time.Minute, id+" is started again", func() bool {
			d, err := front.Describe(t.Context(), id)
			return err == nil && d.Running() && d.RunID != run
		})
	}
	h.becomes("long", models.AssignmentAccepted)
	eachMessageOnce(t, h.state())
	stop()
}

// TestAResetInTheWebUIDoesNothingTwice sends an assignment's workflow back to its
// beginning while its agent works.
func TestAResetInTheWebUIDoesNothingTwice(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("long", "slow:15s")
	stop := h.crew(e)
	l := h.ledger(h.state())
	h.seen(l, models.EventTurnStarted, 1)
	resetToStart(t, dial(t, e), e.Namespace, workflows.ID(l.Prefix(), ledger.AssignmentWorkflow("long")))
	h.becomes("long", models.AssignmentAccepted)
	runs, err := l.Runs(t.Context(), ledger.RunFilter{AssignmentID: "long"})
	if err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	eachMessageOnce(t, h.state())
	stop()
}

// file starts a Temporal that keeps its database in a file.
func (h *home) file(port, name string) (*process, engine) {
	h.t.Helper()
	return h.server("--port", port, "--db-filename", name)
}

// TestTemporalLosesItsDatabase deletes the database of a Temporal, once while it runs
// and once between two of its lives, under a worker whose agent works.
func TestTemporalLosesItsDatabase(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	h.site()
	db := filepath.Join(h.dir, "temporal.db")
	server, e := h.file("0", db)
	_, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		t.Fatal(err)
	}
	stop := h.crew(e)
	l := h.ledger(h.state())
	for n, while := range []string{"it runs", "it does not run"} {
		id := []string{"first", "second"}[n]
		h.assign(id, "slow:5s")
		h.seen(l, models.EventTurnStarted, 1+2*n) // the integrator's turn comes between
		if while == "it runs" {
			removeAll(t, db)
		}
		server.signal(syscall.SIGKILL)
		server.wait(time.Minute)
		removeAll(t, db)
		h.ok(&struct{}{}, "recover", "workflows")
		server, _ = h.file(port, db)
		h.becomes(id, models.AssignmentAccepted)
	}
	h.allRead()
	eachMessageOnce(t, h.state())
	stop()
	server.interrupt()
}

// TestARestoredLedgerRepeatsNothing sets a ledger back to before its assignment was
// started, after that was done. Its thread is found again, and gets no second prompt.
func TestARestoredLedgerRepeatsNothing(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("small", "")
	backup := filepath.Join(h.dir, "before.db")
	h.ok(&struct{}{}, "ledger", "backup", backup)
	worked := func() {
		stop := h.crew(e)
		h.becomes("small", models.AssignmentAccepted)
		stop()
	}
	worked()
	h.closeLedger()
	var done struct{ Restored ledger.Restored }
	h.ok(&done, "ledger", "restore", backup)
	if done.Restored.Epoch != 2 {
		t.Errorf("restored %+v", done.Restored)
	}
	worked()
	eachMessageOnceAnywhere(t, h.state())
}

// closeLedger closes the test's own handle, so that the file can be replaced.
func (h *home) closeLedger() {
	h.t.Helper()
	if err := h.led.Close(); err != nil {
		h.t.Error(err)
	}
	h.led = nil
}

// eachMessageOnceAnywhere is eachMessageOnce over all threads together.
func eachMessageOnceAnywhere(t *testing.T, stateDir string) {
	t.Helper()
	in := map[string]string{}
	for _, thread := range histories(t, stateDir) {
		for _, item := range thread.Items {
			if item.Type != "userMessage" {
				continue
			}
			if other, twice := in[item.ClientID]; twice {
				t.Errorf("message %s is in the threads %s and %s", item.ClientID, other, thread.ID)
			}
			in[item.ClientID] = thread.ID
		}
	}
}

// removeAll removes a database and its passing files.
func removeAll(t *testing.T, db string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(db + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// resetToStart sends a workflow back to its first task, as the Web UI does.
func resetToStart(t *testing.T, c client.Client, namespace, id string) {
	t.Helper()
	var first int64
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for first == 0 && events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			first = event.GetEventId()
		}
	}
	_, err := c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
		Reason: "by hand", WorkflowTaskFinishEventId: first, RequestId: "reset-" + id,
	})
	if err != nil {
		t.Fatal(err)
	}
}
