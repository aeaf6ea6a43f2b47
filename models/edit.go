package models

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// AssignmentPatch changes an assignment's contract; nil fields keep what is
// stored.
type AssignmentPatch struct {
	Title              *string        `json:"title,omitempty"`
	Priority           *int           `json:"priority,omitempty"`
	AllowedPaths       *[]string      `json:"allowed_paths,omitempty"`
	AcceptanceCriteria *[]string      `json:"acceptance_criteria,omitempty"`
	DependsOn          *[]string      `json:"depends_on,omitempty"` // replaces all
	AddDependsOn       []string       `json:"add_depends_on,omitempty"`
	RemoveDependsOn    []string       `json:"remove_depends_on,omitempty"`
	Worktree           *bool          `json:"worktree,omitempty"`         // until the first run
	ReplaceWorktree    bool           `json:"replace_worktree,omitempty"` // Worktree is it, also when nil
	Metadata           map[string]any `json:"metadata,omitempty"`         // merged by key; a nil value removes the key
	ReplaceMetadata    bool           `json:"replace_metadata,omitempty"` // Metadata is all of it
}

// PatchTo is the patch that makes an assignment's contract exactly the given one.
func PatchTo(n NewAssignment) AssignmentPatch {
	return AssignmentPatch{
		Title: &n.Title, Priority: &n.Priority, AllowedPaths: &n.AllowedPaths, AcceptanceCriteria: &n.AcceptanceCriteria,
		DependsOn: &n.DependsOn, Worktree: n.Worktree, ReplaceWorktree: true, Metadata: n.Metadata, ReplaceMetadata: true,
	}
}

// Over lays the patch over a stored assignment. It returns INVALID_ARGUMENT when a
// dependency that is to be removed is none.
func (p AssignmentPatch) Over(a Assignment) (NewAssignment, error) {
	n := NewAssignment{
		ID: a.ID, WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, Title: a.Title, Priority: a.Priority,
		AllowedPaths: a.AllowedPaths, AcceptanceCriteria: a.AcceptanceCriteria, Worktree: a.Worktree, Metadata: p.metadata(a.Metadata),
	}
	if p.Worktree != nil || p.ReplaceWorktree {
		n.Worktree = p.Worktree
	}
	replace(&n.Title, p.Title)
	replace(&n.Priority, p.Priority)
	replace(&n.AllowedPaths, p.AllowedPaths)
	replace(&n.AcceptanceCriteria, p.AcceptanceCriteria)
	var err error
	n.DependsOn, err = p.dependsOn(a.DependsOn)
	return n, err
}

func replace[T any](into, with *T) {
	if with != nil {
		*into = *with
	}
}

func (p AssignmentPatch) metadata(stored map[string]any) map[string]any {
	if p.ReplaceMetadata {
		return p.Metadata
	}
	out := map[string]any{}
	maps.Copy(out, stored)
	for key, v := range p.Metadata {
		if out[key] = v; v == nil {
			delete(out, key)
		}
	}
	return out
}

func (p AssignmentPatch) dependsOn(stored []string) ([]string, error) {
	replace(&stored, p.DependsOn)
	for _, id := range p.RemoveDependsOn {
		if !slices.Contains(stored, id) {
			return nil, Invalid("depends_on", "the assignment does not depend on %q", id)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(stored), func(id string) bool { return slices.Contains(p.RemoveDependsOn, id) })
	return append(kept, p.AddDependsOn...), nil
}

// ChangedFields names the fields of the contract in which two assignments differ,
// in the order of the contract.
func ChangedFields(before, after Assignment) []string {
	out := []string{}
	for _, f := range []struct {
		name string
		same bool
	}{
		{"title", before.Title == after.Title},
		{"priority", before.Priority == after.Priority},
		{"allowed_paths", slices.Equal(before.AllowedPaths, after.AllowedPaths)},
		{"acceptance_criteria", slices.Equal(before.AcceptanceCriteria, after.AcceptanceCriteria)},
		{"depends_on", slices.Equal(before.DependsOn, after.DependsOn)},
		{"worktree", sameChoice(before.Worktree, after.Worktree)},
		{"metadata", len(before.Metadata)+len(after.Metadata) == 0 || reflect.DeepEqual(before.Metadata, after.Metadata)},
	} {
		if !f.same {
			out = append(out, f.name)
		}
	}
	return out
}

func sameChoice(a, b *bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// CheckEdit refuses changes to an assignment's contract that would come too late:
//
//   - an ended assignment keeps its record, nothing of it may change;
//   - while an agent works on it or its handoff waits for a decision, only the
//     priority may change, which orders starts and which no agent works by;
//   - before its first start, while it is blocked, and between a review that asks
//     for a fix and the next run, everything may change, but for where its runs work
//     once a worker has begun: its thread's folder stays.
//
// A start that is planned but has not claimed the assignment is no obstacle: the
// claim names the revision and is refused, and the loop plans anew. Error:
// INVALID_ARGUMENT.
func CheckEdit(a Assignment, changed []string) error {
	switch a.Status {
	case AssignmentNeedsFix:
		if slices.Contains(changed, "worktree") {
			return Invalid("worktree", "assignment %q has begun; where it works may not change any more", a.ID).
				With("status", string(a.Status)).Hint("cox assignment supersede --help; it replaces it by a new one")
		}
		return nil
	case AssignmentProposed, AssignmentReady, AssignmentBlocked:
		return nil
	default:
	}
	late := slices.DeleteFunc(slices.Clone(changed), func(field string) bool {
		return field == "priority" && !a.Status.Terminal()
	})
	if len(late) == 0 {
		return nil
	}
	e := Invalid(late[0], "assignment %q is %s: %s may not change any more", a.ID, a.Status, strings.Join(late, ", ")).
		With("status", string(a.Status)).With("fields", late)
	if a.Status.Terminal() {
		return e.Hint("cox assignment create --help; it makes a new one")
	}
	return e.Hint("cox review needs-fix --help; that is after its handoff, or now: cox assignment cancel --reason \"…\" %s", a.ID)
}
