package ledger

import (
	"context"
	"slices"

	"coxswain/models"
)

// Idle says which of some assignments, and of what some teams could start, nobody
// takes up now, and why. It asks the planner about a team, not about each assignment,
// so that it costs little after a change.
func (l *Ledger) Idle(ctx context.Context, sight Sight, assignments, teams []string) ([]models.Idle, error) {
	var rows []idleRow
	err := l.read(ctx).Raw(`SELECT a.id, a.team_id, a.status, w.node_id, coalesce(r.id, '') AS run_id, coalesce(r.binding_id, '') AS binding_id
	  FROM assignments a JOIN workspaces w ON w.id = a.workspace_id LEFT JOIN runs r ON r.assignment_id = a.id AND r.ended_at IS NULL
	  WHERE a.status NOT IN ('accepted','rejected','cancelled','superseded') AND (a.id IN ? OR a.team_id IN ? AND a.status IN ('ready','needs_fix'))
	  ORDER BY a.team_id, a.id`, oneAtLeast(assignments), oneAtLeast(teams)).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return []models.Idle{}, err
	}
	lag, err := l.Lag(ctx)
	if err != nil {
		return nil, err
	}
	look := idleLook{l: l, sight: sight, lag: lag, teams: map[string]idleTeam{}}
	still := make([]models.Still, 0, len(rows))
	for _, r := range rows {
		f, err := look.facts(ctx, r)
		if err != nil {
			return nil, err
		}
		if s, idle := models.WhyStill(f); idle {
			still = append(still, s)
		}
	}
	return models.GatherIdle(still), nil
}

// oneAtLeast keeps a list from being empty, which SQL has no word for.
func oneAtLeast(ids []string) []string {
	if len(ids) == 0 {
		return []string{""}
	}
	return ids
}

type idleRow struct {
	ID, TeamID, NodeID, RunID, BindingID string
	Status                               models.AssignmentStatus
}

// idleLook remembers what assignments of a team share.
type idleLook struct {
	l     *Ledger
	sight Sight
	lag   Lag
	teams map[string]idleTeam
}

type idleTeam struct {
	team models.Team
	left *models.LeftOut // why it starts nothing
}

func (k *idleLook) facts(ctx context.Context, r idleRow) (models.StillFacts, error) {
	f := models.StillFacts{AssignmentID: r.ID, TeamID: r.TeamID, Status: r.Status, EngineAway: k.lag.AwaySince != nil}
	f.WorkerAway = !slices.Contains(k.lag.Alive, r.NodeID)
	if r.NodeID != "" && r.NodeID == k.sight.NodeID {
		f.WorkerAway = !k.sight.Working
	}
	t, err := k.team(ctx, r.TeamID)
	if err != nil {
		return f, err
	}
	f.Pause = t.team.Pause
	if r.Status.Startable() {
		f.Left = t.left
		return f, nil
	}
	f.RunID, f.Managed = r.RunID, r.BindingID != ""
	held, err := k.l.Held(ctx, r.ID)
	if len(held) > 0 {
		f.HeldCode, f.HeldReason = held[0].Code, held[0].Reason
	}
	return f, err
}

// team asks the planner why a team would start nothing at all: an assignment that
// only it knows is left out for the team's reasons alone.
func (k *idleLook) team(ctx context.Context, id string) (idleTeam, error) {
	if t, known := k.teams[id]; known {
		return t, nil
	}
	db := k.l.read(ctx)
	team, err := get[models.Team](db, "team", id)
	if err != nil {
		return idleTeam{}, err
	}
	ws, err := get[models.Workspace](db, "workspace", team.WorkspaceID)
	if err != nil {
		return idleTeam{}, err
	}
	in, err := (&planScope{db: db, team: team, ws: ws, now: k.l.Now()}).teamOnly()
	if err != nil {
		return idleTeam{}, err
	}
	in.Starts = []models.StartCandidate{{ID: "any", Asked: true}}
	t := idleTeam{team: team}
	if left := models.Plan(in).LeftOut; len(left) > 0 {
		t.left = &left[0]
	}
	k.teams[id] = t
	return t, nil
}
