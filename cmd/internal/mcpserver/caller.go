package mcpserver

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coxswain/models"
	"coxswain/models/ledger"
)

// caller is who makes one call of a tool, as proven at that call.
type caller struct {
	*server
	by      models.Principal
	binding *models.Binding // nil without a token
	made    *ledger.Call    // the change of this call, when there was one
}

// turnMetadata is the key of a call's _meta under which Codex names its turn.
const turnMetadata = "x-codex-turn-metadata"

// identify proves the caller anew. meta is the call's _meta, in which Codex names
// its thread and turn (codex protocol, MCP servers); nil skips these checks.
func (s *server) identify(ctx context.Context, meta mcp.Meta) (*caller, error) {
	if s.Token == "" {
		if err := checkPrincipal(s.Principal); err != nil {
			return nil, err
		}
		return &caller{server: s, by: s.Principal}, nil
	}
	binding, by, err := s.Ledger.Bound(ctx, s.Token)
	if err != nil {
		return nil, err
	}
	thread, _ := meta["threadId"].(string)
	if thread != "" && binding.ThreadID != "" && thread != binding.ThreadID {
		return nil, models.Forbidden("the call comes from a thread that this binding does not belong to").
			Hint("use the coxswain tools only in the thread that was started for the work; a sub-thread reports to its parent")
	}
	if turn := turnOf(meta); turn != "" {
		if err := s.Ledger.CheckTurn(ctx, binding, turn); err != nil {
			return nil, err
		}
	}
	return &caller{server: s, by: by, binding: &binding}, nil
}

func turnOf(meta mcp.Meta) string {
	about, _ := meta[turnMetadata].(map[string]any)
	turn, _ := about["turn_id"].(string)
	return turn
}

func checkPrincipal(p models.Principal) error {
	if p.ActorID == "" {
		return models.Invalid("actor", "is required without a binding token")
	}
	switch p.Role {
	case models.RoleAgent, models.RoleIntegrator, models.RoleHuman:
		return nil
	default:
		return models.Invalid("role", "%q must be agent, integrator or human", p.Role)
	}
}

// worker tells whether the caller is a thread that works on one assignment.
func (c *caller) worker() bool { return c.binding != nil && c.binding.Kind == models.BindingWorker }

// change starts the ledger call of a mutating tool.
func (c *caller) change(requestID string) *ledger.Call {
	c.made = ledger.As(c.by).Request(requestID)
	return c.made
}

// declared refuses an actor or role among the arguments that is not the caller's.
func (c *caller) declared(id identity) error {
	if id.ActorID != "" && id.ActorID != c.by.ActorID {
		return models.Forbidden("actor_id: %q is not you; you are %q", id.ActorID, c.by.ActorID).
			Hint("leave actor_id out").With("field", "actor_id")
	}
	if id.ActorRole != "" && models.Role(id.ActorRole) != c.by.Role {
		return models.Forbidden("actor_role: %q is not yours; you are %q", id.ActorRole, c.by.Role).
			Hint("leave actor_role out; a role is proven when the server starts, not declared").With("field", "actor_role")
	}
	return nil
}

// assignmentID is the assignment that a call is about: a bound worker's own.
func (c *caller) assignmentID(given string) (string, error) {
	if !c.worker() {
		return given, required("assignment_id", given)
	}
	return c.binding.AssignmentID, own("assignment_id", given, c.binding.AssignmentID)
}

// runID is the run that a call is about: a bound worker's current one.
func (c *caller) runID(ctx context.Context, given string) (string, error) {
	if !c.worker() {
		return given, required("run_id", given)
	}
	open, err := c.Ledger.Runs(ctx, ledger.RunFilter{AssignmentID: c.binding.AssignmentID, OpenOnly: true})
	if err != nil {
		return "", err
	}
	for _, run := range open {
		if run.BindingID == c.binding.ID {
			return run.ID, own("run_id", given, run.ID)
		}
	}
	return "", models.Forbidden("this thread has no open run").
		Hint("the work of this run is over or was taken back; stop here")
}

// shownRun is the run that a reading call is about, in a team that the caller
// sees.
func (c *caller) shownRun(ctx context.Context, given string) (string, error) {
	id, err := c.runID(ctx, given)
	if err != nil || c.binding == nil {
		return id, err
	}
	run, err := c.Ledger.Run(ctx, id)
	if err != nil {
		return "", err
	}
	return id, c.sees(run.TeamID)
}

// teamID is the team that a call is about: a bound caller's own.
func (c *caller) teamID(given string) (string, error) {
	if c.binding == nil {
		return given, nil
	}
	return c.binding.TeamID, own("team_id", given, c.binding.TeamID)
}

// teamNamed is the team that a call is about: a bound caller's own, else the
// given one, else the only active one of the workspace, or of the ledger where no
// workspace is given.
func (c *caller) teamNamed(ctx context.Context, given, workspaceID string) (string, error) {
	if id, err := c.teamID(given); id != "" || err != nil {
		return id, err
	}
	teams, err := c.Ledger.Teams(ctx, workspaceID)
	if err != nil {
		return "", err
	}
	return only("team_id", teams, func(t models.Team) (string, bool) { return t.ID, t.Status == models.StatusActive })
}

// workspaceNamed is the workspace that a call is about: the given one, else the
// only active one.
func (c *caller) workspaceNamed(ctx context.Context, given string) (string, error) {
	if id, err := c.workspaceID(given); id != "" || err != nil {
		return id, err
	}
	spaces, err := c.Ledger.Workspaces(ctx)
	if err != nil {
		return "", err
	}
	return only("workspace_id", spaces, func(w ledger.WorkspaceView) (string, bool) { return w.ID, w.Status == models.StatusActive })
}

// only is the id of the one active entry; it refuses none and several.
func only[T any](field string, all []T, active func(T) (string, bool)) (string, error) {
	ids := []string{}
	for _, entry := range all {
		if id, ok := active(entry); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 1 {
		return ids[0], nil
	}
	return "", models.Invalid(field, "is required: there are %d to choose from", len(ids)).With("choices", ids).Hint("list_workspaces")
}

// workspaceID is the workspace that a call is about: a bound caller's own.
func (c *caller) workspaceID(given string) (string, error) {
	if c.binding == nil {
		return given, nil
	}
	return c.binding.WorkspaceID, own("workspace_id", given, c.binding.WorkspaceID)
}

// sees refuses what belongs to another team than a bound caller's.
func (c *caller) sees(teamID string) error {
	if c.binding == nil || c.binding.TeamID == teamID {
		return nil
	}
	return models.Forbidden("that belongs to another team than yours").With("team_id", c.binding.TeamID)
}

func required(field, given string) error {
	if given == "" {
		return models.Invalid(field, "is required")
	}
	return nil
}

func own(field, given, mine string) error {
	if given == "" || given == mine {
		return nil
	}
	return models.Forbidden("%s: %q is not yours", field, given).
		Hint("leave %s out; it is %s", field, mine).With("field", field)
}

// LogValue names the caller in logs without anything it said.
func (c *caller) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("actor", c.by.ActorID), slog.String("role", string(c.by.Role))}
	if c.binding != nil {
		attrs = append(attrs, slog.String("binding", c.binding.ID), slog.Int("generation", c.binding.Generation))
	}
	return slog.GroupValue(attrs...)
}
