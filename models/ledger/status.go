package ledger

import (
	"context"
	"slices"
	"time"

	"coxswain/models"
)

// Status is one look at everything: what runs, what waits, and for whom.
type Status struct {
	At            time.Time             `json:"at"`
	Instance      string                `json:"instance"`
	Ledger        string                `json:"ledger"`
	Nodes         []models.Node         `json:"nodes"`
	Teams         []TeamStatus          `json:"teams"`
	Runs          []models.Run          `json:"runs"`          // without an end
	Reviews       int                   `json:"reviews"`       // undecided handoffs
	Interventions []models.Intervention `json:"interventions"` // open questions
	Deferred      []Deferred            `json:"deferred"`
	Still         []models.Still        `json:"still"` // everything that does not move, with its one reason
	Held          []HeldRun             `json:"held"`  // runs that wait for a time
	Pending       Pending               `json:"pending"`
	Dirty         []DirtyScope          `json:"dirty"`
}

// TeamStatus counts the assignments of a team by lane.
type TeamStatus struct {
	TeamID      string `json:"team_id"`
	WorkspaceID string `json:"workspace_id"`
	LoopOn      bool   `json:"loop_on"`

	Pause   *models.LoopPause `json:"pause,omitempty"`
	Adapter string            `json:"adapter"`
	MaxRuns int               `json:"max_concurrent_runs"`
	Lanes   map[string]int    `json:"lanes"`
}

// Deferred is a startable assignment that the last plan left out, or for which no run
// is free now.
type Deferred struct {
	AssignmentID string `json:"assignment_id"`
	TeamID       string `json:"team_id"`
	Reason       string `json:"reason"`
}

// Pending counts what the engine has not carried out yet.
type Pending struct {
	Commands int `json:"commands"`
	Messages int `json:"messages"`
	Wakeups  int `json:"wakeups"`
}

// DirtyScope is an ended assignment that left uncommitted files.
type DirtyScope struct {
	AssignmentID string `json:"assignment_id"`
	Files        int    `json:"files"`
}

// Status reads everything that `cox status` shows. It believes the heartbeats of nodes
// but for the one that the asker sees.
func (l *Ledger) Status(ctx context.Context, sight Sight) (Status, error) {
	s := Status{At: l.Now(), Instance: l.instance, Ledger: l.store.name(), Teams: []TeamStatus{}}
	db := l.read(ctx)
	steps := []func() error{
		func() (err error) { s.Nodes, err = l.Nodes(ctx); return err },
		func() error { return l.teamStatus(ctx, &s) },
		func() error { return db.Where("ended_at IS NULL").Order("started_at, id").Find(&s.Runs).Error },
		func() error { return db.Where("status = 'open'").Order("created_at, id").Find(&s.Interventions).Error },
		func() error {
			return db.Table("assignments").Select("id AS assignment_id, team_id, deferred_reason AS reason").
				Where("deferred_reason <> '' AND status IN ('ready','needs_fix')").Order("id").Find(&s.Deferred).Error
		},
		func() (err error) { s.Held, err = l.Held(ctx, ""); return err },
		func() error { return l.standing(ctx, &s, sight) },
		func() error { s.crowdedOut(); return nil },
		func() error {
			return db.Raw(`SELECT (SELECT count(*) FROM commands WHERE state IN ('intended','unknown')) AS commands,
			  (SELECT count(*) FROM outbox WHERE state IN ('pending','sending')) AS messages,
			  (SELECT count(*) FROM wakeups WHERE generation > acknowledged) AS wakeups`).Scan(&s.Pending).Error
		},
		func() error { return l.dirty(ctx, &s) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (l *Ledger) teamStatus(ctx context.Context, s *Status) error {
	var teams []models.Team
	if err := l.read(ctx).Where("status = 'active' AND workspace_id IN (SELECT id FROM workspaces WHERE status = 'active')").Order("workspace_id, id").Find(&teams).Error; err != nil {
		return err
	}
	var counts []struct {
		TeamID string
		Status models.AssignmentStatus
		N      int
	}
	if err := l.read(ctx).Table("assignments").Select("team_id, status, count(*) AS n").Group("team_id, status").Find(&counts).Error; err != nil {
		return err
	}
	for _, t := range teams {
		ts := TeamStatus{TeamID: t.ID, WorkspaceID: t.WorkspaceID, LoopOn: t.Loop.Enabled, Pause: t.Pause, Adapter: t.Loop.AdapterKind, MaxRuns: t.Loop.MaxConcurrentRuns, Lanes: map[string]int{}}
		for _, lane := range models.Lanes() {
			ts.Lanes[lane] = 0
		}
		for _, c := range counts {
			if c.TeamID == t.ID && c.Status.Lane() != "" {
				ts.Lanes[c.Status.Lane()] += c.N
			}
		}
		s.Teams = append(s.Teams, ts)
		s.Reviews += ts.Lanes["awaiting_review"]
	}
	return nil
}

func (l *Ledger) dirty(ctx context.Context, s *Status) error {
	var rows []models.Event
	apart, err := l.apart(ctx)
	if err != nil {
		return err
	}
	if err := l.read(ctx).Where("type = ?", models.EventScopeDirty).Order("sequence DESC").Limit(100).Find(&rows).Error; err != nil {
		return err
	}
	for _, e := range rows {
		n, _ := e.Payload["dirty"].(float64)
		if w, found := apart[e.AssignmentID]; found {
			n = float64(w.Dirty)
		}
		if n > 0 {
			s.Dirty = append(s.Dirty, DirtyScope{AssignmentID: e.AssignmentID, Files: int(n)})
		}
	}
	return nil
}

// apart are the worktrees by assignment: what they hold changes after the end, and is
// gone with them.
func (l *Ledger) apart(ctx context.Context) (map[string]models.Worktree, error) {
	var rows []models.Worktree
	err := l.read(ctx).Find(&rows).Error
	out := make(map[string]models.Worktree, len(rows))
	for _, w := range rows {
		out[w.AssignmentID] = w
	}
	return out, err
}

// TeamEnded tells whether a team has assignments, all of them have ended, and
// nothing of them is left to carry out, deliver or look at.
func (l *Ledger) TeamEnded(ctx context.Context, teamID string) (bool, error) {
	var n struct{ Total, Live, Runs, Commands, Messages, Unseen int }
	err := l.read(ctx).Raw(`SELECT
	  (SELECT count(*) FROM assignments WHERE team_id = @team) AS total,
	  (SELECT count(*) FROM assignments WHERE team_id = @team AND status NOT IN ('accepted','rejected','cancelled','superseded')) AS live,
	  (SELECT count(*) FROM runs WHERE team_id = @team AND ended_at IS NULL) AS runs,
	  (SELECT count(*) FROM commands WHERE team_id = @team AND state IN ('intended','unknown')) AS commands,
	  (SELECT count(*) FROM outbox o JOIN bindings b ON b.id = o.binding_id WHERE b.team_id = @team AND o.state IN ('pending','sending')) AS messages,
	  (SELECT count(DISTINCT r.assignment_id) FROM runs r WHERE r.team_id = @team AND r.node_id <> ''
	     AND NOT EXISTS (SELECT 1 FROM events e WHERE e.assignment_id = r.assignment_id AND e.type = 'scope_dirty'))
	  + (SELECT count(*) FROM hook_runs h JOIN runs r ON r.id = h.run_id WHERE h.team_id = @team AND h.hook = 'after_run' AND h.state IN ('owed','running') AND r.ended_at IS NOT NULL)
	  + (SELECT count(*) FROM worktrees WHERE team_id = @team AND state IN ('making','removing')) AS unseen`,
		map[string]any{"team": teamID}).Scan(&n).Error
	return n.Total > 0 && n.Live+n.Runs+n.Commands+n.Messages+n.Unseen == 0, err
}

// crowdedOut adds the startable assignments for which no run is free. Plans do not
// store that reason, which changes with every run.
func (s *Status) crowdedOut() {
	for _, still := range s.Still {
		known := func(d Deferred) bool { return d.AssignmentID == still.AssignmentID }
		if still.Code == "capacity" && !slices.ContainsFunc(s.Deferred, known) {
			s.Deferred = append(s.Deferred, Deferred{AssignmentID: still.AssignmentID, TeamID: still.TeamID, Reason: still.Reason})
		}
	}
}
