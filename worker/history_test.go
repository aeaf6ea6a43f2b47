package worker_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/worker"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

var record = flag.Bool("record", false, "keep the histories of paths that testdata/histories has none of")

// recordedPath is a way that an assignment may go, whose histories are kept.
type recordedPath struct {
	name      string
	behaviour string // of the fake's agents
	follow    func(c *crew, id string)
	end       models.AssignmentStatus
	kinds     []string // of the workflows whose histories are of interest
}

func recordedPaths() []recordedPath {
	return []recordedPath{
		{"resume", "no_handoff_once", nil, models.AssignmentAccepted, []string{ledger.WakeAssignment, ledger.WakeDelivery}},
		{"fix", "needs_fix_once", nil, models.AssignmentAccepted, []string{ledger.WakeAssignment, ledger.WakeDelivery}},
		{"question", "ask", (*crew).answer, models.AssignmentAccepted, []string{ledger.WakeAssignment}},
		{"interrupt", "hang", (*crew).cancelItsTurn, models.AssignmentCancelled, []string{ledger.WakeAssignment, ledger.WakeDelivery}},
	}
}

// TestHistoriesAreRecorded lets every path go beside the others, and replays what the
// server has of it with the code that wrote it. With -record the histories of new
// paths are kept; those that are in Git are frozen.
func TestHistoriesAreRecorded(t *testing.T) {
	c := newCrew(t, func(s *models.LoopSettings) { s.MaxConcurrentRuns, s.ReviewNudgeSeconds = 4, 2 })
	c.serve()
	for _, p := range recordedPaths() {
		c.createFor(p)
	}
	for _, p := range recordedPaths() {
		if p.follow != nil {
			p.follow(c, p.name)
		}
	}
	cl := c.dial()
	front := workflows.Front{Client: cl, Prefix: c.l.Prefix()}
	for _, p := range recordedPaths() {
		c.awaitStatus(p.name, p.end)
		c.awaitWorkflow(front, ledger.AssignmentWorkflow(p.name), "Completed")
	}
	for file, id := range c.workflowsToKeep() {
		h := c.history(cl, id)
		if err := replayed(t, h); err != nil {
			t.Errorf("%s does not replay: %v", id, err)
		}
		c.keep(file, h)
	}
}

func (c *crew) createFor(p recordedPath) {
	c.Helper()
	_, err := c.l.CreateAssignment(c.Context(), ledger.As(person), models.NewAssignment{
		ID: p.name, WorkspaceID: "ship", TeamID: "deck", Title: "Go the way of " + p.name, AllowedPaths: []string{p.name + "/**"},
		Metadata: map[string]any{"fake": map[string]any{"behaviour": p.behaviour}},
	}, nil)
	ok(c.T, err)
}

// answer answers the question that an assignment's agent asks.
func (c *crew) answer(id string) {
	c.Helper()
	eventually(c.T, 90*time.Second, "nobody is asked about "+id, func() bool {
		open, err := c.l.Interventions(c.Context(), ledger.InterventionFilter{Status: "open"})
		ok(c.T, err)
		for _, q := range open {
			if q.AssignmentID == id {
				_, err = c.l.RespondIntervention(c.Context(), ledger.As(person), q.ID, "go on")
				ok(c.T, err)
				return true
			}
		}
		return false
	})
}

// cancelItsTurn calls an assignment off in the middle of its turn.
func (c *crew) cancelItsTurn(id string) {
	c.Helper()
	eventually(c.T, 90*time.Second, id+" has no turn", func() bool {
		begun, err := c.l.Events(c.Context(), ledger.EventFilter{AssignmentID: id, Types: []string{models.EventTurnStarted}})
		ok(c.T, err)
		return len(begun) > 0
	})
	_, err := c.l.CancelAssignment(c.Context(), ledger.As(person), id, nil, "not needed")
	ok(c.T, err)
}

// workflowsToKeep are the workflows of the paths by the name of the file of their
// history; the loop and the clock served them all.
func (c *crew) workflowsToKeep() map[string]string {
	c.Helper()
	out := map[string]string{"loop-paths": ledger.LoopWorkflow("ship", "deck"), "clock-paths": ledger.ClockWorkflow()}
	for _, p := range recordedPaths() {
		for _, kind := range p.kinds {
			out[kind+"-"+p.name] = c.workflowOf(kind, p.name)
		}
	}
	return out
}

func (c *crew) workflowOf(kind, assignment string) string {
	c.Helper()
	if kind == ledger.WakeAssignment {
		return ledger.AssignmentWorkflow(assignment)
	}
	runs, err := c.l.Runs(c.Context(), ledger.RunFilter{AssignmentID: assignment})
	ok(c.T, err)
	if len(runs) == 0 || runs[0].SessionRef == "" {
		c.Fatalf("%s has no thread", assignment)
	}
	return ledger.DeliveryWorkflow(runs[0].SessionRef)
}

// history reads the whole history of a workflow of the ledger.
func (c *crew) history(cl client.Client, id string) *historypb.History {
	c.Helper()
	h := &historypb.History{}
	for it := cl.GetWorkflowHistory(c.Context(), workflows.ID(c.l.Prefix(), id), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		ok(c.T, err)
		h.Events = append(h.Events, e)
	}
	return h
}

func replayed(t *testing.T, h *historypb.History) error {
	t.Helper()
	r, err := sdk.NewWorkflowReplayerWithOptions(sdk.WorkflowReplayerOptions{})
	ok(t, err)
	workflows.Register(r)
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h)
}

// keep writes a history with -record, and its digest, unless there is one of that name.
func (c *crew) keep(name string, h *historypb.History) {
	c.Helper()
	dir := filepath.Join("..", "testdata", "histories")
	path := filepath.Join(dir, name+".json")
	if _, err := os.Stat(path); !*record || err == nil {
		return
	}
	text := c.scrubbed(h)
	ok(c.T, os.WriteFile(path, text, 0o600))
	sums, err := os.OpenFile(filepath.Join(dir, "SHA256SUMS"), os.O_APPEND|os.O_WRONLY, 0)
	ok(c.T, err)
	_, err = fmt.Fprintf(sums, "%x  %s.json\n", sha256.Sum256(text), name)
	ok(c.T, err)
	ok(c.T, sums.Close())
}

// scrubbed is a history without a word about the machine.
func (c *crew) scrubbed(h *historypb.History) []byte {
	c.Helper()
	for _, e := range h.GetEvents() {
		if a := e.GetWorkflowTaskScheduledEventAttributes(); a.GetTaskQueue().GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
			a.TaskQueue.Name = "sticky"
		}
		if a := e.GetWorkflowTaskCompletedEventAttributes(); a != nil {
			a.WorkerVersion = nil //nolint:staticcheck // the checksum of the test's executable
		}
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
	ok(c.T, err)
	text = regexp.MustCompile(`"identity":\s*"[^"]*"`).ReplaceAll(text, []byte(`"identity": "cox"`))
	text = []byte(strings.ReplaceAll(string(text), c.l.Prefix(), "01234567"))
	host, err := os.Hostname()
	ok(c.T, err)
	if strings.Contains(string(text), host) || !json.Valid(text) {
		c.Fatal("a history names the host")
	}
	return append(text, '\n')
}
