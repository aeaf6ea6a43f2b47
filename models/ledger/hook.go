package ledger

import (
	"context"
	"strings"
	"unicode"

	"gorm.io/gorm"

	"coxswain/models"
)

// owe records that a hook has to run for a subject, unless the workspace has none
// or it is owed already.
func (tx *Tx) owe(ws models.Workspace, hook, subject string, run models.Run) error {
	if ws.Settings.HookCommand(hook) == "" {
		return nil
	}
	id := models.HookRunID(hook, subject)
	_, found, err := find[models.HookRun](tx.db, "id = ?", id)
	if err != nil || found {
		return err
	}
	return tx.insert(&models.HookRun{
		ID: id, Hook: hook, WorkspaceID: run.WorkspaceID, TeamID: run.TeamID, AssignmentID: run.AssignmentID, RunID: run.ID,
		NodeID: run.NodeID, State: models.HookOwed, CreatedAt: tx.Now,
	})
}

// oweAfterRun records, when a run is claimed, that its end owes a hook.
func (tx *Tx) oweAfterRun(ws models.Workspace, run models.Run) error {
	return tx.owe(ws, models.HookAfterRun, run.ID, run)
}

// HookWork is a hook to run with what it needs.
type HookWork struct {
	Run       models.HookRun
	Workspace models.Workspace
	Worktree  models.Worktree // zero where the assignment has none
	Command   string
}

// Folder is where the hook runs: the worktree, else the workspace's root.
func (w HookWork) Folder() string {
	if w.Worktree.State.Exists() {
		return w.Worktree.Path
	}
	return w.Workspace.RepoRoot
}

// BeginHook records that a hook begins. open is false when it ran already, is not
// owed, or the workspace has no such hook any more. One that failed runs again.
func (l *Ledger) BeginHook(ctx context.Context, id string) (w HookWork, open bool, err error) {
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		open = false
		h, found, err := find[models.HookRun](tx.db, "id = ?", id)
		if err != nil || !found || h.State == models.HookDone || h.State == models.HookSkipped {
			return err
		}
		if w.Workspace, err = get[models.Workspace](tx.db, "workspace", h.WorkspaceID); err != nil {
			return err
		}
		if w.Worktree, _, err = findWorktree(tx.db, h.AssignmentID); err != nil {
			return err
		}
		w.Command = w.Workspace.Settings.HookCommand(h.Hook)
		columns := map[string]any{"state": models.HookRunning, "attempts": h.Attempts + 1, "started_at": tx.ms()}
		if open = w.Command != ""; !open {
			columns = map[string]any{"state": models.HookSkipped, "ended_at": tx.ms()}
		}
		h.Attempts++
		w.Run = h
		_, err = tx.swap(&models.HookRun{}, columns, "id = ?", id)
		return err
	})
	return w, open, err
}

// HookEnd is how a hook ended.
type HookEnd struct {
	OK       bool
	ExitCode int    // -1 when it was killed or never began
	Output   string // cut to its end, and kept back where it looks like a secret
	Millis   int64
}

// FinishHook records how a hook ended. An end that a later attempt has overtaken
// changes nothing.
func (l *Ledger) FinishHook(ctx context.Context, h models.HookRun, e HookEnd) error {
	e.Output = HookOutput(e.Output)
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		state := models.HookFailed
		if e.OK {
			state = models.HookDone
		}
		ok, err := tx.swap(&models.HookRun{}, map[string]any{"state": state, "exit_code": e.ExitCode, "output": e.Output, "ended_at": tx.ms()},
			"id = ? AND attempts = ? AND state = 'running'", h.ID, h.Attempts)
		if err != nil || !ok {
			return err
		}
		_, err = tx.append(models.Event{
			WorkspaceID: h.WorkspaceID, TeamID: h.TeamID, AssignmentID: h.AssignmentID, RunID: h.RunID, Type: models.EventHookEnded,
			Payload: map[string]any{
				"hook": h.Hook, "state": string(state), "exit_code": e.ExitCode, "attempt": h.Attempts, "duration_ms": e.Millis, "output": e.Output,
			},
		})
		return err
	})
}

// HookOutput is the end of an output as it may be kept and shown: on clean lines, and
// kept back whole where it looks like a secret.
func HookOutput(text string) string {
	text = storable(text)
	if len(text) > models.MaxHookOutput {
		text = "…" + strings.ToValidUTF8(text[len(text)-models.MaxHookOutput:], "")
	}
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text))
	if canonical, err := jsonText(map[string]string{"output": text}); err != nil || scanSecrets([]byte(canonical)) != nil {
		return "(kept back: it looks like a secret)"
	}
	return text
}

// owedAfterRun finds the after_run hook of an ended run of an assignment.
func owedAfterRun(db *gorm.DB, assignmentID string) (models.HookRun, bool, error) {
	return find[models.HookRun](db.Order("created_at, id"), `assignment_id = ? AND hook = 'after_run' AND state IN ('owed','running')
	  AND run_id IN (SELECT id FROM runs WHERE ended_at IS NOT NULL)`, assignmentID)
}

// HookRuns lists the hooks of an assignment, the oldest first.
func (l *Ledger) HookRuns(ctx context.Context, assignmentID string) ([]models.HookRun, error) {
	out := []models.HookRun{}
	return out, l.read(ctx).Where("assignment_id = ?", assignmentID).Order("created_at, id").Find(&out).Error
}
