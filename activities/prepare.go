package activities

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"go.temporal.io/sdk/activity"

	"coxswain/activities/gitscope"
	"coxswain/activities/hook"
	"coxswain/models"
	"coxswain/models/ledger"
)

// PrepareRun readies what a start needs before its thread: the assignment's worktree,
// made or found again with its after_create hook, and the workspace's before_run hook.
// What cannot be readied fails the command; nothing was done that a later attempt
// does not find. Two attempts at once wait for one another.
func (n *Node) PrepareRun(ctx context.Context, in CommandInput) error {
	unlock, held, err := n.lockWorktree(ctx, in.CommandID)
	if err != nil {
		return failure(err)
	}
	defer unlock()
	w, open, err := n.Ledger.Start(ctx, in.CommandID)
	if err != nil || !open {
		return failure(err)
	}
	if w.Worktree.State != "" {
		err = n.readyWorktree(ctx, w, held)
	}
	if err == nil {
		err = n.mustHook(ctx, models.HookRunID(models.HookBeforeRun, w.Run.ID))
	}
	if err == nil && w.Worktree.State != "" {
		err = n.recordReady(ctx, w)
	}
	if err == nil || retryable(models.CodeOf(err)) && models.CodeOf(err) != models.CodeInternal {
		return failure(err)
	}
	return n.prepareFailed(ctx, in.CommandID, err)
}

// prepareFailed records that nothing was done for a start.
func (n *Node) prepareFailed(ctx context.Context, commandID string, cause error) error {
	own := owner(ctx)
	_, open, err := n.Ledger.BeginCommand(ctx, commandID, own)
	if err != nil || !open {
		return failure(err)
	}
	_, err = n.startFailed(ctx, commandID, own, cause)
	return err
}

// lockWorktree keeps other attempts at the assignment of a command away, those of a
// killed worker's git included: it holds the lock's file until it ends.
func (n *Node) lockWorktree(ctx context.Context, commandID string) (unlock func(), held *os.File, err error) {
	cmd, err := n.Ledger.Command(ctx, commandID)
	if err != nil {
		return nil, nil, err
	}
	return n.lockAssignment(ctx, cmd.AssignmentID)
}

func (n *Node) lockAssignment(ctx context.Context, assignmentID string) (unlock func(), held *os.File, err error) {
	dir := filepath.Join(n.Config.StateDir, "worktree-locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, models.Errorf(models.CodeInternal, "%s cannot be made", dir).Because(err)
	}
	return lockFile(ctx, filepath.Join(dir, models.SafeName(assignmentID)))
}

// readyWorktree brings an assignment's worktree to the state in which its after_create
// hook has succeeded.
func (n *Node) readyWorktree(ctx context.Context, w ledger.Work, held *os.File) error {
	repo, err := n.repository(ctx, w)
	if err != nil {
		return err
	}
	tree := w.Worktree
	if tree.State.Exists() {
		if tree, err = n.findAgain(ctx, repo, tree); err != nil {
			return err
		}
	}
	if tree.State == models.WorktreePlanned {
		if tree, err = n.beginWorktree(ctx, repo, w); err != nil {
			return err
		}
	}
	if tree.State == models.WorktreeMaking {
		if err := n.finishWorktree(ctx, repo, tree, w.Run.ID, held); err != nil {
			return err
		}
	}
	return n.mustHook(ctx, ledger.AfterCreateID(tree))
}

// repository opens the workspace's repository and refuses what a worktree cannot hold.
func (n *Node) repository(ctx context.Context, w ledger.Work) (gitscope.Repo, error) {
	if w.Workspace.GitCommonDir == "" {
		return gitscope.Repo{}, models.Invalid("worktree", "workspace %q has no Git repository to make a worktree of", w.Workspace.ID).
			Hint("git -C %s init, commit, then cox workspace add %s", w.Workspace.RepoRoot, w.Workspace.RepoRoot)
	}
	repo, err := gitscope.Open(w.Workspace.RepoRoot, w.Workspace.GitCommonDir)
	if err != nil || w.Worktree.State != models.WorktreePlanned {
		return repo, err
	}
	head, _, err := repo.Head(ctx)
	if err != nil {
		return repo, err
	}
	if head == "" {
		return repo, models.Invalid("worktree", "the repository at %s has no commit to begin a branch at", repo.Root).Hint("commit something first")
	}
	inside, err := repo.Submodules(ctx, head, w.Assignment.AllowedPaths)
	if err == nil && len(inside) > 0 {
		err = models.Invalid("worktree", "the allowed paths reach into the submodule %s, which a worktree leaves empty", inside[0]).
			With("submodules", inside).Hint("name other paths, or cox assignment edit --no-worktree %s", w.Assignment.ID)
	}
	return repo, err
}

// gitWorktree is the worktree as gitscope knows it.
func (n *Node) gitWorktree(w models.Worktree) gitscope.Worktree {
	return gitscope.Worktree{Root: w.Root, Path: w.Path, Branch: w.Branch, Base: w.BaseCommit, Mark: w.Mark(n.Ledger.Prefix())}
}

// findAgain looks whether a worktree of the ledger still stands. One that somebody
// removed is made anew, from its branch where that is left.
func (n *Node) findAgain(ctx context.Context, repo gitscope.Repo, w models.Worktree) (models.Worktree, error) {
	if err := os.MkdirAll(w.Root, 0o700); err != nil {
		return w, models.Errorf(models.CodeInternal, "%s cannot be made", w.Root).Because(err)
	}
	s, err := repo.LookAtWorktree(ctx, n.gitWorktree(w))
	if err != nil || s.Whole {
		return w, err
	}
	if s.OnDisk && s.Entry != "" {
		return w, models.Invalid("worktree", "%s has lost its link to the repository", w.Path).
			Hint("git -C %s worktree repair %s", repo.Root, w.Path)
	}
	if err := repo.RemoveWorktree(ctx, n.gitWorktree(w)); err != nil { // what is left of its entry
		return w, err
	}
	if err := n.Ledger.WorktreeLost(ctx, w); err != nil {
		return w, err
	}
	n.Log.Warn("a worktree is gone and is made anew", "assignment", w.AssignmentID, "path", w.Path)
	w.State, w.Generation = models.WorktreeMaking, w.Generation+1
	return w, nil
}

// beginWorktree chooses the place of a worktree and sees that it is free, before the
// ledger says that what stands there is ours.
func (n *Node) beginWorktree(ctx context.Context, repo gitscope.Repo, w ledger.Work) (models.Worktree, error) {
	out := w.Worktree
	root, err := n.worktreeRoot(w.Workspace)
	if err != nil {
		return out, err
	}
	out.Root = root
	out.Path, out.Branch = models.WorktreePlace(root, w.Workspace.Settings.BranchPrefix, w.Workspace.ID, w.Assignment.ID)
	if out.BaseCommit, _, err = repo.Head(ctx); err != nil {
		return out, err
	}
	s, err := repo.LookAtWorktree(ctx, n.gitWorktree(out))
	if err != nil {
		return out, err
	}
	switch {
	case s.OnDisk || s.Foreign != "":
		return out, models.Invalid("worktree", "%s exists already and is not a worktree of this assignment", out.Path).
			With("path", out.Path).Hint("look into %s, then move it away; the next attempt makes it anew", out.Path)
	case s.Tip != "":
		return out, models.Invalid("worktree", "branch %s exists already and was not made for this assignment", out.Branch).
			With("branch", out.Branch).Hint("git -C %s branch -m %s another-name, or cox workspace set branch_prefix=…", repo.Root, out.Branch)
	}
	if err := n.Ledger.BeginWorktree(ctx, out); err != nil {
		return out, err
	}
	out.State = models.WorktreeMaking
	return out, nil
}

// worktreeRoot is the folder above all worktrees, canonical, made when it is missing.
func (n *Node) worktreeRoot(w models.Workspace) (string, error) {
	root := n.Config.worktreeRoot(w)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", models.Invalid("worktree_root", "%s cannot be made", root).Because(err)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", models.Invalid("worktree_root", "%s cannot be resolved", root).Because(err)
	}
	for _, inside := range []string{w.RepoRoot, w.GitCommonDir} {
		if rel, err := filepath.Rel(inside, real); err == nil && filepath.IsLocal(rel) {
			return "", models.Invalid("worktree_root", "%s lies inside the repository %s", real, inside).Hint("cox workspace set worktree_root=…; name a folder outside")
		}
	}
	return real, nil
}

// finishWorktree makes a worktree, or takes over what an attempt that was cut off had
// finished. Before this nobody worked in it.
func (n *Node) finishWorktree(ctx context.Context, repo gitscope.Repo, w models.Worktree, runID string, held *os.File) error {
	tree := n.gitWorktree(w)
	s, err := repo.LookAtWorktree(ctx, tree)
	if err != nil {
		return err
	}
	if s.Tip != "" && s.Tip != w.BaseCommit && w.Generation == 1 {
		return models.Invalid("worktree", "branch %s was made by somebody else meanwhile", w.Branch).
			With("branch", w.Branch).Hint("git -C %s branch -m %s another-name", repo.Root, w.Branch)
	}
	if !s.Whole {
		if err := repo.AddWorktree(ctx, tree, held); err != nil {
			return err
		}
	}
	return n.Ledger.WorktreeMade(ctx, w, runID)
}

// recordReady says that the worktree, as the ledger has it now, is ready for the run.
func (n *Node) recordReady(ctx context.Context, w ledger.Work) error {
	tree, found, err := n.Ledger.Worktree(ctx, w.Assignment.ID)
	if err != nil || !found {
		return err
	}
	return n.Ledger.WorktreeReady(ctx, tree, w.Run.ID)
}

// mustHook runs a hook whose failure fails the start.
func (n *Node) mustHook(ctx context.Context, id string) error {
	name, out, ran, err := n.runHook(ctx, id)
	if err != nil || !ran || out.OK() {
		return err
	}
	return models.Errorf(models.CodeInvalidArgument, "the hook %s %s: %s", name, out.Summary(), lastLine(out.Output)).
		With("hook", name).Hint("cox workspace show; it prints the command")
}

// HookInput names a hook that is owed.
type HookInput struct {
	ID string `json:"hook_run_id"`
}

// RunHook runs a hook whose failure is recorded and changes nothing.
func (n *Node) RunHook(ctx context.Context, in HookInput) error {
	name, out, ran, err := n.runHook(ctx, in.ID)
	if err == nil && ran && !out.OK() {
		n.Log.Warn("a hook failed", "hook", name, "id", in.ID, "outcome", out.Summary(), "output", lastLine(out.Output))
	}
	return failure(err)
}

// runHook runs a hook that is owed and records its end; ran is false when nothing is
// owed. A hook whose end was not recorded runs again. A worker that stops gives it up.
func (n *Node) runHook(ctx context.Context, id string) (name string, out hook.Outcome, ran bool, err error) {
	w, open, err := n.Ledger.BeginHook(ctx, id)
	if err != nil || !open {
		return "", out, false, err
	}
	ctx, cancel := untilWorkerStops(ctx)
	defer cancel()
	out, err = hook.Run(ctx, hook.Spec{
		Guard: []string{n.Config.Cox, "hook-guard", "--"}, Command: w.Command, Dir: w.Folder(), Env: hookEnvironment(w),
		Timeout: w.Workspace.Settings.HookTimeout.Duration(),
	})
	if err != nil {
		return w.Run.Hook, out, true, err
	}
	out.Output = ledger.HookOutput(out.Output)
	end := ledger.HookEnd{OK: out.OK(), ExitCode: out.ExitCode, Output: out.Output, Millis: out.Took.Milliseconds()}
	if out.TimedOut {
		end.Output += "\n(killed: it took longer than " + w.Workspace.Settings.HookTimeout.String() + ")"
	}
	return w.Run.Hook, out, true, n.Ledger.FinishHook(ctx, w.Run, end)
}

func hookEnvironment(w ledger.HookWork) []string {
	env := []string{
		"COX_HOOK=" + w.Run.Hook, "COX_WORKSPACE=" + w.Workspace.ID, "COX_WORKSPACE_ROOT=" + w.Workspace.RepoRoot,
		"COX_ASSIGNMENT=" + w.Run.AssignmentID, "COX_RUN=" + w.Run.RunID,
	}
	if w.Worktree.State.Exists() {
		env = append(env, "COX_WORKTREE="+w.Worktree.Path, "COX_BRANCH="+w.Worktree.Branch, "COX_BASE_COMMIT="+w.Worktree.BaseCommit)
	}
	return env
}

// untilWorkerStops ends a context when the worker of its activity does.
func untilWorkerStops(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(ctx)
	if !activity.IsActivity(ctx) {
		return out, cancel
	}
	stop := activity.GetWorkerStopChannel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-out.Done():
		}
	}()
	return out, cancel
}

// lastLine is the last line of an output that says something.
func lastLine(text string) string {
	const limit = 300
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if line == "" {
		return "it printed nothing"
	}
	return strings.ToValidUTF8(line[max(0, len(line)-limit):], "")
}
