package ledger

import (
	"slices"
	"strings"

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
	on = slices.Compact(slices.Sorted(slices.Values(on)))
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
		return cycleError([]string{a.ID, a.ID})
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
	var edges []dependency
	err := tx.db.Raw(`SELECT d.assignment_id, d.depends_on FROM dependencies d JOIN assignments a ON a.id = d.assignment_id
	  WHERE a.workspace_id = ? ORDER BY d.assignment_id, d.depends_on`, a.WorkspaceID).Scan(&edges).Error
	if err != nil {
		return err
	}
	graph := make(map[string][]string, len(edges))
	for _, e := range edges {
		graph[e.AssignmentID] = append(graph[e.AssignmentID], e.DependsOn)
	}
	if path := models.FindCycle(graph, a.ID); path != nil {
		return cycleError(path)
	}
	return nil
}

func cycleError(path []string) error {
	return models.Errorf(models.CodeDependencyCycle, "depends_on: the dependencies form a cycle: %s", strings.Join(path, " → ")).With("path", path)
}

// unaccepted lists the assignments that one waits for and that are not accepted.
func (tx *Tx) unaccepted(assignmentID string) ([]string, error) {
	var ids []string
	err := tx.db.Raw(`SELECT d.depends_on FROM dependencies d JOIN assignments a ON a.id = d.depends_on
	  WHERE d.assignment_id = ? AND a.status <> 'accepted' ORDER BY d.depends_on`, assignmentID).Scan(&ids).Error
	return ids, err
}

// needDependencies refuses work that waits for other work.
func (tx *Tx) needDependencies(assignmentID string) error {
	missing, err := tx.unaccepted(assignmentID)
	if err != nil || len(missing) == 0 {
		return err
	}
	return models.Errorf(models.CodeDependencyBlocked, "assignment %q waits for %s to be accepted", assignmentID, strings.Join(missing, ", ")).
		With("waits_for", missing).Hint("cox assignment show %s", missing[0])
}

// wakeDependents wakes the loops of the teams whose work waited for an
// assignment.
func (tx *Tx) wakeDependents(assignmentID string) error {
	var teams []models.Team
	err := tx.db.Raw(`SELECT DISTINCT t.id, t.workspace_id FROM dependencies d JOIN assignments a ON a.id = d.assignment_id
	  JOIN teams t ON t.id = a.team_id WHERE d.depends_on = ? ORDER BY t.id`, assignmentID).Scan(&teams).Error
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
