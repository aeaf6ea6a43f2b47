package cli

import (
	"context"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) worktreeCommand() *urfave.Command {
	return a.group("worktree", "see and remove the worktrees of assignments",
		leaf{
			name: "list", usage: "list worktrees", example: "cox worktree list --workspace site --status ready",
			about:   "Removed ones are listed with --status removed only.",
			options: append([]*option{workspaceOption(), teamOption()}, worktreeListing().options()...), run: worktreeList,
		},
		leaf{
			name: "remove", usage: "remove the worktree of an ended assignment", argument: "ASSIGNMENT",
			example: "cox worktree remove --discard 3f2a9c0b1d4e add-search",
			about: "The worker of its node removes it. Work that is nowhere else is named and keeps it, until you\n" +
				"give up exactly that with the id that the refusal prints. A branch stays when it has commits\nthat are merged nowhere.",
			options: []*option{
				{name: "discard", usage: "give up the work that was shown under this `ID`"},
				waitOption(),
			},
			run: worktreeRemove,
		},
		leaf{
			name: "prune", usage: "remove every worktree of ended assignments that holds nothing of its own", example: "cox worktree prune --workspace site",
			about:   "It does not wait for worktree_keep. Each is looked at again before; one that holds work is kept and named.",
			options: []*option{workspaceOption(), teamOption(), waitOption()},
			run:     worktreePrune,
		},
	)
}

func waitOption() *option {
	return &option{name: "wait", kind: spanKind, fallback: "10s", usage: "wait at most `TIME` for the worker; 0 for not at all"}
}

// worktreeFilter narrows to what the options name; without any it is the whole ledger.
func (in *call) worktreeFilter() ledger.WorktreeFilter {
	return ledger.WorktreeFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team")}
}

func worktreeList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	f := in.worktreeFilter()
	if len(in.list("status")) == 0 {
		f.States = []models.WorktreeState{models.WorktreeMaking, models.WorktreeMade, models.WorktreeReady, models.WorktreeRemoving}
	}
	all, err := l.Worktrees(ctx, f)
	if err != nil {
		return err
	}
	return worktreeListing().answer(ctx, in, l, all)
}

func worktreeListing() listing[ledger.WorktreeView] {
	return listing[ledger.WorktreeView]{
		key: "worktrees", when: "changed",
		id:     func(w ledger.WorktreeView) string { return w.AssignmentID },
		at:     func(w ledger.WorktreeView) time.Time { return w.UpdatedAt },
		status: func(w ledger.WorktreeView) string { return string(w.State) },
		statuses: []string{
			string(models.WorktreeMaking), string(models.WorktreeMade), string(models.WorktreeReady),
			string(models.WorktreeRemoving), string(models.WorktreeRemoved),
		},
		text:  func(w ledger.WorktreeView) []string { return []string{w.AssignmentID, w.Title, w.Branch, w.Path} },
		table: (*printer).worktrees,
	}
}

func (p *printer) worktrees(all []ledger.WorktreeView) {
	rows := make([][]any, 0, len(all))
	for _, w := range all {
		rows = append(rows, []any{w.AssignmentID, w.AssignmentStatus, w.State, holding(w.Worktree), w.Branch, w.Path})
	}
	p.table("No worktree matches.", []string{"ASSIGNMENT", "STATUS", "WORKTREE", "HOLDS", "BRANCH", "PATH"}, rows)
}

// holding says what a worktree was last seen to hold of its own.
func holding(w models.Worktree) string {
	switch {
	case w.Dirty > 0:
		return counted(w.Dirty, "file", "files")
	case w.Reason != "":
		return w.Reason
	}
	return "-"
}

func worktreeRemove(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	w, err := l.RemoveWorktree(ctx, c, in.argument, in.text("discard"))
	if err != nil {
		return err
	}
	if w, err = in.awaitRemoval(ctx, l, w); err != nil {
		return err
	}
	if w.State == models.WorktreeReady {
		return kept(w)
	}
	return in.answer(fields{"worktree": w, "replayed": c.Replayed}, func(p *printer) { p.removal(w) })
}

// kept is the refusal of a worker that found work, or could not remove it.
func kept(w models.Worktree) error {
	if w.DirtHash == "" {
		return models.Errorf(models.CodeInternal, "the worktree %s was not removed: %s", w.Path, w.Reason).With("path", w.Path).
			Hint("settle that, then cox worktree remove %s", w.AssignmentID)
	}
	return ledger.WorktreeHolds(w)
}

func (p *printer) removal(w models.Worktree) {
	if w.State != models.WorktreeRemoved {
		p.line("Worktree %s: the worker of node %s removes it when it runs", w.Path, w.NodeID)
		return
	}
	p.line("Worktree %s is removed", w.Path)
	if w.BranchKept {
		p.line("Branch %s stays: it has commits that are merged nowhere", w.Branch)
	}
}

// removalPoll is the time between two looks at a removal.
const removalPoll = 50 * time.Millisecond

// awaitRemoval waits until a node has carried a removal out or given it up.
func (in *call) awaitRemoval(ctx context.Context, l *ledger.Ledger, w models.Worktree) (models.Worktree, error) {
	limit, again := time.NewTimer(in.span("wait")), time.NewTicker(removalPoll)
	defer limit.Stop()
	defer again.Stop()
	for w.State == models.WorktreeRemoving {
		select {
		case <-again.C:
		case <-limit.C:
			return w, nil
		case <-ctx.Done():
			return w, nil
		}
		now, found, err := l.Worktree(ctx, w.AssignmentID)
		if err != nil || !found {
			return w, err
		}
		w = now
	}
	return w, nil
}

func worktreePrune(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	out, err := l.PruneWorktrees(ctx, c, in.worktreeFilter())
	if err != nil {
		return err
	}
	removed, waiting := []models.Worktree{}, []models.Worktree{}
	for _, w := range out.Removing {
		if w, err = in.awaitRemoval(ctx, l, w); err != nil {
			return err
		}
		switch w.State {
		case models.WorktreeRemoved:
			removed = append(removed, w)
		case models.WorktreeReady:
			out.Kept = append(out.Kept, w)
		default:
			waiting = append(waiting, w)
		}
	}
	return in.answer(fields{"removed": removed, "removing": waiting, "kept": out.Kept, "replayed": c.Replayed}, func(p *printer) {
		for _, w := range append(removed, waiting...) {
			p.removal(w)
		}
		for _, w := range out.Kept {
			p.line("Worktree %s is kept: %s; look: git -C %s status", w.Path, holding(w), shellWord(w.Path))
		}
		if len(removed)+len(waiting)+len(out.Kept) == 0 {
			p.line("No worktree of an ended assignment is left.")
		}
	})
}
