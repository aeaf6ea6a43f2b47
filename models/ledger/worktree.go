package ledger

import (
	"context"
	"strconv"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// WorktreeFilter narrows a list of worktrees; zero fields do not.
type WorktreeFilter struct {
	WorkspaceID string
	TeamID      string
	States      []models.WorktreeState
}

// WorktreeView is a worktree with what its assignment is.
type WorktreeView struct {
	models.Worktree
	Title            string                  `json:"title"`
	AssignmentStatus models.AssignmentStatus `json:"assignment_status"`
}

// Worktree returns the worktree of an assignment; found is false when it has none.
func (l *Ledger) Worktree(ctx context.Context, assignmentID string) (w models.Worktree, found bool, err error) {
	return findWorktree(l.read(ctx), assignmentID)
}

func findWorktree(db *gorm.DB, assignmentID string) (models.Worktree, bool, error) {
	return find[models.Worktree](db, "assignment_id = ?", assignmentID)
}

// Worktrees lists worktrees by workspace and assignment, without those that were
// never begun.
func (l *Ledger) Worktrees(ctx context.Context, f WorktreeFilter) ([]WorktreeView, error) {
	q := l.read(ctx).Table("worktrees AS w").Select("w.*, a.title AS title, a.status AS assignment_status").
		Joins("JOIN assignments a ON a.id = w.assignment_id").Where("w.state <> 'planned'")
	q = where(where(q, "w.workspace_id", f.WorkspaceID), "w.team_id", f.TeamID)
	if len(f.States) > 0 {
		q = q.Where("w.state IN ?", f.States)
	}
	out := []WorktreeView{}
	return out, q.Order("w.workspace_id, w.assignment_id").Find(&out).Error
}

// oweStart records what a new run owes before its thread: the before_run hook, and a
// worktree where it shall work in one.
func (tx *Tx) oweStart(run models.Run) error {
	a, err := get[models.Assignment](tx.db, "assignment", run.AssignmentID)
	if err != nil {
		return err
	}
	ws, err := get[models.Workspace](tx.db, "workspace", run.WorkspaceID)
	if err != nil {
		return err
	}
	if err := tx.owe(ws, models.HookBeforeRun, run.ID, run); err != nil {
		return err
	}
	return tx.wantWorktree(a, ws, run)
}

// wantWorktree records at the start of an assignment's first run whether its runs
// work in a worktree: as the assignment says, else as its workspace does, as far as
// that has Git. Later runs keep to it, since their thread's folder is that of the first
// one.
func (tx *Tx) wantWorktree(a models.Assignment, ws models.Workspace, run models.Run) error {
	wanted := ws.Settings.Worktree == models.SettingOn && ws.GitCommonDir != ""
	if a.Worktree != nil {
		wanted = *a.Worktree
	}
	old, found, err := findWorktree(tx.db, a.ID)
	if err != nil {
		return err
	}
	if found && !wanted && old.State == models.WorktreePlanned {
		return tx.db.Delete(&models.Worktree{}, "assignment_id = ?", a.ID).Error
	}
	if found {
		return tx.moveWorktree(old, run)
	}
	_, began, err := find[models.Run](tx.db, "assignment_id = ? AND session_ref <> ''", a.ID)
	if err != nil || began || !wanted {
		return err
	}
	return tx.insert(&models.Worktree{
		AssignmentID: a.ID, WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, NodeID: run.NodeID, Generation: 1, State: models.WorktreePlanned,
		Files: []string{}, CreatedAt: tx.Now, UpdatedAt: tx.Now,
	})
}

// moveWorktree begins a worktree anew on another node: its files are on the old one.
func (tx *Tx) moveWorktree(w models.Worktree, run models.Run) error {
	if w.NodeID == run.NodeID {
		return nil
	}
	return tx.setWorktree(w, w.State, map[string]any{
		"node_id": run.NodeID, "state": models.WorktreePlanned, "generation": w.Generation + 1, "root": "", "path": "", "branch": "",
		"base_commit": "", "prepared_run": "",
	})
}

// errWorktreeMoved is what a late report about a worktree gets.
func errWorktreeMoved(id string) error {
	return models.Errorf(models.CodeVersionConflict, "the worktree of %q changed meanwhile", id).Hint("cox worktree list")
}

// setWorktree changes a worktree that is still of the generation and state that the
// caller saw. Error: VERSION_CONFLICT.
func (tx *Tx) setWorktree(w models.Worktree, from models.WorktreeState, columns map[string]any) error {
	columns["updated_at"] = tx.ms()
	ok, err := tx.swap(&models.Worktree{}, columns, "assignment_id = ? AND generation = ? AND state = ?", w.AssignmentID, w.Generation, from)
	if err == nil && !ok {
		err = errWorktreeMoved(w.AssignmentID)
	}
	return err
}

// worktreeEvent records what happened to a worktree.
func (tx *Tx) worktreeEvent(w models.Worktree, kind string, payload map[string]any) error {
	if payload == nil {
		payload = map[string]any{}
	}
	payload["path"], payload["branch"], payload["generation"] = w.Path, w.Branch, w.Generation
	_, err := tx.append(models.Event{
		WorkspaceID: w.WorkspaceID, TeamID: w.TeamID, AssignmentID: w.AssignmentID, Type: kind, Payload: payload,
	})
	return err
}

// BeginWorktree records the place of a planned worktree, which was just seen to be
// free: from here on what stands there is its own. Error: VERSION_CONFLICT.
func (l *Ledger) BeginWorktree(ctx context.Context, w models.Worktree) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		return tx.setWorktree(w, models.WorktreePlanned, map[string]any{
			"state": models.WorktreeMaking, "root": w.Root, "path": w.Path, "branch": w.Branch, "base_commit": w.BaseCommit,
		})
	})
}

// WorktreeMade records that a worktree is checked out, and that its after_create
// hook is owed. Error: VERSION_CONFLICT.
func (l *Ledger) WorktreeMade(ctx context.Context, w models.Worktree, runID string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		ws, err := get[models.Workspace](tx.db, "workspace", w.WorkspaceID)
		if err != nil {
			return err
		}
		if err := tx.setWorktree(w, models.WorktreeMaking, map[string]any{"state": models.WorktreeMade}); err != nil {
			return err
		}
		run := models.Run{ID: runID, AssignmentID: w.AssignmentID, WorkspaceID: w.WorkspaceID, TeamID: w.TeamID, NodeID: w.NodeID}
		if err := tx.owe(ws, models.HookAfterCreate, worktreeSubject(w), run); err != nil {
			return err
		}
		return tx.worktreeEvent(w, models.EventWorktreeCreated, map[string]any{"base_commit": w.BaseCommit})
	})
}

// worktreeSubject names one making of a worktree.
func worktreeSubject(w models.Worktree) string {
	return w.AssignmentID + ":" + strconv.Itoa(w.Generation)
}

// AfterCreateID is the id of the hook that a worktree owes once it is made.
func AfterCreateID(w models.Worktree) string {
	return models.HookRunID(models.HookAfterCreate, worktreeSubject(w))
}

// BeforeRemoveID is the id of the hook that a worktree owes before it is removed.
func BeforeRemoveID(w models.Worktree) string {
	return models.HookRunID(models.HookBeforeRemove, worktreeSubject(w))
}

// WorktreeLost records that a worktree was found gone, so that it is made anew under
// the next generation. Error: VERSION_CONFLICT.
func (l *Ledger) WorktreeLost(ctx context.Context, w models.Worktree) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		if err := tx.setWorktree(w, w.State, map[string]any{"state": models.WorktreeMaking, "generation": w.Generation + 1}); err != nil {
			return err
		}
		return tx.worktreeEvent(w, models.EventWorktreeLost, nil)
	})
}

// WorktreeReady records that a worktree is ready for a run. Error: VERSION_CONFLICT.
func (l *Ledger) WorktreeReady(ctx context.Context, w models.Worktree, runID string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		return tx.setWorktree(w, w.State, map[string]any{"state": models.WorktreeReady, "prepared_run": runID})
	})
}

// needsPreparing tells whether a start has to be readied before its thread is: its
// worktree, or its before_run hook.
func needsPreparing(db *gorm.DB, cmd models.Command) (bool, error) {
	if cmd.Type != models.CommandStart {
		return false, nil
	}
	w, found, err := findWorktree(db, cmd.AssignmentID)
	if err != nil || found && w.PreparedRun != cmd.RunID {
		return err == nil, err
	}
	h, found, err := find[models.HookRun](db, "id = ?", models.HookRunID(models.HookBeforeRun, cmd.RunID))
	return found && !h.State.Ended(), err
}

// dueRemoval tells whether the worktree of an ended assignment is to be removed now,
// or when: what a person asked for and what was never worked in at once, a clean one
// after the workspace's worktree_keep. One that holds work waits for a person.
func dueRemoval(w models.Worktree, a models.Assignment, s models.WorkspaceSettings) (at time.Time, due bool) {
	switch w.State {
	case models.WorktreeRemoving:
		return w.UpdatedAt, true
	case models.WorktreeMaking:
		return a.UpdatedAt, true
	case models.WorktreeMade, models.WorktreeReady:
		if a.CompletedAt == nil || w.DirtHash != "" || w.Reason != "" {
			return time.Time{}, false
		}
		return a.CompletedAt.Add(s.WorktreeKeep.Duration()), true
	case models.WorktreePlanned, models.WorktreeRemoved:
	}
	return time.Time{}, false
}

// removalStep adds the removal of an ended assignment's worktree to its step.
func (l *Ledger) removalStep(ctx context.Context, a models.Assignment, step *AssignmentStep) (waits bool, err error) {
	w, found, err := l.Worktree(ctx, a.ID)
	if err != nil || !found {
		return false, err
	}
	ws, err := l.Workspace(ctx, a.WorkspaceID)
	if err != nil {
		return false, err
	}
	at, due := dueRemoval(w, a, ws.Settings)
	if !due {
		return false, nil
	}
	step.NodeID = w.NodeID
	if at.After(l.Now()) {
		step.WakeAt = &at
	} else {
		step.Remove = true
	}
	return true, nil
}
