package mcpserver

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

type teamIn struct {
	TeamID string `json:"team_id,omitempty" jsonschema:"The team; the only one there is when left out. A bound integrator's is its own."`
}

func getTeamBoard() entry {
	return tool(definition{
		name: "get_team_board", title: "Read a team's board", effect: reads,
		text: "Read a team's assignments by lane, from ready to accepted.",
	},
		func(ctx context.Context, c *caller, in teamIn) (ledger.Board, error) {
			id, err := c.teamNamed(ctx, in.TeamID, "")
			if err != nil {
				return ledger.Board{}, err
			}
			return c.Ledger.Board(ctx, id)
		})
}

type createTeamIn struct {
	change
	TeamID       string         `json:"team_id" jsonschema:"Unique in the ledger: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit"`
	WorkspaceID  string         `json:"workspace_id"`
	Name         string         `json:"name"`
	OwnerActorID string         `json:"owner_actor_id,omitempty" jsonschema:"The team's integrator; made for the team when left out."`
	PhaseKey     string         `json:"phase_key,omitempty" jsonschema:"The phase of a plan that the team works on; free text."`
	Settings     map[string]any `json:"settings,omitempty" jsonschema:"freshness_window_minutes (of briefs, at most 30), yellow_digest_minutes, attention_channel and what you like besides."`
}

type teamOut struct {
	Team models.Team `json:"team"`
}

func createTeam() entry {
	return tool(definition{
		name: "create_team", title: "Create a team", effect: repeats,
		text: "Create a team and its board in a workspace, or change it. Create assignments for it next; `cox loop` starts them.",
	},
		func(ctx context.Context, c *caller, in createTeamIn) (out teamOut, err error) {
			out.Team, err = c.Ledger.CreateTeam(ctx, c.change(in.RequestID), ledger.NewTeam{
				ID: in.TeamID, WorkspaceID: in.WorkspaceID,
				Name: in.Name, PhaseKey: in.PhaseKey, OwnerActorID: in.OwnerActorID, Settings: in.Settings,
			})
			return out, err
		})
}
