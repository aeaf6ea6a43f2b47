package activities

import (
	"context"
	"os"

	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
)

// RemoveWorktree removes the worktree of an ended assignment when it is due. Work in
// it that nobody gave up keeps it, and so does what cannot be removed; the ledger then
// says why, and a person may ask again.
func (n *Node) RemoveWorktree(ctx context.Context, in ScopeInput) error {
	unlock, _, err := n.lockAssignment(ctx, in.AssignmentID)
	if err != nil {
		return failure(err)
	}
	defer unlock()
	w, due, err := n.Ledger.BeginRemoval(ctx, in.AssignmentID)
	if err != nil || !due {
		return failure(err)
	}
	ws, err := n.Ledger.Workspace(ctx, w.WorkspaceID)
	if err != nil {
		return failure(err)
	}
	return failure(n.removeWorktree(ctx, ws, w))
}

func (n *Node) removeWorktree(ctx context.Context, ws models.Workspace, w models.Worktree) error {
	repo, err := gitscope.Open(ws.RepoRoot, ws.GitCommonDir)
	if err != nil {
		return n.keep(ctx, w, ledger.Leftover{}, err)
	}
	if w.PreparedRun != "" {
		left, err := n.leftover(ctx, repo, w)
		if err != nil {
			return n.keep(ctx, w, ledger.Leftover{}, err)
		}
		if left.Hash != w.Discard {
			return n.keep(ctx, w, left, nil)
		}
	}
	if err := n.RunHook(ctx, HookInput{ID: ledger.BeforeRemoveID(w)}); err != nil {
		return err
	}
	if err := repo.RemoveWorktree(ctx, n.gitWorktree(w)); err != nil {
		return n.keep(ctx, w, ledger.Leftover{}, err)
	}
	gone, err := repo.DropBranch(ctx, n.gitWorktree(w))
	if err != nil {
		n.Log.Warn("the branch of a removed worktree is kept", "branch", w.Branch, "error", err)
	}
	return n.Ledger.WorktreeGone(ctx, w, !gone)
}

// keep gives a removal up. What stopped it is recorded, but for what another attempt
// may settle.
func (n *Node) keep(ctx context.Context, w models.Worktree, left ledger.Leftover, cause error) error {
	if models.IsCode(cause, models.CodeInterrupted) {
		return cause
	}
	if cause != nil {
		left.Reason = "it cannot be removed: " + reason(cause)
		n.Log.Warn("a worktree was not removed", "assignment", w.AssignmentID, "path", w.Path, "error", cause)
	}
	return n.Ledger.KeepWorktree(ctx, w, left)
}

// leftover looks at what a worktree holds; nothing where it is gone.
func (n *Node) leftover(ctx context.Context, repo gitscope.Repo, w models.Worktree) (ledger.Leftover, error) {
	if _, err := os.Lstat(w.Path); os.IsNotExist(err) {
		return ledger.Leftover{}, nil
	}
	s, err := repo.LookAtWorktree(ctx, n.gitWorktree(w))
	if err != nil {
		return ledger.Leftover{}, err
	}
	if s.Entry == "" {
		return ledger.Leftover{}, models.Invalid("worktree", "%s is not this assignment's worktree any more", w.Path).With("path", w.Path)
	}
	tree, err := gitscope.Open(w.Path, repo.CommonDir)
	if err != nil {
		return ledger.Leftover{}, err
	}
	found, err := tree.Leftover(ctx)
	return ledger.Leftover{Files: found.Files, More: found.More, Hash: found.Hash, Reason: found.Reason}, err
}

// inspectWorktree records what the worktree of an ended assignment holds.
func (n *Node) inspectWorktree(ctx context.Context, ws models.Workspace, w models.Worktree) (ledger.Leftover, error) {
	repo, err := gitscope.Open(ws.RepoRoot, ws.GitCommonDir)
	if err != nil {
		return ledger.Leftover{}, err
	}
	left, err := n.leftover(ctx, repo, w)
	if err != nil && models.CodeOf(err) != models.CodeInvalidArgument {
		return left, err
	}
	if err != nil { // a person has to look: nothing is removed by itself
		left.Reason = "it cannot be looked into: " + reason(err)
	}
	return left, n.Ledger.RecordLeftover(ctx, w, left)
}
