package ledger

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// Sight is what the asker sees and the ledger does not.
type Sight struct {
	NodeID  string // this host's node, "" when it has none
	Working bool   // its worker runs
}

// stillLook gathers the facts of everything that might not move, one query each.
type stillLook struct {
	db       *gorm.DB
	rows     []stillRow
	teams    map[string]models.Team
	left     map[string]*models.LeftOut
	asked    map[string]*models.Intervention
	runs     map[string]models.Run // open ones by assignment
	active   map[string]bool       // runs with an active turn
	retry    map[string]*time.Time // by assignment
	held     map[string]HeldRun    // by assignment
	unsent   map[string]string     // by run
	silent   map[string]bool       // nodes
	nodeOf   map[string]string     // by workspace
	engineAt *time.Time            // since when no node reaches the engine
}

type stillRow struct {
	ID, TeamID, WorkspaceID, HandoffEventID string
	Status                                  models.AssignmentStatus
}

// StillOf says why one assignment does not move, nil when it moves or has ended.
func (l *Ledger) StillOf(ctx context.Context, assignmentID string, sight Sight) (*models.Still, error) {
	s, err := l.Status(ctx, sight)
	if err != nil {
		return nil, err
	}
	for i := range s.Still {
		if s.Still[i].AssignmentID == assignmentID {
			return &s.Still[i], nil
		}
	}
	return nil, nil
}

// standing lists what does not move, each with its one reason.
func (l *Ledger) standing(ctx context.Context, s *Status, sight Sight) error {
	k := stillLook{
		db: l.read(ctx), teams: map[string]models.Team{}, left: map[string]*models.LeftOut{}, asked: map[string]*models.Intervention{},
		runs: map[string]models.Run{}, active: map[string]bool{}, retry: map[string]*time.Time{}, held: map[string]HeldRun{}, unsent: map[string]string{},
		silent: map[string]bool{}, nodeOf: map[string]string{},
	}
	for _, load := range []func() error{
		k.assignments,
		func() error { return k.live(s) },
		func() error { return k.waits(s.At) },
		func() error { return l.machinery(ctx, &k, s, sight) },
		func() error { return l.refused(ctx, &k) },
	} {
		if err := load(); err != nil {
			return err
		}
	}
	s.Still = k.reasons()
	return nil
}

func (k *stillLook) scan(into any, query string, args ...any) error {
	return k.db.Raw(query, args...).Scan(into).Error
}

func (k *stillLook) assignments() error {
	err := k.scan(&k.rows, `SELECT a.id, a.team_id, a.workspace_id, a.handoff_event_id, a.status FROM assignments a
	  JOIN teams t ON t.id = a.team_id AND t.status = 'active' JOIN workspaces w ON w.id = a.workspace_id AND w.status = 'active'
	  WHERE a.status NOT IN ('accepted','rejected','cancelled','superseded') ORDER BY a.team_id, a.priority DESC, a.updated_at, a.id`)
	if err != nil {
		return err
	}
	var spaces []struct{ ID, NodeID string }
	if err := k.scan(&spaces, "SELECT id, node_id FROM workspaces"); err != nil {
		return err
	}
	for _, w := range spaces {
		k.nodeOf[w.ID] = w.NodeID
	}
	return nil
}

// live takes over what the status has read already, and finds the active turns.
func (k *stillLook) live(s *Status) error {
	for _, r := range s.Runs {
		k.runs[r.AssignmentID] = r
	}
	for _, h := range s.Held {
		k.held[h.AssignmentID] = h
	}
	for i, q := range s.Interventions {
		holds := q.Kind != models.AskReviewIgnored && (q.Kind != models.AskStale || q.RunID != "") // a turn without its run holds nothing back
		if q.AssignmentID != "" && holds && k.asked[q.AssignmentID] == nil {
			k.asked[q.AssignmentID] = &s.Interventions[i]
		}
	}
	var ids []string
	err := k.scan(&ids, "SELECT run_id FROM turns WHERE status = 'active' AND run_id <> ''")
	for _, id := range ids {
		k.active[id] = true
	}
	return err
}

// waits finds commands and messages that are tried again later.
func (k *stillLook) waits(now time.Time) error {
	var rows []struct {
		AssignmentID, RunID, Reason string
		NotBefore                   int64
	}
	err := k.scan(&rows, `SELECT assignment_id, run_id, '' AS reason, not_before FROM commands
	    WHERE state IN ('intended','unknown') AND assignment_id <> '' AND not_before > ?
	  UNION ALL SELECT b.assignment_id, o.run_id, o.reason, o.not_before FROM outbox o JOIN bindings b ON b.id = o.binding_id
	    WHERE o.state IN ('pending','sending') AND b.assignment_id <> '' AND o.not_before > ?`, now.UnixMilli(), now.UnixMilli())
	for _, r := range rows {
		due := time.UnixMilli(r.NotBefore).UTC()
		k.retry[r.AssignmentID] = &due
		if r.Reason != "" {
			k.unsent[r.RunID] = r.Reason
		}
	}
	return err
}

// machinery finds the nodes that are silent and whether the engine is away.
func (l *Ledger) machinery(ctx context.Context, k *stillLook, s *Status, sight Sight) error {
	lag, err := l.Lag(ctx)
	if err != nil {
		return err
	}
	for _, n := range s.Nodes {
		k.silent[n.ID] = !slices.Contains(lag.Alive, n.ID)
	}
	if sight.NodeID != "" {
		k.silent[sight.NodeID] = !sight.Working
	}
	k.engineAt = lag.AwaySince
	return nil
}

// refused asks the planner about the teams that have work to start.
func (l *Ledger) refused(ctx context.Context, k *stillLook) error {
	var teams []models.Team
	if err := l.read(ctx).Find(&teams).Error; err != nil {
		return err
	}
	for _, t := range teams {
		k.teams[t.ID] = t
	}
	startable := map[string]bool{}
	for _, r := range k.rows {
		startable[r.TeamID] = startable[r.TeamID] || r.Status.Startable()
	}
	for _, t := range teams {
		if !startable[t.ID] {
			continue
		}
		left, err := l.leftOut(ctx, t.ID)
		if err != nil {
			return err
		}
		for i := range left {
			k.left[left[i].AssignmentID] = &left[i]
		}
	}
	return nil
}

// leftOut is what the planner would not start now.
func (l *Ledger) leftOut(ctx context.Context, teamID string) ([]models.LeftOut, error) {
	in, err := loadStarts(l.read(ctx), teamID, l.Now())
	if err != nil {
		return nil, err
	}
	return models.Plan(in).LeftOut, nil
}

func (k *stillLook) reasons() []models.Still {
	out := []models.Still{}
	for _, r := range k.rows {
		run := k.runs[r.ID]
		node := run.NodeID
		if node == "" {
			node = k.nodeOf[r.WorkspaceID]
		}
		silent, known := k.silent[node]
		s, still := models.WhyStill(models.StillFacts{
			AssignmentID: r.ID, TeamID: r.TeamID, Status: r.Status, Pause: k.teams[r.TeamID].Pause, Question: k.asked[r.ID],
			Reviewer: k.teams[r.TeamID].OwnerActorID, HandoffID: r.HandoffEventID, Left: k.left[r.ID], RunID: run.ID, Managed: run.BindingID != "",
			TurnActive: k.active[run.ID], RetryAt: k.retry[r.ID], MessageWhy: k.unsent[run.ID],
			HeldCode: k.held[r.ID].Code, HeldReason: k.held[r.ID].Reason, WorkerAway: silent || !known, EngineAway: k.engineAt != nil,
		})
		if still {
			out = append(out, s)
		}
	}
	return out
}
