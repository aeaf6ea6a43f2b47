package ledger

import (
	"context"
	"slices"

	"coxswain/models"
)

// Edited is what EditAssignment answers.
type Edited struct {
	Assignment models.Assignment `json:"assignment"`
	Changed    []string          `json:"changed"` // fields of the contract; empty when nothing was to change
}

// EditAssignment changes an assignment's contract by the rule of models.CheckEdit,
// records what changed and wakes the loop. A patch that changes nothing writes
// nothing and keeps the revision. Errors, in the order of their checks: FORBIDDEN,
// NOT_FOUND, STALE_REVISION, INVALID_ARGUMENT, DEPENDENCY_CYCLE; SECRET_DETECTED
// before all of them.
func (l *Ledger) EditAssignment(ctx context.Context, c *Call, id string, base *int, p models.AssignmentPatch) (Edited, error) {
	return write(ctx, l, c, "edit_assignment", patchArgs(id, base, p), func(tx *Tx) (Edited, error) { return tx.edit(id, base, p) })
}

// patchArgs are the canonical arguments of an edit; what it keeps is left out.
func patchArgs(id string, base *int, p models.AssignmentPatch) args {
	in := args{
		"assignment_id": id, "base_revision": base, "metadata": p.Metadata, "replace_metadata": p.ReplaceMetadata,
		"add_depends_on": p.AddDependsOn, "remove_depends_on": p.RemoveDependsOn,
	}
	put(in, "title", p.Title)
	put(in, "priority", p.Priority)
	put(in, "allowed_paths", p.AllowedPaths)
	put(in, "acceptance_criteria", p.AcceptanceCriteria)
	put(in, "depends_on", p.DependsOn)
	if p.Worktree != nil || p.ReplaceWorktree {
		in["worktree"] = p.Worktree
	}
	return in
}

func put[T any](in args, field string, v *T) {
	if v != nil {
		in[field] = *v
	}
}

func (tx *Tx) edit(id string, base *int, p models.AssignmentPatch) (Edited, error) {
	var none Edited
	if err := tx.need("edit assignment", models.RoleIntegrator, models.RoleHuman); err != nil {
		return none, err
	}
	before, err := tx.reach(id, base)
	if err != nil {
		return none, err
	}
	wanted, err := p.Over(before)
	if err != nil {
		return none, err
	}
	ws, err := get[models.Workspace](tx.db, "workspace", before.WorkspaceID)
	if err != nil {
		return none, err
	}
	after, wrong := contract(wanted, ws)
	if len(wrong) > 0 {
		return none, wrong[0]
	}
	changed := models.ChangedFields(before, after)
	if len(changed) == 0 {
		return Edited{Assignment: before, Changed: changed}, nil
	}
	if err := models.CheckEdit(before, changed); err != nil {
		return none, err
	}
	if err := tx.keepsWorktree(before, changed); err != nil {
		return none, err
	}
	after, err = tx.rewrite(before, after, changed)
	return Edited{Assignment: after, Changed: changed}, err
}

// keepsWorktree refuses to change where an assignment works once a worktree is made.
func (tx *Tx) keepsWorktree(a models.Assignment, changed []string) error {
	if !slices.Contains(changed, "worktree") {
		return nil
	}
	w, found, err := findWorktree(tx.db, a.ID)
	if err == nil && found && w.State != models.WorktreePlanned {
		err = models.Invalid("worktree", "assignment %q has the worktree %s already", a.ID, w.Path).
			Hint("cox assignment supersede --help; it replaces it by a new one")
	}
	return err
}

// rewrite stores another contract of an assignment, which has passed its checks but
// for those of its dependencies.
func (tx *Tx) rewrite(before, after models.Assignment, changed []string) (models.Assignment, error) {
	columns, err := contractColumns(after)
	if err != nil {
		return after, err
	}
	stored, err := tx.advance(before, columns)
	if err != nil {
		return after, err
	}
	if err := tx.db.Where("assignment_id = ?", before.ID).Delete(&dependency{}).Error; err != nil {
		return after, err
	}
	if stored.DependsOn, err = tx.depend(stored, after.DependsOn); err != nil {
		return after, err
	}
	e := assignmentEvent(stored, models.EventAssignmentEdited)
	e.Payload = map[string]any{"fields": changed, "before": contractFields(before, changed), "after": contractFields(stored, changed)}
	if _, err := tx.append(e); err != nil {
		return after, err
	}
	return stored, tx.wakeLoop(stored.WorkspaceID, stored.TeamID)
}

// contractColumns are the columns of a contract. What kept the former one from
// starting is forgotten; the next plan says it again.
func contractColumns(a models.Assignment) (map[string]any, error) {
	out := map[string]any{"title": a.Title, "priority": a.Priority, "worktree": a.Worktree, "deferred_reason": ""}
	for column, v := range map[string]any{"allowed_paths": a.AllowedPaths, "acceptance_criteria": a.AcceptanceCriteria, "metadata": a.Metadata} {
		text, err := jsonText(v)
		if err != nil {
			return nil, err
		}
		out[column] = text
	}
	return out, nil
}

// contractFields are the values of some fields of a contract.
func contractFields(a models.Assignment, names []string) map[string]any {
	all := map[string]any{
		"title": a.Title, "priority": a.Priority, "allowed_paths": a.AllowedPaths,
		"acceptance_criteria": a.AcceptanceCriteria, "depends_on": a.DependsOn, "worktree": a.Worktree, "metadata": a.Metadata,
	}
	out := make(map[string]any, len(names))
	for _, name := range names {
		out[name] = all[name]
	}
	return out
}
