package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// idsPerQuery keeps lists of ids below the driver's limit of variables.
const idsPerQuery = 500

// dependency is one edge: an assignment waits until the other one is accepted.
type dependency struct {
	AssignmentID string
	DependsOn    string
}

func (dependency) TableName() string { return "dependencies" }

// fillDependencies sets DependsOn of assignments that were read from their table.
func fillDependencies(db *gorm.DB, rows []models.Assignment) error {
	at, ids := make(map[string]*models.Assignment, len(rows)), make([]string, len(rows))
	for i := range rows {
		rows[i].DependsOn = []string{}
		at[rows[i].ID], ids[i] = &rows[i], rows[i].ID
	}
	for part := range slices.Chunk(ids, idsPerQuery) {
		var edges []dependency
		if err := db.Where("assignment_id IN ?", part).Order("assignment_id, depends_on").Find(&edges).Error; err != nil {
			return err
		}
		for _, e := range edges {
			at[e.AssignmentID].DependsOn = append(at[e.AssignmentID].DependsOn, e.DependsOn)
		}
	}
	return nil
}

// depend records what a new assignment waits for and returns it in order. Each must
// exist in the same workspace, and none may wait for the new one.
func (tx *Tx) depend(a models.Assignment, on []string) ([]string, error) {
	on = ordered(on)
	edges := make([]dependency, len(on))
	for i, id := range on {
		if err := tx.mayDepend(a, id); err != nil {
			return nil, err
		}
		edges[i] = dependency{AssignmentID: a.ID, DependsOn: id}
	}
	if len(edges) == 0 {
		return []string{}, nil
	}
	if err := tx.db.CreateInBatches(edges, idsPerQuery).Error; err != nil {
		return nil, err
	}
	return on, tx.noCycle(a)
}

// mayDepend refuses a dependency on itself and on other workspaces.
func (tx *Tx) mayDepend(a models.Assignment, id string) error {
	if id == a.ID {
		return cycleError("depends_on", []string{a.ID, a.ID})
	}
	other, err := get[models.Assignment](tx.db, "assignment", id)
	if err == nil && other.WorkspaceID != a.WorkspaceID {
		err = models.Invalid("depends_on", "assignment %q belongs to workspace %q, not %q", id, other.WorkspaceID, a.WorkspaceID)
	}
	return err
}

// noCycle refuses edges of a workspace that lead from an assignment back to it. One
// that nothing depends on closes no cycle, and the graph need not be read.
func (tx *Tx) noCycle(a models.Assignment) error {
	if _, found, err := find[dependency](tx.db, "depends_on = ?", a.ID); err != nil || !found {
		return err
	}
	graph, err := tx.waits(a.WorkspaceID)
	if err != nil {
		return err
	}
	if path := models.FindCycle(graph, a.ID); path != nil {
		return cycleError("depends_on", path)
	}
	return nil
}

// waits is who waits for whom in a workspace: what waited for a superseded
// assignment waits for its replacement.
func (tx *Tx) waits(workspaceID string) (map[string][]string, error) {
	var edges []dependency
	err := tx.db.Raw(`SELECT d.assignment_id, d.depends_on FROM dependencies d JOIN assignments a ON a.id = d.assignment_id WHERE a.workspace_id = @space
	  UNION SELECT id AS assignment_id, superseded_by AS depends_on FROM assignments WHERE workspace_id = @space AND status = 'superseded' AND superseded_by <> ''
	  ORDER BY 1, 2`, map[string]any{"space": workspaceID}).Scan(&edges).Error
	graph := make(map[string][]string, len(edges))
	for _, e := range edges {
		graph[e.AssignmentID] = append(graph[e.AssignmentID], e.DependsOn)
	}
	return graph, err
}

// mayReplace refuses a replacement that itself waits for what it shall replace.
func (tx *Tx) mayReplace(a, by models.Assignment) error {
	if by.Status == models.AssignmentAccepted {
		return nil // it waits for nothing any more
	}
	graph, err := tx.waits(a.WorkspaceID)
	if err != nil {
		return err
	}
	graph[a.ID] = []string{by.ID}
	if path := models.FindCycle(graph, a.ID); path != nil {
		return cycleError("superseded_by", path)
	}
	return nil
}

func cycleError(field string, path []string) error {
	return models.Errorf(models.CodeDependencyCycle, "%s: the dependencies form a cycle: %s", field, strings.Join(path, " → ")).With("path", path)
}

// blockers finds what assignments still wait for, by the condition on the waiting
// ones: each dependency that is not accepted, with its replacement in place of one
// that was superseded.
const blockers = `WITH RECURSIVE heirs (assignment_id, depends_on, at) AS (
    SELECT d.assignment_id, d.depends_on, b.superseded_by FROM dependencies d JOIN assignments a ON a.id = d.assignment_id
      JOIN assignments b ON b.id = d.depends_on WHERE %[1]s AND b.status = 'superseded'
    UNION ALL SELECT h.assignment_id, h.depends_on, b.superseded_by FROM heirs h JOIN assignments b ON b.id = h.at WHERE b.status = 'superseded'
  ) SELECT d.assignment_id, d.depends_on, b.id, b.status, b.completed_at FROM dependencies d JOIN assignments a ON a.id = d.assignment_id
      JOIN assignments b ON b.id = d.depends_on WHERE %[1]s AND b.status NOT IN ('accepted','superseded')
    UNION ALL SELECT h.assignment_id, h.depends_on, b.id, b.status, b.completed_at FROM heirs h JOIN assignments b ON b.id = h.at
      WHERE b.status NOT IN ('accepted','superseded') ORDER BY 1, 3, 2`

// blocker is one assignment that another one waits for.
type blocker struct {
	AssignmentID string
	DependsOn    string // the dependency, which the blocker may have replaced
	ID           string
	Status       models.AssignmentStatus
	CompletedAt  *time.Time `gorm:"serializer:ms"`
}

func (b blocker) model() models.Blocker {
	return models.Blocker{ID: b.ID, Status: b.Status, DependsOn: b.DependsOn}
}

// findBlockers runs the query for the waiting assignments "a" that fit. Who waits
// for one in two ways gets it once.
func findBlockers(db *gorm.DB, condition string, values ...any) ([]blocker, error) {
	var rows []blocker
	err := db.Raw(fmt.Sprintf(blockers, condition), slices.Concat(values, values)...).Scan(&rows).Error
	return slices.CompactFunc(rows, func(x, y blocker) bool { return x.AssignmentID == y.AssignmentID && x.ID == y.ID }), err
}

// needDependencies refuses work that waits for other work.
func (tx *Tx) needDependencies(assignmentID string) error {
	rows, err := findBlockers(tx.db, "a.id = ?", assignmentID)
	if err != nil || len(rows) == 0 {
		return err
	}
	waits := make([]models.Blocker, len(rows))
	ids := make([]string, len(rows))
	for i, r := range rows {
		waits[i], ids[i] = r.model(), r.ID
	}
	refusal := models.Errorf(models.CodeDependencyBlocked, "assignment %q waits for %s to be accepted", assignmentID, strings.Join(ids, ", ")).With("waits_for", ids)
	if why, ended := models.EndedBlocker(assignmentID, waits); ended {
		return refusal.Hint("%s", why)
	}
	return refusal.Hint("cox assignment show %s", ids[0])
}

// wakeDependents wakes the loops of the teams whose work waited for an
// assignment, or for one that it replaced.
func (tx *Tx) wakeDependents(assignmentID string) error {
	var teams []models.Team
	err := tx.db.Raw(`WITH RECURSIVE former (id) AS (
	    SELECT id FROM assignments WHERE id = ?
	    UNION ALL SELECT a.id FROM assignments a JOIN former f ON a.superseded_by = f.id WHERE a.status = 'superseded'
	  ) SELECT DISTINCT t.id, t.workspace_id FROM dependencies d JOIN former f ON f.id = d.depends_on JOIN assignments a ON a.id = d.assignment_id
	  JOIN teams t ON t.id = a.team_id ORDER BY t.id`, assignmentID).Scan(&teams).Error
	if err != nil {
		return err
	}
	for _, t := range teams {
		if err := tx.wakeLoop(t.WorkspaceID, t.ID); err != nil {
			return err
		}
	}
	return nil
}
