package ledger

import (
	"context"
	"strconv"
	"strings"

	"coxswain/models"
)

// Leftover is what removing a worktree would lose, as its node saw it.
type Leftover struct {
	Files  []string
	More   int    // files that Files leaves out
	Hash   string // of all of it; "" when nothing would be lost
	Reason string // what else stands against the removal
}

func (o Leftover) columns() (map[string]any, error) {
	files, err := jsonText(list(o.Files))
	return map[string]any{
		"dirty": len(o.Files) + o.More, "files": files, "dirt_hash": o.Hash, "reason": o.Reason, "discard": "",
	}, err
}

// RecordLeftover writes what the worktree of an ended assignment holds.
func (l *Ledger) RecordLeftover(ctx context.Context, w models.Worktree, o Leftover) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		columns, err := o.columns()
		if err != nil {
			return err
		}
		return tx.setWorktree(w, w.State, columns)
	})
}

// BeginRemoval takes the worktree of an ended assignment for its removal, if it is
// due; due is false when it is not, or not any more. The before_remove hook is owed
// where somebody worked in it. A repeated call answers the same.
func (l *Ledger) BeginRemoval(ctx context.Context, assignmentID string) (w models.Worktree, due bool, err error) {
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		var a models.Assignment
		if w, a, err = tx.endedWorktree(assignmentID); err != nil {
			return err
		}
		ws, err := get[models.Workspace](tx.db, "workspace", w.WorkspaceID)
		if err != nil {
			return err
		}
		at, wanted := dueRemoval(w, a, ws.Settings)
		if due = wanted && !at.After(tx.Now); !due {
			return nil
		}
		if w.PreparedRun != "" {
			run := models.Run{ID: w.PreparedRun, AssignmentID: w.AssignmentID, WorkspaceID: w.WorkspaceID, TeamID: w.TeamID, NodeID: w.NodeID}
			if err := tx.owe(ws, models.HookBeforeRemove, worktreeSubject(w), run); err != nil {
				return err
			}
		}
		err = tx.setWorktree(w, w.State, map[string]any{"state": models.WorktreeRemoving})
		w.State = models.WorktreeRemoving
		return err
	})
	return w, due, err
}

// endedWorktree loads the worktree of an assignment that is over with no run left.
// Errors: NOT_FOUND, INVALID_ARGUMENT.
func (tx *Tx) endedWorktree(assignmentID string) (models.Worktree, models.Assignment, error) {
	a, err := get[models.Assignment](tx.db, "assignment", assignmentID)
	if err != nil {
		return models.Worktree{}, a, err
	}
	w, found, err := findWorktree(tx.db, assignmentID)
	if err == nil && (!found || w.State == models.WorktreePlanned) {
		err = models.NotFound("worktree of assignment", assignmentID)
	}
	if err != nil {
		return w, a, err
	}
	run, open, err := tx.openRun(assignmentID)
	switch {
	case err != nil:
		return w, a, err
	case open:
		return w, a, models.Invalid("assignment_id", "run %q of assignment %q works in it", run.ID, a.ID).With("run_id", run.ID).Hint("cox run show %s", run.ID)
	case !a.Status.Terminal():
		return w, a, models.Invalid("assignment_id", "assignment %q is %s and will go on in it", a.ID, a.Status).
			With("status", string(a.Status)).Hint("cox assignment cancel --reason \"…\" %s", a.ID)
	}
	return w, a, nil
}

// KeepWorktree gives up a removal: what would be lost is not what was given up, or it
// could not be removed. It is tried again when a person asks. Error: VERSION_CONFLICT.
func (l *Ledger) KeepWorktree(ctx context.Context, w models.Worktree, o Leftover) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		columns, err := o.columns()
		if err != nil {
			return err
		}
		columns["state"] = models.WorktreeReady
		if err := tx.setWorktree(w, models.WorktreeRemoving, columns); err != nil {
			return err
		}
		return tx.worktreeEvent(w, models.EventWorktreeKept, map[string]any{
			"dirty": len(o.Files) + o.More, "files": list(o.Files), "reason": o.Reason,
		})
	})
}

// WorktreeGone records that a worktree was seen to be gone, and whether its branch
// was kept. Error: VERSION_CONFLICT.
func (l *Ledger) WorktreeGone(ctx context.Context, w models.Worktree, branchKept bool) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		columns, err := Leftover{}.columns()
		if err != nil {
			return err
		}
		columns["state"], columns["branch_kept"], columns["removed_at"] = models.WorktreeRemoved, branchKept, tx.ms()
		if err := tx.setWorktree(w, models.WorktreeRemoving, columns); err != nil {
			return err
		}
		return tx.worktreeEvent(w, models.EventWorktreeRemoved, map[string]any{"branch_kept": branchKept, "discarded": w.Discard != ""})
	})
}

// RemoveWorktree asks the node to remove the worktree of an ended assignment. Work in
// it is given up only where discard names the listing that was shown: the DirtHash of
// what the node last saw. A removed one stays removed. Only a person may. Errors, in
// the order of their checks: FORBIDDEN, NOT_FOUND, INVALID_ARGUMENT with the files.
func (l *Ledger) RemoveWorktree(ctx context.Context, c *Call, assignmentID, discard string) (models.Worktree, error) {
	in := args{"assignment_id": assignmentID, "discard": discard}
	return write(ctx, l, c, "remove_worktree", in, func(tx *Tx) (models.Worktree, error) {
		if err := tx.needUnbound("remove worktree", models.RoleHuman); err != nil {
			return models.Worktree{}, err
		}
		w, _, err := tx.endedWorktree(assignmentID)
		if err != nil || w.State == models.WorktreeRemoved {
			return w, err
		}
		if err := mayDiscard(w, discard); err != nil {
			return w, err
		}
		return tx.askRemoval(w, discard)
	})
}

// mayDiscard refuses to lose work that was not named.
func mayDiscard(w models.Worktree, discard string) error {
	if discard == w.DirtHash {
		return nil
	}
	if w.DirtHash == "" {
		return models.Invalid("discard", "nothing in the worktree of %q is known that would be lost", w.AssignmentID).Hint("cox worktree remove %s", w.AssignmentID)
	}
	return WorktreeHolds(w)
}

// WorktreeHolds is the refusal to lose what a worktree was last seen to hold.
func WorktreeHolds(w models.Worktree) error {
	e := models.Invalid("discard", "the worktree %s holds work that is nowhere else: %s", w.Path, leftoverText(w)).
		With("path", w.Path).With("files", w.Files).With("dirty", w.Dirty).With("discard", w.DirtHash)
	return e.Hint("commit it there, or give it up: cox worktree remove --discard %s %s", w.DirtHash, w.AssignmentID)
}

// leftoverText says what a worktree holds in one line.
func leftoverText(w models.Worktree) string {
	const shown = 5
	text := strings.Join(w.Files[:min(len(w.Files), shown)], ", ")
	if more := w.Dirty - min(len(w.Files), shown); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	if w.Reason != "" && text != "" {
		text += "; "
	}
	return text + w.Reason
}

// askRemoval records the wish and wakes the assignment's workflow for it.
func (tx *Tx) askRemoval(w models.Worktree, discard string) (models.Worktree, error) {
	if w.State == models.WorktreeRemoving && w.Discard == discard {
		return w, nil
	}
	err := tx.setWorktree(w, w.State, map[string]any{"state": models.WorktreeRemoving, "discard": discard})
	if err != nil {
		return w, err
	}
	w.State, w.Discard, w.UpdatedAt = models.WorktreeRemoving, discard, tx.Now
	if err := tx.worktreeEvent(w, models.EventWorktreeRemoval, map[string]any{"discarded": discard != ""}); err != nil {
		return w, err
	}
	return w, tx.wakeAssignment(w.AssignmentID)
}

// Pruned is what PruneWorktrees answers.
type Pruned struct {
	Removing []models.Worktree `json:"removing"` // their nodes remove them now
	Kept     []models.Worktree `json:"kept"`     // they hold work that is nowhere else
}

// PruneWorktrees asks for the removal of every worktree of ended assignments that is
// not known to hold work; each is looked at again before. Only a person may.
func (l *Ledger) PruneWorktrees(ctx context.Context, c *Call, f WorktreeFilter) (Pruned, error) {
	in := args{"workspace_id": f.WorkspaceID, "team_id": f.TeamID}
	return write(ctx, l, c, "prune_worktrees", in, func(tx *Tx) (Pruned, error) {
		out := Pruned{Removing: []models.Worktree{}, Kept: []models.Worktree{}}
		if err := tx.needUnbound("prune worktrees", models.RoleHuman); err != nil {
			return out, err
		}
		var rows []models.Worktree
		err := where(where(tx.db, "workspace_id", f.WorkspaceID), "team_id", f.TeamID).Where(`state NOT IN ('planned','removed')
		  AND assignment_id IN (SELECT id FROM assignments WHERE status IN ('accepted','rejected','cancelled','superseded'))
		  AND assignment_id NOT IN (SELECT assignment_id FROM runs WHERE ended_at IS NULL)`).Order("assignment_id").Find(&rows).Error
		if err != nil {
			return out, err
		}
		for _, w := range rows {
			if w.DirtHash != "" {
				out.Kept = append(out.Kept, w)
				continue
			}
			if w, err = tx.askRemoval(w, ""); err != nil {
				return out, err
			}
			out.Removing = append(out.Removing, w)
		}
		return out, nil
	})
}

// keptWorktrees finds the worktrees of ended assignments that wait for a person: their
// work is nowhere else, or they could not be removed.
func (l *Ledger) keptWorktrees(ctx context.Context, f InboxFilter) ([]models.InboxEntry, error) {
	var rows []models.Worktree
	err := where(where(l.read(ctx), "workspace_id", f.WorkspaceID), "team_id", f.TeamID).Where(`state IN ('made','ready') AND (dirt_hash <> '' OR reason <> '')
	  AND assignment_id IN (SELECT id FROM assignments WHERE status IN ('accepted','rejected','cancelled','superseded'))`).
		Order("assignment_id").Find(&rows).Error
	var out []models.InboxEntry
	for _, w := range rows {
		out = append(out, models.InboxEntry{
			Kind: models.InboxAttention, Reason: models.ReasonKeptWorktree, ID: w.AssignmentID, WorkspaceID: w.WorkspaceID, TeamID: w.TeamID,
			AssignmentID: w.AssignmentID, NodeID: w.NodeID, Since: w.UpdatedAt,
			Summary: "its worktree " + w.Path + " is kept: " + leftoverText(w),
		})
	}
	return out, err
}
