package workflows_test

import (
	"context"
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	nexus "github.com/nexus-rpc/sdk-go/nexus"
	"go.temporal.io/sdk/workflow"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// registered records the names under which workflows are registered.
type registered []string

func (r *registered) RegisterWorkflow(w any) {
	name := runtime.FuncForPC(reflect.ValueOf(w).Pointer()).Name()
	*r = append(*r, name[strings.LastIndex(name, ".")+1:])
}

func (r *registered) RegisterWorkflowWithOptions(_ any, o workflow.RegisterOptions) {
	*r = append(*r, o.Name)
}
func (r *registered) RegisterDynamicWorkflow(any, workflow.DynamicRegisterOptions) {}
func (r *registered) RegisterNexusService(*nexus.Service)                          {}

// The names are wire contract: running workflows and recorded histories hold them.
func TestWireNamesOfWorkflows(t *testing.T) {
	var got registered
	workflows.Register(&got)
	if want := []string{"Loop", "Assignment", "Nudge", "Delivery", "Clock"}; !slices.Equal(got, want) {
		t.Errorf("registered %v, want %v", got, want)
	}
	for kind, want := range map[string]string{
		ledger.WakeLoop: "Loop", ledger.WakeAssignment: "Assignment", ledger.WakeNudge: "Nudge", ledger.WakeDelivery: "Delivery", ledger.WakeClock: "Clock", "other": "",
	} {
		if name := workflows.NameOf(kind); name != want || want != "" && !slices.Contains(got, name) {
			t.Errorf("%s is served by %q, want %q", kind, name, want)
		}
	}
	if workflows.WakeSignal != "wake" || workflows.CardQuery != "card" {
		t.Errorf("signal %q, query %q", workflows.WakeSignal, workflows.CardQuery)
	}
}

func TestWireNamesOfActivities(t *testing.T) {
	for _, c := range []struct {
		of   any
		want string
	}{
		{&activities.Control{}, "CancelAssignment ClaimRun LookAtAssignment LookAtNudge LookAtThread PlanTeam QueueNudge QueueResume Reconcile Rest TurnLoopOff WakeTeam"},
		{&activities.Node{}, "AbandonStart Deliver InspectScope InterruptRun PrepareRun Probe RemoveWorktree RunHook StartThread"},
	} {
		if got := strings.Join(activityNames(c.of), " "); got != c.want {
			t.Errorf("%T registers\n  %s\nwant\n  %s", c.of, got, c.want)
		}
	}
}

// activityNames are the exported methods that the SDK registers.
func activityNames(of any) []string {
	var out []string
	typ, ctx := reflect.TypeOf(of), reflect.TypeFor[context.Context]()
	for m := range typ.Methods() {
		if m.Type.NumIn() > 1 && m.Type.In(1) == ctx {
			out = append(out, m.Name)
		}
	}
	sort.Strings(out)
	return out
}

// Field names of inputs and results are wire contract as well: fields are added,
// never renamed.
func TestWireFormatOfMessages(t *testing.T) {
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for want, v := range map[string]any{
		`{"id":"a","workflow_id":"assignment:a","attributes":true}`: activities.Subject{ID: "a", WorkflowID: "assignment:a", Attributes: true},
		`{"command_id":"c"}`:      activities.CommandInput{CommandID: "c"},
		`{"id":"a","run_id":"r"}`: activities.CancelInput{ID: "a", RunID: "r"},
		`{"thread_id":"t"}`:       activities.DeliverInput{ThreadID: "t"},
		`{"assignment_id":"a"}`:   activities.ScopeInput{AssignmentID: "a"},
		`{"command_id":"c","owner":"o","branch":"b","base_commit":"h"}`:                            activities.ClaimInput{CommandID: "c", Owner: "o", Branch: "b", BaseCommit: "h"},
		`{"command_id":"c","owner":"o","thread_id":"t"}`:                                           activities.ArchiveInput{CommandID: "c", Owner: "o", ThreadID: "t"},
		`{"owner":"o","closed":true,"failed":true,"thread_id":"t","branch":"b","base_commit":"h"}`: activities.Started{Owner: "o", Closed: true, Failed: true, ThreadID: "t", Branch: "b", BaseCommit: "h"},
		`{"workflow_id":"w","generation":7}`:                                                       activities.RestInput{WorkflowID: "w", Generation: 7},
		`{"workspace_id":"w","team_id":"t"}`:                                                       activities.WakeTeamInput{WorkspaceID: "w", TeamID: "t"},
		`{"generation":7,"deadline":"2026-12-01T12:00:00Z"}`:                                       activities.ClockLook{Look: activities.Look{Generation: 7}, Deadline: &at},
		`{"command_id":"c","node_id":"n"}`:                                                         activities.Probing{CommandID: "c", NodeID: "n"},
		`{"WorkspaceID":"","TeamID":"","AssignmentID":"","ActorID":"","Status":"s","Text":"x"}`:    ledger.Card{Status: "s", Text: "x"},
	} {
		got, err := json.Marshal(v)
		if err != nil || string(got) != want {
			t.Errorf("%T is written as\n  %s (%v)\nwant\n  %s", v, got, err, want)
		}
	}
}

func TestQueuesAndIDsBelongToOneLedger(t *testing.T) {
	if got := workflows.ID("01234567", "loop:w:t"); got != "01234567:loop:w:t" {
		t.Errorf("id %q", got)
	}
	if q := workflows.ControlQueue("01234567"); q != "01234567-control" || workflows.NodeQueue(q, "n") != "01234567-node-n" {
		t.Errorf("queues %q, %q", q, workflows.NodeQueue(q, "n"))
	}
	if want := []string{"CoxWorkspace", "CoxTeam", "CoxAssignment", "CoxActor", "CoxStatus"}; !slices.Equal(workflows.AttributeNames(), want) {
		t.Errorf("attributes %v", workflows.AttributeNames())
	}
	long := strings.Repeat("x", 80)
	for _, id := range []string{assign(long), ledger.NudgeWorkflow(long), ledger.DeliveryWorkflow(long), ledger.LoopWorkflow(long, long)} {
		for part := range strings.SplitSeq(id, ":") {
			if err := models.CheckID("part", part); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}
