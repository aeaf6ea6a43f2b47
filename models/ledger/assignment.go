package ledger

import (
	"context"

	"gorm.io/gorm"

	"coxswain/models"
)

// AssignmentFilter narrows a list of assignments; zero fields do not.
type AssignmentFilter struct {
	WorkspaceID string
	TeamID      string
	Statuses    []models.AssignmentStatus
}

// AssignmentDetail is an assignment with all that happened to it, oldest first.
type AssignmentDetail struct {
	Assignment    models.Assignment     `json:"assignment"`
	Runs          []models.Run          `json:"runs"`
	Events        []models.Event        `json:"events"`
	Interventions []models.Intervention `json:"interventions"`
	Commands      []models.Command      `json:"commands"`
	Held          []HeldRun             `json:"held"` // its runs that wait for a time
}

// CreateAssignment adds a ready assignment at revision 1. base, where given, must
// be 0. Errors, in the order of their checks: FORBIDDEN (integrators and people
// create work), NOT_FOUND, STALE_REVISION, INVALID_ARGUMENT, DEPENDENCY_CYCLE;
// SECRET_DETECTED before all of them.
func (l *Ledger) CreateAssignment(ctx context.Context, c *Call, n models.NewAssignment, base *int) (models.Assignment, error) {
	in := contractArgs(n)
	in["base_revision"] = base
	return write(ctx, l, c, "create_assignment", in, func(tx *Tx) (models.Assignment, error) { return tx.createAssignment(n, base) })
}

func (tx *Tx) createAssignment(n models.NewAssignment, base *int) (models.Assignment, error) {
	var a models.Assignment
	if err := tx.need("create assignment", models.RoleIntegrator, models.RoleHuman); err != nil {
		return a, err
	}
	if err := models.CheckID("assignment_id", n.ID); err != nil {
		return a, err
	}
	ws, err := tx.placeOf(n)
	if err != nil {
		return a, err
	}
	if err := tx.isNew(n.ID, base); err != nil {
		return a, err
	}
	a, wrong := contract(n, ws)
	if len(wrong) > 0 {
		return a, wrong[0]
	}
	if err := tx.mayTouch(a); err != nil {
		return a, err
	}
	a.CreatedBy, a.CreatedAt, a.UpdatedAt = tx.By.ActorID, tx.Now, tx.Now
	if err := tx.insert(&a); err != nil {
		return a, err
	}
	if a.DependsOn, err = tx.depend(a, n.DependsOn); err != nil {
		return a, err
	}
	if _, err := tx.append(createdEvent(a)); err != nil {
		return a, err
	}
	return a, tx.wakeLoop(a.WorkspaceID, a.TeamID)
}

// placeOf finds the workspace of a new assignment, the team's when blank.
func (tx *Tx) placeOf(n models.NewAssignment) (models.Workspace, error) {
	team, err := get[models.Team](tx.db, "team", n.TeamID)
	if err != nil {
		return models.Workspace{}, err
	}
	ws, err := get[models.Workspace](tx.db, "workspace", first(n.WorkspaceID, team.WorkspaceID))
	if err != nil {
		return ws, err
	}
	if ws.ID != team.WorkspaceID {
		return ws, models.Invalid("team_id", "team %q belongs to workspace %q, not %q", team.ID, team.WorkspaceID, ws.ID)
	}
	return ws, ws.InUse()
}

// isNew refuses a base revision other than 0 and an id that is taken.
func (tx *Tx) isNew(id string, base *int) error {
	old, found, err := find[models.Assignment](tx.db, "id = ?", id)
	if err != nil {
		return err
	}
	if base != nil && *base != 0 {
		refusal := models.Errorf(models.CodeStaleRevision, "base_revision: a new assignment has base revision 0, not %d", *base).
			With("revision", old.Revision)
		if found {
			return refusal.Hint("cox assignment show %s", id)
		}
		return refusal.Hint("leave the base revision out, or name 0")
	}
	if found {
		return models.Invalid("assignment_id", "%q is already in the ledger", id).With("revision", old.Revision).Hint("cox assignment show %s", id)
	}
	return nil
}

func createdEvent(a models.Assignment) models.Event {
	e := assignmentEvent(a, models.EventAssignmentCreated)
	e.Status, e.Payload = models.EventProposed, map[string]any{"title": a.Title, "metadata": a.Metadata}
	return e
}

// assignmentEvent begins an event about an assignment at its revision.
func assignmentEvent(a models.Assignment, kind string) models.Event {
	return models.Event{WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, AssignmentID: a.ID, Type: kind, AssignmentRevision: a.Revision}
}

// loadAssignment reads one assignment with its dependencies.
func loadAssignment(db *gorm.DB, id string) (models.Assignment, error) {
	a, err := get[models.Assignment](db, "assignment", id)
	if err != nil {
		return a, err
	}
	rows := []models.Assignment{a}
	err = fillDependencies(db, rows)
	return rows[0], err
}

// Assignment returns one assignment or NOT_FOUND.
func (l *Ledger) Assignment(ctx context.Context, id string) (models.Assignment, error) {
	return loadAssignment(l.read(ctx), id)
}

// Assignments lists assignments in the order of planning: priority, then oldest
// update, then id (seed 000, scheduler).
func (l *Ledger) Assignments(ctx context.Context, f AssignmentFilter) ([]models.Assignment, error) {
	q := where(l.read(ctx), "workspace_id", f.WorkspaceID)
	q = where(q, "team_id", f.TeamID)
	if len(f.Statuses) > 0 {
		q = q.Where("status IN ?", f.Statuses)
	}
	rows := []models.Assignment{}
	if err := q.Order("priority DESC, updated_at, id").Find(&rows).Error; err != nil {
		return nil, err
	}
	return rows, fillDependencies(l.read(ctx), rows)
}

// AssignmentDetail returns an assignment with its runs, events, interventions and
// commands, or NOT_FOUND.
func (l *Ledger) AssignmentDetail(ctx context.Context, id string) (AssignmentDetail, error) {
	d := AssignmentDetail{Runs: []models.Run{}, Events: []models.Event{}, Interventions: []models.Intervention{}, Commands: []models.Command{}}
	var err error
	if d.Assignment, err = l.Assignment(ctx, id); err != nil {
		return d, err
	}
	for _, load := range []struct {
		order string
		into  any
	}{
		{"attempt", &d.Runs}, {"sequence", &d.Events}, {"created_at, id", &d.Interventions}, {"created_at, id", &d.Commands},
	} {
		if err := l.read(ctx).Where("assignment_id = ?", id).Order(load.order).Find(load.into).Error; err != nil {
			return d, err
		}
	}
	d.Held, err = l.Held(ctx, id)
	return d, err
}

// where adds a condition unless its value is blank.
func where(q *gorm.DB, column, value string) *gorm.DB {
	if value == "" {
		return q
	}
	return q.Where(column+" = ?", value)
}
