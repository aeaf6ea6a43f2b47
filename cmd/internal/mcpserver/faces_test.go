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
	readToolsAll     = "get_assignment_detail get_attention_board get_human_brief get_run_detail get_snapshot get_team_board get_workspace_detail list_interventions list_pending_reviews list_workspaces"
	agentTools       = readToolsAll + " append_event checkpoint_run raise_attention claim_assignment heartbeat_run record_run_binding register_actor request_intervention submit_handoff"
)

func TestEachFaceListsExactlyItsTools(t *testing.T) {
	f := newFixture(t)
	f.assignment("task", "crew")
	worker, _ := f.worker("task", "worker-1")
	for name, test := range map[string]struct {
		o    Options
		want string
	}{
		"worker": {worker, readTools4Worker + " get_human_brief append_event checkpoint_run raise_attention heartbeat_run record_run_binding request_intervention submit_handoff"},
		"integrator": {f.integrator("crew"), "list_pending_reviews get_assignment_detail get_run_detail get_team_board review_event accept_event reject_event " +
			"create_assignment cancel_assignment supersede_assignment request_intervention list_interventions get_human_brief get_attention_board get_snapshot"},
		"agent": {f.agent("worker-2"), agentTools},
		"person": {f.person(), agentTools + " review_event accept_event reject_event create_assignment cancel_assignment supersede_assignment " +
			"respond_intervention register_workspace archive_workspace create_team export_git_projection"},
		"person as integrator": {f.options(models.Principal{ActorID: "lead", Role: models.RoleIntegrator}, ""), agentTools +
			" review_event accept_event reject_event create_assignment cancel_assignment supersede_assignment respond_intervention register_workspace archive_workspace create_team export_git_projection"},
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
		// an export changes files alone, and repeats by its nature
		if !reading && name != "export_git_projection" && tool.InputSchema.Properties["request_id"] == nil {
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

// Whoever makes an id is told what one looks like before the first refusal.
func TestNewIdsAreExplained(t *testing.T) {
	tools := connected(t, newFixture(t).person()).list()
	for name, field := range map[string]string{
		"register_actor": "actor_id", "register_workspace": "workspace_id", "create_team": "team_id", "create_assignment": "assignment_id",
		"checkpoint_run": "client_update_id", "raise_attention": "client_update_id", "append_event": "request_id",
	} {
		property, _ := tools[name].InputSchema.Properties[field].(map[string]any)
		text, _ := property["description"].(string)
		if !strings.Contains(text, "1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit") {
			t.Errorf("%s of %s: %q", field, name, text)
		}
	}
}

// The first texts that an agent reads name the tools that people depend on.
func TestAgentsAreToldToBriefPeople(t *testing.T) {
	for name, text := range map[string]string{"worker": workerInstructions, "agent": agentInstructions, "person": personInstructions} {
		for _, tool := range []string{"checkpoint_run", "raise_attention", "request_intervention", "submit_handoff"} {
			if !strings.Contains(text, tool) {
				t.Errorf("the %s's instructions leave %s out", name, tool)
			}
		}
	}
	if !strings.Contains(integratorInstructions, "get_human_brief") || !strings.Contains(integratorInstructions, "get_attention_board") {
		t.Error("the integrator's instructions leave brief and board out")
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
