package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"coxswain/models"
)

// MaxImport is the most assignments of one import.
const MaxImport = 5000

// ImportRequest is a whole plan.
type ImportRequest struct {
	Entries []models.NewAssignment
	Update  bool // edit assignments whose stored contract differs, where they may still be edited
	DryRun  bool // decide everything, write nothing
}

// Imported is what an import did with one entry.
type Imported struct {
	Assignment models.Assignment    `json:"assignment"`
	Outcome    models.ImportOutcome `json:"outcome"`
	Changed    []string             `json:"changed"` // fields of an updated one
}

// errRollback ends a dry run's transaction without a trace.
var errRollback = errors.New("a dry run is rolled back")

// ImportAssignments creates a plan's assignments in one transaction, all or none.
// Entries may depend on each other and on what the ledger holds. One that the ledger
// holds already with the same contract is left alone; another contract under a known
// id is refused unless Update is set. Every problem of the plan is reported at once,
// in the details of the error under "problems" ([]models.ImportProblem). The error's
// code is the problems' where they agree, else INVALID_ARGUMENT: DEPENDENCY_CYCLE,
// NOT_FOUND, SECRET_DETECTED, IDEMPOTENCY_CONFLICT (another contract), FORBIDDEN.
func (l *Ledger) ImportAssignments(ctx context.Context, c *Call, r ImportRequest) ([]Imported, error) {
	if n := len(r.Entries); n == 0 || n > MaxImport {
		return nil, models.Invalid("entries", "a plan has 1 to %d assignments, not %d", MaxImport, n)
	}
	problems, canonical, err := checkEntries(c, r)
	if err != nil {
		return nil, err
	}
	run := func(tx *Tx) ([]Imported, error) { return tx.importPlan(r, slices.Clone(problems)) }
	if !r.DryRun {
		return commit(ctx, l, full, c, "import_assignments", canonical, run)
	}
	var out []Imported
	err = l.transact(ctx, normal, c.By, func(tx *Tx) error {
		if out, err = run(tx); err != nil {
			return err
		}
		return errRollback
	})
	if errors.Is(err, errRollback) {
		err = nil
	}
	return out, err
}

// checkEntries looks for what one entry's text alone tells: sizes and secrets.
func checkEntries(c *Call, r ImportRequest) ([]models.ImportProblem, []byte, error) {
	if err := checkCallSecrets(c, []byte("{}")); err != nil {
		return nil, nil, err
	}
	var problems []models.ImportProblem
	all := make([]args, 0, len(r.Entries))
	for i, n := range r.Entries {
		in := contractArgs(n)
		all = append(all, in)
		refusals, err := checkEntry(in)
		if err != nil {
			return nil, nil, err
		}
		for _, refusal := range refusals {
			problems = append(problems, models.ProblemOf(i, n.ID, refusal))
		}
	}
	if len(problems) > 0 {
		return problems, nil, nil // refused in any case, and never recorded
	}
	canonical, err := json.Marshal(args{"entries": all, "update": r.Update})
	return nil, canonical, err
}

// checkEntry lists each field of an entry that is too large or holds a secret.
func checkEntry(in args) (refusals []*models.Error, err error) {
	for _, wrong := range limitsPassed(in) {
		refusal, ok := errors.AsType[*models.Error](wrong)
		if !ok {
			return nil, wrong
		}
		refusals = append(refusals, refusal)
	}
	text, err := json.Marshal(in)
	if err != nil {
		return append(refusals, models.Invalid("metadata", "cannot be encoded").Because(err)), nil
	}
	found, err := findSecrets(text)
	for _, secret := range found {
		refusals = append(refusals, secret.refusal())
	}
	return refusals, err
}

// planImport is one import under way.
type planImport struct {
	*Tx
	request  ImportRequest
	problems []models.ImportProblem
	index    map[string]int               // the entry of each id
	stored   map[string]models.Assignment // what the ledger holds of all ids named
	places   map[[2]string]place          // by team and workspace as named
	wanted   []models.Assignment          // by entry
	out      []Imported                   // by entry
}

type place struct {
	ws  models.Workspace
	err error
}

func (tx *Tx) importPlan(r ImportRequest, problems []models.ImportProblem) ([]Imported, error) {
	if err := tx.need("import assignments", models.RoleIntegrator, models.RoleHuman); err != nil {
		return nil, err
	}
	p := &planImport{
		Tx: tx, request: r, problems: problems, index: map[string]int{}, places: map[[2]string]place{},
		wanted: make([]models.Assignment, len(r.Entries)), out: make([]Imported, len(r.Entries)),
	}
	for _, step := range []func() error{p.load, p.judge, p.judgeDependencies, p.refuse, p.createAll, p.updateAll} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

// fail notes a refusal of one entry; an error without a code ends the import.
func (p *planImport) fail(i int, err error) error {
	refusal, ok := errors.AsType[*models.Error](err)
	if !ok {
		return err
	}
	p.problems = append(p.problems, models.ProblemOf(i, p.request.Entries[i].ID, refusal))
	return nil
}

// load reads every assignment that the plan names, as an entry or a dependency.
func (p *planImport) load() error {
	named := map[string]bool{}
	for i, n := range p.request.Entries {
		if first, twice := p.index[n.ID]; twice && n.ID != "" {
			err := models.Invalid("assignment_id", "%q is also the id of entry %d of the plan", n.ID, first+1)
			if err := p.fail(i, err); err != nil {
				return err
			}
		} else {
			p.index[n.ID] = i
		}
		named[n.ID] = true
		for _, id := range n.DependsOn {
			named[id] = true
		}
	}
	p.stored = make(map[string]models.Assignment, len(named))
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(named)), idsPerQuery) {
		var rows []models.Assignment
		if err := p.db.Where("id IN ?", ids).Find(&rows).Error; err != nil {
			return err
		}
		if err := fillDependencies(p.db, rows); err != nil {
			return err
		}
		for _, a := range rows {
			p.stored[a.ID] = a
		}
	}
	return nil
}

// judge checks every entry by itself and decides what is to be done with it.
func (p *planImport) judge() error {
	for i, n := range p.request.Entries {
		for _, wrong := range p.judgeEntry(i, n) {
			if err := p.fail(i, wrong); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeEntry makes the row of an entry and lists what is wrong with it.
func (p *planImport) judgeEntry(i int, n models.NewAssignment) []error {
	at := p.place(n)
	a, wrong := contract(n, at.ws)
	a.CreatedBy, a.CreatedAt, a.UpdatedAt = p.By.ActorID, p.Now, p.Now
	p.wanted[i], p.out[i] = a, Imported{Assignment: a, Outcome: models.ImportCreated, Changed: []string{}}
	wrong = append([]error{models.CheckID("assignment_id", n.ID), at.err}, wrong...)
	if errors.Join(wrong...) != nil {
		return wrong
	}
	wrong = []error{p.mayTouch(a)}
	if old, known := p.stored[n.ID]; known {
		wrong = append(wrong, p.compare(i, old))
	}
	return wrong
}

// place finds the workspace of an entry, each pair of names once.
func (p *planImport) place(n models.NewAssignment) place {
	key := [2]string{n.TeamID, n.WorkspaceID}
	found, known := p.places[key]
	if !known {
		found.ws, found.err = p.placeOf(n)
		p.places[key] = found
	}
	return found
}

// compare decides what becomes of an entry whose id the ledger holds already.
func (p *planImport) compare(i int, old models.Assignment) error {
	a := p.wanted[i]
	if a.TeamID != old.TeamID {
		return models.Invalid("team_id", "assignment %q belongs to team %q and cannot be moved to %q", a.ID, old.TeamID, a.TeamID)
	}
	changed := models.ChangedFields(withoutSuccessor(old), a)
	p.out[i] = Imported{Assignment: old, Outcome: models.ImportUnchanged, Changed: changed}
	if len(changed) == 0 {
		return nil
	}
	if !p.request.Update {
		return models.Errorf(models.CodeIdempotencyConflict, "assignment %q is in the ledger with another %s", a.ID, strings.Join(changed, ", ")).
			With("field", changed[0]).With("fields", changed).Hint("cox assignment import --help; with --update it changes it")
	}
	p.out[i].Outcome = models.ImportUpdated
	return models.CheckEdit(old, changed)
}

// withoutSuccessor leaves out of the metadata what superseding wrote into it.
func withoutSuccessor(a models.Assignment) models.Assignment {
	if a.SupersededBy != "" {
		a.Metadata = maps.Clone(a.Metadata)
		delete(a.Metadata, "superseded_by")
	}
	return a
}

// judgeDependencies checks what the entries wait for, and the plan for cycles.
func (p *planImport) judgeDependencies() error {
	graph, ids := map[string][]string{}, make([]string, 0, len(p.wanted))
	for _, at := range p.places {
		edges, err := p.waits(at.ws.ID)
		if err != nil {
			return err
		}
		maps.Copy(graph, edges)
	}
	for i, a := range p.wanted {
		for _, on := range a.DependsOn {
			if err := p.fail(i, p.mayWaitFor(a, on)); err != nil {
				return err
			}
		}
		if p.out[i].Outcome != models.ImportUnchanged {
			graph[a.ID] = a.DependsOn
		}
		ids = append(ids, a.ID)
	}
	for _, path := range models.FindCycles(graph, ids) {
		if err := p.fail(p.index[path[0]], cycleError("depends_on", path)); err != nil {
			return err
		}
	}
	return nil
}

// mayWaitFor refuses a dependency that neither the plan nor the ledger holds, and one
// of another workspace.
func (p *planImport) mayWaitFor(a models.Assignment, on string) error {
	other, known := p.stored[on]
	if i, planned := p.index[on]; planned {
		other, known = p.wanted[i], true
	}
	if !known {
		return models.NotFound("assignment", on).With("field", "depends_on").Hint("add it to the plan, or import it first")
	}
	if a.WorkspaceID != "" && other.WorkspaceID != "" && other.WorkspaceID != a.WorkspaceID {
		return models.Invalid("depends_on", "assignment %q belongs to workspace %q, not %q", on, other.WorkspaceID, a.WorkspaceID)
	}
	return nil
}

// refuse ends the import when anything is wrong with the plan.
func (p *planImport) refuse() error {
	if len(p.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(p.problems, func(a, b models.ImportProblem) int { return a.Entry - b.Entry })
	one := p.problems[0]
	e := models.Errorf(models.ImportCode(p.problems), "%s: %s", one.AssignmentID, one.Message)
	if n := len(p.problems); n > 1 {
		e = models.Errorf(models.ImportCode(p.problems), "the plan has %d problems; the first: %s: %s", n, one.AssignmentID, one.Message)
	}
	return e.With("problems", p.problems).Hint("%s", first(one.Next, "mend the plan and import it again; nothing was written"))
}

// createAll writes the new assignments with their edges and events, in the order of
// the plan.
func (p *planImport) createAll() error {
	rows, events, edges := []models.Assignment{}, []models.Event{}, []dependency{}
	for i, a := range p.wanted {
		if p.out[i].Outcome != models.ImportCreated {
			continue
		}
		rows = append(rows, a)
		for _, on := range a.DependsOn {
			edges = append(edges, dependency{AssignmentID: a.ID, DependsOn: on})
		}
		events = append(events, createdEvent(a))
	}
	if len(rows) == 0 {
		return nil
	}
	if err := p.db.CreateInBatches(rows, rowsPerInsert).Error; err != nil {
		return err
	}
	if err := p.appendAll(events); err != nil {
		return err
	}
	if len(edges) > 0 {
		if err := p.db.CreateInBatches(edges, idsPerQuery).Error; err != nil {
			return err
		}
	}
	return p.wakeTeams(rows)
}

// wakeTeams wakes the loop of each team of new assignments once.
func (p *planImport) wakeTeams(rows []models.Assignment) error {
	teams := map[string]string{}
	for _, a := range rows {
		teams[a.TeamID] = a.WorkspaceID
	}
	for _, team := range slices.Sorted(maps.Keys(teams)) {
		if err := p.wakeLoop(teams[team], team); err != nil {
			return err
		}
	}
	return nil
}

// updateAll edits the assignments whose contract changed. The edges of all of them go
// first, since a cycle of old and new ones is none.
func (p *planImport) updateAll() error {
	for i := range p.out {
		if p.out[i].Outcome == models.ImportUpdated {
			if err := p.db.Where("assignment_id = ?", p.wanted[i].ID).Delete(&dependency{}).Error; err != nil {
				return err
			}
		}
	}
	for i := range p.out {
		if p.out[i].Outcome != models.ImportUpdated {
			continue
		}
		stored, err := p.rewrite(p.stored[p.wanted[i].ID], p.wanted[i], p.out[i].Changed)
		if err != nil {
			return err
		}
		p.out[i].Assignment = stored
	}
	return nil
}
