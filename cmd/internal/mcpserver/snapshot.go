package mcpserver

import (
	"context"

	"coxswain/activities/projection"
	"coxswain/models"
	"coxswain/models/ledger"
)

type snapshotIn struct {
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"Only this workspace."`
	TeamID      string `json:"team_id,omitempty" jsonschema:"Only this team. A bound integrator sees its own team alone."`
}

func getSnapshot() entry {
	return tool(definition{
		name: "get_snapshot", title: "Read what is accepted", effect: reads,
		text: "Read a snapshot of the ledger: accepted assignments and acceptances, pending reviews, open questions, and the rules of who writes what.",
	},
		func(ctx context.Context, c *caller, in snapshotIn) (none models.Snapshot, err error) {
			var filter ledger.SnapshotFilter
			if filter.TeamID, err = c.teamID(in.TeamID); err != nil {
				return none, err
			}
			if filter.WorkspaceID, err = c.workspaceID(in.WorkspaceID); err != nil {
				return none, err
			}
			return c.Ledger.Snapshot(ctx, filter)
		})
}

type exportIn struct {
	identity
	OutputDir   string `json:"output_dir" jsonschema:"A folder of the workspace, absolute or relative to its root; . is the root itself."`
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"The only active one when left out."`
}

type exportOut struct {
	WorkspaceID string `json:"workspace_id"`
	projection.Export
}

func exportGitProjection() entry {
	return tool(definition{
		name: "export_git_projection", title: "Write what is accepted into the repository", effect: repeats,
		text: "Write the accepted work of a workspace into two files of its repository, for readers: JSON and Markdown. The same state gives the same bytes. Nothing is committed.",
	},
		func(ctx context.Context, c *caller, in exportIn) (out exportOut, err error) {
			if err := required("output_dir", in.OutputDir); err != nil {
				return out, err
			}
			if out.WorkspaceID, err = c.workspaceNamed(ctx, in.WorkspaceID); err != nil {
				return out, err
			}
			s, w, err := c.Ledger.Projection(ctx, c.by, out.WorkspaceID)
			if err != nil {
				return out, err
			}
			out.Export, err = projection.Write(w.RepoRoot, in.OutputDir, s)
			return out, err
		})
}
