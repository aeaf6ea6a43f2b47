package mcpserver

import (
	"context"
	"path/filepath"

	"coxswain/models"
	"coxswain/models/ledger"
)

type nothingIn struct{}

type workspacesOut struct {
	Workspaces []ledger.WorkspaceView `json:"workspaces"`
}

func listWorkspaces() entry {
	return tool(definition{
		name: "list_workspaces", title: "List workspaces", effect: reads,
		text: "List the registered repositories with their counts. Go on with get_workspace_detail.",
	},
		func(ctx context.Context, c *caller, _ nothingIn) (out workspacesOut, err error) {
			out.Workspaces, err = c.Ledger.Workspaces(ctx)
			return out, err
		})
}

type workspaceIn struct {
	WorkspaceID string `json:"workspace_id"`
}

type workspaceOut struct {
	Workspace models.Workspace `json:"workspace"`
}

type workspaceDetailOut struct {
	Workspace        models.Workspace    `json:"workspace"`
	Teams            []models.Team       `json:"teams"`
	Assignments      []models.Assignment `json:"assignments"`
	AssignmentCounts map[string]int      `json:"assignment_counts"`
	AssignmentTotal  int                 `json:"assignment_total"`
}

func getWorkspaceDetail() entry {
	return tool(definition{
		name: "get_workspace_detail", title: "Read a workspace", effect: reads,
		text: "Read a workspace with its teams and assignments. Go on with get_team_board or get_assignment_detail.",
	},
		func(ctx context.Context, c *caller, in workspaceIn) (out workspaceDetailOut, err error) {
			if out.Workspace, err = c.Ledger.Workspace(ctx, in.WorkspaceID); err != nil {
				return out, err
			}
			if out.Teams, err = c.Ledger.Teams(ctx, in.WorkspaceID); err != nil {
				return out, err
			}
			out.Assignments, err = c.Ledger.Assignments(ctx, ledger.AssignmentFilter{WorkspaceID: in.WorkspaceID})
			out.count()
			return out, err
		})
}

func (w *workspaceDetailOut) count() {
	w.AssignmentCounts, w.AssignmentTotal = map[string]int{}, len(w.Assignments)
	for _, a := range w.Assignments {
		w.AssignmentCounts[string(a.Status)]++
	}
}

type registerWorkspaceIn struct {
	change
	WorkspaceID   string         `json:"workspace_id" jsonschema:"1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit"`
	Name          string         `json:"name,omitempty"`
	RepoRoot      string         `json:"repo_root,omitempty" jsonschema:"Absolute path of the repository, on the machine of this server."`
	DefaultBranch string         `json:"default_branch,omitempty" jsonschema:"The repository's own when left out."`
	Metadata      map[string]any `json:"metadata,omitempty"`
}

func registerWorkspace() entry {
	return tool(definition{
		name: "register_workspace", title: "Register a workspace", effect: repeats,
		text: "Register a repository, or change what is known about it; what is left out stays. Its Git directory is found. Create a team for it next.",
	},
		func(ctx context.Context, c *caller, in registerWorkspaceIn) (out workspaceOut, err error) {
			wanted, err := c.located(ctx, in.RepoRoot)
			if err != nil {
				return out, err
			}
			wanted.ID, wanted.Name, wanted.Metadata = in.WorkspaceID, in.Name, in.Metadata
			if in.DefaultBranch != "" {
				wanted.DefaultBranch = in.DefaultBranch
			}
			out.Workspace, err = c.Ledger.RegisterWorkspace(ctx, c.change(in.RequestID), wanted)
			return out, err
		})
}

// located is what the server's machine knows about a root: the repository that
// contains it, its Git directory and branch, and the node that holds it.
func (c *caller) located(ctx context.Context, root string) (ledger.NewWorkspace, error) {
	if root == "" || c.Place == nil || !filepath.IsAbs(root) { // the ledger refuses a relative one
		return ledger.NewWorkspace{RepoRoot: root}, nil
	}
	return c.Place(ctx, root)
}

type archiveWorkspaceIn struct {
	change
	WorkspaceID string `json:"workspace_id"`
}

func archiveWorkspace() entry {
	return tool(definition{
		name: "archive_workspace", title: "Archive a workspace", effect: overwrites,
		text: "Hide a workspace and turn off the loops of its teams. Nothing is deleted.",
	},
		func(ctx context.Context, c *caller, in archiveWorkspaceIn) (out workspaceOut, err error) {
			out.Workspace, err = c.Ledger.ArchiveWorkspace(ctx, c.change(in.RequestID), in.WorkspaceID)
			return out, err
		})
}
