package e2e_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// demoLimit is how long a demo may take on a busy machine; a quiet one needs ten
// seconds.
const demoLimit = 3 * time.Minute

// demoDoc is the document at the end of `cox up`.
type demoDoc struct {
	OK          bool
	Assignments []struct {
		ID            string `json:"assignment_id"`
		Status        models.AssignmentStatus
		RunID         string `json:"run_id"`
		ThreadID      string `json:"thread_id"`
		HandoffActor  string `json:"handoff_actor"`
		DecisionActor string `json:"decision_actor"`
		Tokens        models.TokenUsage
		Files         []string
		CreatedAt     time.Time  `json:"created_at"`
		StartedAt     *time.Time `json:"started_at"`
		HandedOffAt   *time.Time `json:"handed_off_at"`
		DecidedAt     *time.Time `json:"decided_at"`
	}
	StateDir   string `json:"state_dir"`
	Repository string
	Engine     engine
}

func TestDemoReachesFourAcceptedAssignments(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	p := h.start("up", "--demo", "--exit-when-done", "--json")
	p.ends(0, demoLimit)
	var doc demoDoc
	oneDocument(t, p.out.String(), &doc)
	h.fourAccepted(doc)
	for _, a := range doc.Assignments {
		if a.Tokens.Total <= 0 || a.Tokens.Incomplete {
			t.Errorf("%s: tokens %+v", a.ID, a.Tokens)
		}
	}
	for _, what := range []string{"next: cox ", "--adapter codex-app-server"} {
		if !strings.Contains(p.err.String(), what) {
			t.Errorf("the demo does not say %q:\n%s", what, p.err.String())
		}
	}
	for _, what := range []string{"Web UI", "Ctrl-C"} {
		if strings.Contains(p.err.String(), what) {
			t.Errorf("the demo says %q, which has ended with it:\n%s", what, p.err.String())
		}
	}
	if len(h.processes()) != 0 {
		t.Errorf("the demo has ended and these still run: %v", h.processes())
	}
	h.temporalRemembers(doc)
}

// fourAccepted checks what the demo promises of each assignment.
func (h *home) fourAccepted(doc demoDoc) {
	h.t.Helper()
	if !doc.OK || len(doc.Assignments) != 4 {
		h.t.Fatalf("not four assignments: %+v", doc)
	}
	changed := strings.Fields(h.git(doc.Repository, "status", "--porcelain=v1", "--untracked-files=all"))
	scopes := map[string]string{"greet-the-crew": "src/greeting.txt", "say-farewell": "src/", "write-the-guide": "docs/", "note-the-plan": "notes/plan.md"}
	threads := map[string]string{}
	for _, a := range doc.Assignments {
		if a.Status != models.AssignmentAccepted {
			h.t.Errorf("%s is %s", a.ID, a.Status)
		}
		if a.HandoffActor == "" || a.DecisionActor == "" || a.HandoffActor == a.DecisionActor {
			h.t.Errorf("%s: handed off by %q, decided by %q", a.ID, a.HandoffActor, a.DecisionActor)
		}
		if other, twice := threads[a.ThreadID]; twice || a.ThreadID == "" {
			h.t.Errorf("%s has thread %q, as %s", a.ID, a.ThreadID, other)
		}
		threads[a.ThreadID] = a.ID
		if a.Tokens.Total <= 0 && !a.Tokens.Incomplete { // a turn that was lost may not have told its use
			h.t.Errorf("%s used no tokens: %+v", a.ID, a.Tokens)
		}
		if a.StartedAt == nil || a.HandedOffAt == nil || a.DecidedAt == nil || a.DecidedAt.Before(*a.HandedOffAt) || a.HandedOffAt.Before(a.CreatedAt) {
			h.t.Errorf("%s: times %v %v %v", a.ID, a.StartedAt, a.HandedOffAt, a.DecidedAt)
		}
		if scopes[a.ID] == "" || !hasPrefix(changed, scopes[a.ID]) {
			h.t.Errorf("%s: no file below %s is changed, only %v", a.ID, scopes[a.ID], changed)
		}
		if !hasPrefix(a.Files, scopes[a.ID]) {
			h.t.Errorf("%s: files %v, want one below %s", a.ID, a.Files, scopes[a.ID])
		}
	}
}

func hasPrefix(list []string, prefix string) bool {
	for _, s := range list {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

// temporalRemembers starts Temporal on the database that the demo kept and looks
// at its workflows.
func (h *home) temporalRemembers(doc demoDoc) {
	h.t.Helper()
	e, stop := h.temporal("--db-filename", filepath.Join(doc.StateDir, "temporal.db"), "--headless")
	c := dial(h.t, e)
	prefix := h.ledger(doc.StateDir).Prefix()
	assignments := listed(h.t, c, prefix, workflows.AssignmentName)
	for _, a := range doc.Assignments {
		w := assignments[workflows.ID(prefix, ledger.AssignmentWorkflow(a.ID))]
		if w.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			h.t.Errorf("the workflow of %s is %s", a.ID, w.GetStatus())
		}
		want := map[string]string{"CoxWorkspace": "demo", "CoxTeam": "demo-crew", "CoxAssignment": a.ID, "CoxActor": a.HandoffActor, "CoxStatus": "accepted"}
		for name, value := range want {
			if got := attribute(w, name); got != value {
				h.t.Errorf("search attribute %s of %s is %q, want %q", name, a.ID, got, value)
			}
		}
	}
	if len(assignments) != 4 {
		h.t.Errorf("%d assignment workflows", len(assignments))
	}
	nudges := listed(h.t, c, prefix, workflows.NudgeName)
	for id, w := range nudges {
		if w.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			h.t.Errorf("%s is %s", id, w.GetStatus())
		}
	}
	if len(nudges) == 0 {
		h.t.Error("no nudge workflow")
	}
	h.cards(doc, e, c, prefix)
	stop()
}

// cards asks every assignment workflow for its card, which a worker answers.
func (h *home) cards(doc demoDoc, e engine, c client.Client, prefix string) {
	h.t.Helper()
	w := h.start("worker", "--state-dir", doc.StateDir, "--address", e.Address)
	w.says(time.Minute, "is ready")
	front := workflows.Front{Client: c, Prefix: prefix}
	for _, a := range doc.Assignments {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		card, err := front.Card(ctx, ledger.AssignmentWorkflow(a.ID))
		cancel()
		if err != nil || card.AssignmentID != a.ID || card.Status != "accepted" || card.Text == "" {
			h.t.Errorf("card of %s: %+v, %v", a.ID, card, err)
		}
	}
	w.interrupt()
}

// temporal starts an embedded Temporal of this home. stop ends it, as the test's
// end does.
func (h *home) temporal(args ...string) (e engine, stop func()) {
	h.t.Helper()
	p := h.startProgram(built.temporal, append([]string{"--json", "--port", "0", "--ui-port", "0", "--log-level", "error"}, args...)...)
	p.answers(time.Minute, &e)
	return e, p.interrupt
}

func dial(t *testing.T, e engine) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: e.Address, Namespace: e.Namespace, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// silent is a logger of the SDK that says nothing.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

// listed are the ledger's workflows of a type, by id.
func listed(t *testing.T, c client.Client, prefix, kind string) map[string]*workflowpb.WorkflowExecutionInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = '" + kind + "'"})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*workflowpb.WorkflowExecutionInfo{}
	for _, w := range list.GetExecutions() {
		if id := w.GetExecution().GetWorkflowId(); strings.HasPrefix(id, prefix+":") {
			out[id] = w
		}
	}
	return out
}

func attribute(w *workflowpb.WorkflowExecutionInfo, name string) string {
	var text string
	if err := json.Unmarshal(w.GetSearchAttributes().GetIndexedFields()[name].GetData(), &text); err != nil {
		return "unreadable: " + err.Error()
	}
	return text
}
