package ledger

import (
	"strings"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// planScope is what the loading functions share.
type planScope struct {
	db   *gorm.DB
	team models.Team
	ws   models.Workspace
	one  string // one assignment, or "" for the whole team
	now  time.Time

	starting bool                  // read nothing but what starts depend on
	used     map[string]models.Use // by assignment
	parked   map[string]string     // reasons by breaker
}

// loadPlan reads the planner's input for a team, or for one assignment of it.
func loadPlan(db *gorm.DB, teamID, assignmentID string, now time.Time) (models.PlanInput, error) {
	team, err := get[models.Team](db, "team", teamID)
	if err != nil {
		return models.PlanInput{}, err
	}
	ws, err := get[models.Workspace](db, "workspace", team.WorkspaceID)
	if err != nil {
		return models.PlanInput{}, err
	}
	return (&planScope{db: db, team: team, ws: ws, one: assignmentID, now: now}).load()
}

// loadStarts is loadPlan for what a team could start, without its live runs and its
// reviews.
func loadStarts(db *gorm.DB, teamID string, now time.Time) (models.PlanInput, error) {
	team, err := get[models.Team](db, "team", teamID)
	if err != nil {
		return models.PlanInput{}, err
	}
	ws, err := get[models.Workspace](db, "workspace", team.WorkspaceID)
	if err != nil {
		return models.PlanInput{}, err
	}
	return (&planScope{db: db, team: team, ws: ws, now: now, starting: true}).load()
}

// holdsBack reads what holds work back apart from the work itself: the workspace's
// settings, the account's limit and the failures so far.
func (s *planScope) holdsBack(in *models.PlanInput) (err error) {
	in.Settings = s.ws.Settings
	if s.used, err = usage(s.db, s.team.ID, s.one); err != nil {
		return err
	}
	if s.parked, err = parkedTexts(s.db, s.team.ID, s.now); err != nil {
		return err
	}
	in.Parked = s.parked[teamBreaker(s.team.ID)]
	in.HeldUntil, err = heldUntil(s.db, s.ws.NodeID, s.team.Loop.AdapterKind, s.now)
	return err
}

func (s *planScope) input() models.PlanInput {
	team, ws := s.team, s.ws
	return models.PlanInput{
		Now: s.now, WorkspaceID: ws.ID, TeamID: team.ID, OneAssignment: s.one, Loop: team.Loop, Pause: team.Pause, NodeID: ws.NodeID,
		OnlyLive: s.one != "" || !team.Loop.Enabled || team.Status != models.StatusActive || ws.Status != models.StatusActive,
	}
}

// teamOnly is the input without any assignment, and without the runs that are open.
func (s *planScope) teamOnly() (models.PlanInput, error) {
	in := s.input()
	if err := s.holdsBack(&in); err != nil {
		return in, err
	}
	err := s.node(&in)
	return in, err
}

func (s *planScope) load() (models.PlanInput, error) {
	in := s.input()
	if err := s.holdsBack(&in); err != nil { // before the methods below bind their copy of s
		return in, err
	}
	loads := []func(*models.PlanInput) error{s.node, s.capacity, s.starts, s.holds}
	if !s.starting {
		loads = append(loads, s.runs, s.reviews)
	}
	for _, load := range loads {
		if err := load(&in); err != nil {
			return in, err
		}
	}
	return in, nil
}

func (s *planScope) node(in *models.PlanInput) error {
	owner, _, err := find[models.Actor](s.db, "id = ?", s.team.OwnerActorID)
	if err != nil {
		return err
	}
	in.ReviewedBy = owner.Role
	node, found, err := find[models.Node](s.db, "id = ?", s.ws.NodeID)
	if err != nil || !found {
		in.NodeID = ""
		return err
	}
	in.NodeIncarnation = node.Incarnation
	if p, ok := node.Probes[s.team.Loop.AdapterKind]; ok {
		in.Probe = &p
	}
	in.Capacity = []models.Capacity{{Name: "node", Limit: node.MaxRuns}}
	open, err := openRefresh(s.db, node.ID, s.team.Loop.AdapterKind)
	in.OpenRefresh = len(open) > 0
	return err
}

// capacity counts the managed runs without an end against every limit.
func (s *planScope) capacity(in *models.PlanInput) error {
	var open []struct {
		TeamID, WorkspaceID, NodeID, AssignmentID string
		Status                                    models.RunStatus
	}
	err := s.db.Table("runs").Select("team_id, workspace_id, node_id, assignment_id, status").Where("ended_at IS NULL AND binding_id <> ''").
		Order("started_at, id").Find(&open).Error
	if err != nil {
		return err
	}
	in.Capacity = append(in.Capacity, models.Capacity{Name: "workspace", Limit: s.ws.MaxRuns},
		models.Capacity{Name: "team", Limit: s.team.Loop.MaxConcurrentRuns})
	for _, r := range open {
		for i := range in.Capacity {
			c := &in.Capacity[i]
			if c.Name == "node" && r.NodeID == s.ws.NodeID || c.Name == "workspace" && r.WorkspaceID == s.ws.ID || c.Name == "team" && r.TeamID == s.team.ID {
				c.Open++
				c.TakenBy = append(c.TakenBy, r.AssignmentID)
				if r.Status.Waiting() {
					c.Waiting = append(c.Waiting, r.AssignmentID)
				}
			}
		}
	}
	return nil
}

// candidate is the narrow row of an assignment that may be started.
type candidate struct {
	ID           string
	Revision     int
	Status       models.AssignmentStatus
	AllowedPaths []string `gorm:"serializer:json"`
	Metadata     string
	Deferred     string
}

// startable finds the assignments that a run may be started for, in planning
// order: ready and needs_fix ones, and those whose claim by somebody outside
// expired (seed 000: priority, then oldest update, then id).
const startable = `team_id = ? AND (status IN ('ready','needs_fix') OR status IN ('claimed','running') AND lease_expires_at <= ?
  AND EXISTS (SELECT 1 FROM runs r WHERE r.id = assignments.active_run_id AND r.binding_id = ''))`

func (s *planScope) starts(in *models.PlanInput) error {
	if s.one != "" {
		return nil
	}
	var rows []candidate
	err := s.db.Table("assignments").Select("id, revision, status, allowed_paths, metadata, deferred_reason AS deferred").
		Where(startable, s.team.ID, s.now.UnixMilli()).Order("priority DESC, updated_at, id").Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return err
	}
	facts, err := s.startFacts()
	if err != nil {
		return err
	}
	in.Starts = make([]models.StartCandidate, 0, len(rows))
	for _, r := range rows {
		f := facts.failures[r.ID]
		if f.Revision != r.Revision {
			f = failure{}
		}
		in.Starts = append(in.Starts, models.StartCandidate{
			ID: r.ID, Revision: r.Revision, Status: r.Status, AllowedPaths: r.AllowedPaths, Target: targetOf(r),
			Blockers: facts.blockers[r.ID], RunOpen: facts.busy[r.ID], OnThread: facts.threads[r.ID], Asked: facts.asked[r.ID], Deferred: r.Deferred,
			FailedStarts: f.Count, LastFailure: time.UnixMilli(f.LastAt).UTC(), FailureReason: f.Reason,
			Parked: s.parked[assignmentBreaker(r.ID)], Use: s.used[r.ID],
		})
	}
	return nil
}

// targetOf decodes the metadata only where it can name a worker.
func targetOf(r candidate) string {
	a := models.Assignment{ID: r.ID}
	if strings.Contains(r.Metadata, "session_bind") {
		a.Metadata = decodeObject(r.Metadata)
	}
	return a.TargetActorID()
}

type failure struct {
	ID       string
	Revision int
	Count    int
	LastAt   int64
	Reason   string
}

type startFacts struct {
	blockers map[string][]models.Blocker
	busy     map[string]bool
	threads  map[string]bool
	failures map[string]failure
	asked    map[string]bool
}

// startFacts reads what speaks for or against the candidates, one query each.
func (s *planScope) startFacts() (startFacts, error) {
	f := startFacts{blockers: map[string][]models.Blocker{}, busy: map[string]bool{}, threads: map[string]bool{}, failures: map[string]failure{}, asked: map[string]bool{}}
	waiting, err := findBlockers(s.db, "a.team_id = ? AND a.status IN ('ready','needs_fix')", s.team.ID)
	if err != nil {
		return f, err
	}
	for _, w := range waiting {
		f.blockers[w.AssignmentID] = append(f.blockers[w.AssignmentID], w.model())
	}
	if err := s.mark(f.busy, `SELECT assignment_id FROM runs WHERE team_id = ? AND ended_at IS NULL AND binding_id <> ''
	  UNION SELECT assignment_id FROM commands WHERE team_id = ? AND state IN ('intended','unknown') AND assignment_id <> ''`, s.team.ID, s.team.ID); err != nil {
		return f, err
	}
	if err := s.mark(f.threads, `SELECT assignment_id FROM bindings WHERE team_id = ? AND kind = 'worker' AND status = 'active'
	  AND thread_id <> '' AND adapter_kind = ?`, s.team.ID, s.team.Loop.AdapterKind); err != nil {
		return f, err
	}
	if err := s.mark(f.asked, `SELECT assignment_id FROM interventions WHERE team_id = ? AND kind IN ('start_failed','cap_reached') AND status = 'open'`, s.team.ID); err != nil {
		return f, err
	}
	var failed []failure
	err = s.db.Raw(`SELECT c.assignment_id AS id, c.assignment_revision AS revision, count(*) AS count, max(c.ended_at) AS last_at, max(c.error) AS reason
	  FROM commands c JOIN assignments a ON a.id = c.assignment_id AND a.revision = c.assignment_revision
	  WHERE c.team_id = ? AND c.type = 'start_assignment' AND c.state = 'failed'
	    AND c.ended_at > coalesce((SELECT max(i.answered_at) FROM interventions i WHERE i.assignment_id = c.assignment_id AND i.kind = 'start_failed'), 0)
	  GROUP BY c.assignment_id, c.assignment_revision`, s.team.ID).Scan(&failed).Error
	for _, row := range failed {
		f.failures[row.ID] = row
	}
	return f, err
}

func (s *planScope) mark(set map[string]bool, query string, args ...any) error {
	var ids []string
	err := s.db.Raw(query, args...).Scan(&ids).Error
	for _, id := range ids {
		set[id] = true
	}
	return err
}

// holds reads who holds paths in the workspace: every assignment from its first
// start to its end, and one that ended while its turn has not.
func (s *planScope) holds(in *models.PlanInput) error {
	if len(in.Starts) == 0 {
		return nil
	}
	var rows []candidate
	err := s.db.Table("assignments").Select("id, allowed_paths").Where(`workspace_id = ? AND (
	  active_run_id <> '' AND status NOT IN ('accepted','rejected','cancelled','superseded')
	  OR id IN (SELECT assignment_id FROM runs WHERE workspace_id = ? AND ended_at IS NULL AND binding_id <> ''))`, s.ws.ID, s.ws.ID).
		Order("id").Find(&rows).Error
	for _, r := range rows {
		in.Holds = append(in.Holds, models.Hold{AssignmentID: r.ID, AllowedPaths: r.AllowedPaths})
	}
	return err
}
