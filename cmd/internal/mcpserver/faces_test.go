package mcpserver

import (
	"slices"
	"strings"
	"testing"

	"coxswain/models"
)

type listedTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
		Additional any            `json:"additionalProperties"`
	} `json:"inputSchema"`
	Annotations struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
}

func (c *client) list() map[string]listedTool {
	c.t.Helper()
	var result struct {
		Tools []listedTool `json:"tools"`
	}
	mustDecode(c.t, c.ask("tools/list", nil).Result, &result)
	tools := map[string]listedTool{}
	for _, t := range result.Tools {
		tools[t.Name] = t
	}
	return tools
}

const (
	readTools4Worker = "get_assignment_detail get_run_detail"
	readToolsAll     = "get_assignment_detail get_run_detail get_team_board get_workspace_detail list_interventions list_pending_reviews list_workspaces"
	agentTools       = readToolsAll + " append_event claim_assignment heartbeat_run record_run_binding register_actor request_intervention submit_handoff"
)

func TestEachFaceListsExactlyItsTools(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	worker, _ := f.worker("task", "worker-1")
	for name, test := range map[string]struct {
		o    Options
		want string
	}{
		"worker": {worker, readTools4Worker + " append_event heartbeat_run record_run_binding request_intervention submit_handoff"},
		"integrator": {f.integrator("crew"), "list_pending_reviews get_assignment_detail get_run_detail get_team_board review_event accept_event reject_event " +
			"create_assignment cancel_assignment supersede_assignment request_intervention list_interventions"},
		"agent": {f.agent("worker-2"), agentTools},
		"person": {f.person(), agentTools + " review_event accept_event reject_event create_assignment cancel_assignment supersede_assignment " +
			"respond_intervention register_workspace archive_workspace create_team"},
		"person as integrator": {f.options(models.Principal{ActorID: "lead", Role: models.RoleIntegrator}, ""), agentTools +
			" review_event accept_event reject_event create_assignment cancel_assignment supersede_assignment respond_intervention register_workspace archive_workspace create_team"},
	} {
		t.Run(name, func(t *testing.T) {
			var have []string
			for tool := range connected(t, test.o).list() {
				have = append(have, tool)
			}
			want := strings.Fields(test.want)
			slices.Sort(have)
			slices.Sort(want)
			if !slices.Equal(have, want) {
				t.Fatalf("have %v\nwant %v", have, want)
			}
		})
	}
}

func TestToolsAreDescribed(t *testing.T) {
	for name, tool := range connected(t, newFixture(t).person()).list() {
		reading := strings.HasPrefix(name, "get_") || strings.HasPrefix(name, "list_")
		a := tool.Annotations
		if a.ReadOnly == nil || *a.ReadOnly != reading || a.Idempotent == nil || a.Destructive == nil || a.OpenWorld == nil || *a.OpenWorld {
			t.Errorf("%s: annotations %+v", name, a)
		}
		if len(tool.Description) < 40 || len(tool.Description) > 300 {
			t.Errorf("%s: description of %d bytes", name, len(tool.Description))
		}
		if s := tool.InputSchema; s.Type != "object" || s.Additional == nil {
			t.Errorf("%s: schema %+v must be an object that refuses further properties", name, s)
		}
		for _, field := range tool.InputSchema.Required {
			if tool.InputSchema.Properties[field] == nil {
				t.Errorf("%s requires %s, which it does not describe", name, field)
			}
		}
		if !reading && tool.InputSchema.Properties["request_id"] == nil {
			t.Errorf("%s changes something and takes no request_id", name)
		}
	}
}

// comem section 3: which tools ask for the revision that the caller read.
func TestRevisionsAreAskedFor(t *testing.T) {
	tools := connected(t, newFixture(t).person()).list()
	for name := range strings.FieldsSeq("create_assignment claim_assignment append_event submit_handoff review_event accept_event reject_event cancel_assignment supersede_assignment") {
		if !slices.Contains(tools[name].InputSchema.Required, "base_revision") {
			t.Errorf("%s does not require base_revision", name)
		}
	}
}

func TestABoundCallerMayLeaveItsIdsOut(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	bound, _ := f.worker("task", "worker-1")
	for name, field := range map[string]string{"submit_handoff": "assignment_id", "heartbeat_run": "run_id"} {
		if required := connected(t, bound).list()[name].InputSchema.Required; slices.Contains(required, field) {
			t.Errorf("bound %s requires %s", name, field)
		}
		if required := connected(t, f.agent("worker-2")).list()[name].InputSchema.Required; !slices.Contains(required, field) {
			t.Errorf("unbound %s does not require %s", name, field)
		}
	}
}
