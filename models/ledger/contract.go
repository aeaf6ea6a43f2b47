package ledger

import (
	"slices"
	"strings"

	"coxswain/models"
)

// contractArgs are the canonical arguments that describe an assignment.
func contractArgs(n models.NewAssignment) args {
	in := args{
		"assignment_id": n.ID, "workspace_id": n.WorkspaceID, "team_id": n.TeamID, "title": n.Title, "priority": n.Priority,
		"allowed_paths": n.AllowedPaths, "acceptance_criteria": n.AcceptanceCriteria, "depends_on": n.DependsOn,
		"metadata": n.Metadata,
	}
	put(in, "worktree", n.Worktree) // left out when nil, so that older requests keep their hash
	return in
}

// contract makes the row of a ready assignment and lists everything that is wrong
// with the request but for its id, place and dependencies. The dependencies are put
// into their order.
func contract(n models.NewAssignment, ws models.Workspace) (models.Assignment, []error) {
	a := models.Assignment{
		ID: n.ID, WorkspaceID: ws.ID, TeamID: n.TeamID, Title: n.Title, Status: models.AssignmentReady,
		Priority: n.Priority, Revision: 1, AcceptanceCriteria: list(n.AcceptanceCriteria), DependsOn: ordered(n.DependsOn),
		Worktree: n.Worktree,
	}
	var wrong []error
	if n.Worktree != nil && *n.Worktree && ws.GitCommonDir == "" {
		wrong = append(wrong, models.Invalid("worktree", "workspace %q has no Git repository to make a worktree of", ws.ID).
			Hint("git -C %s init, commit, then cox workspace add %s", ws.RepoRoot, ws.RepoRoot))
	}
	if err := checkTitle(n.Title); err != nil {
		wrong = append(wrong, err)
	}
	for i, criterion := range n.AcceptanceCriteria {
		if strings.TrimSpace(criterion) == "" {
			wrong = append(wrong, models.Invalid("acceptance_criteria", "entry %d is blank", i+1).With("index", i))
		}
	}
	paths, bad := allowedPaths(n.AllowedPaths, ws.RepoRoot)
	a.AllowedPaths, wrong = paths, append(wrong, bad...)
	metadata, bad := contractMetadata(n.Metadata)
	a.Metadata = metadata
	return a, append(wrong, bad...)
}

// checkTitle refuses a title that is missing or has more than one line.
func checkTitle(title string) error {
	if strings.ContainsAny(title, "\n\v\f\r\u0085\u2028\u2029") {
		return models.Invalid("title", "must be one line").Hint("put what goes beyond one line into the description")
	}
	return required("title", title)
}

// contractMetadata is the metadata as it is stored, with its session bind.
func contractMetadata(in map[string]any) (map[string]any, []error) {
	metadata, err := object("metadata", in)
	if err != nil {
		return nil, []error{err}
	}
	if metadata, err = models.NormaliseMetadata(metadata); err != nil {
		return nil, []error{err}
	}
	refs := models.Assignment{Metadata: metadata}
	wrong := checkContextRefs(refs.ContextRefs())
	if err := checkTarget(metadata); err != nil {
		wrong = append(wrong, err)
	}
	return metadata, wrong
}

// checkTarget refuses a session bind whose target cannot be an actor's id.
func checkTarget(metadata map[string]any) error {
	bind, _ := metadata["session_bind"].(map[string]any)
	target, named := bind["target_actor_id"]
	if !named || target == nil {
		return nil
	}
	id, ok := target.(string)
	if !ok {
		return models.Invalid("metadata.session_bind.target_actor_id", "must be a text")
	}
	return models.CheckID("metadata.session_bind.target_actor_id", id)
}

// ordered are ids without repetition in their order.
func ordered(ids []string) []string {
	return append([]string{}, slices.Compact(slices.Sorted(slices.Values(ids)))...)
}
