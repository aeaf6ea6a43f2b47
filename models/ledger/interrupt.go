package ledger

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"coxswain/models"
)

// InterruptRun stops the turn of a run for a person and lets the run wait for
// one: run and assignment become awaiting_human, an open question says who
// stopped it and why, and the command that ends the turn is planned at once.
// Answering the question resumes the same thread. The question is returned.
// Errors, in the order of their checks: FORBIDDEN (people only), NOT_FOUND,
// INVALID_ARGUMENT (the run is over, starting, stopped already, at rest, or no
// node manages it); SECRET_DETECTED before all of them.
func (l *Ledger) InterruptRun(ctx context.Context, c *Call, runID, reason string) (models.Intervention, error) {
	in := args{"run_id": runID, "reason": reason}
	return write(ctx, l, c, "interrupt_run", in, func(tx *Tx) (models.Intervention, error) {
		if err := tx.needUnbound("interrupt run", models.RoleHuman); err != nil {
			return models.Intervention{}, err
		}
		r, err := get[models.Run](tx.db, "run", runID)
		if err != nil {
			return models.Intervention{}, err
		}
		if err := tx.stoppable(r); err != nil {
			return models.Intervention{}, err
		}
		return tx.stopRun(r, reason)
	})
}

// stoppable refuses runs in which a stop would change nothing.
func (tx *Tx) stoppable(r models.Run) error {
	if !managed(r) {
		return models.Invalid("run_id", "no node manages run %q, so its agent cannot be stopped from here", r.ID).
			Hint("cox assignment cancel --reason \"…\" %s", r.AssignmentID)
	}
	if r.Status == models.RunStarting {
		return models.Invalid("run_id", "run %q is only starting", r.ID).With("status", string(r.Status)).
			Hint("try again in a moment; or cox assignment cancel --reason \"…\" %s", r.AssignmentID)
	}
	if _, err := tx.activeFor(r); err != nil {
		return err
	}
	open, err := tx.openInterventions("run_id = ?", r.ID)
	if err != nil || len(open) == 0 {
		return err
	}
	busy, err := tx.works(r)
	if err == nil && (!busy || open[0].Kind == models.InterventionStopped) {
		err = models.Invalid("run_id", "run %q waits for an answer already", r.ID).With("intervention_id", open[0].ID).
			Hint("cox intervention respond --response \"…\" %s", open[0].ID)
	}
	return err
}

// works tells whether a turn of the run is active or may begin by a message that
// is on its way.
func (tx *Tx) works(r models.Run) (bool, error) {
	_, active, err := find[models.Turn](tx.db, "run_id = ? AND status = 'active'", r.ID)
	if err != nil || active {
		return active, err
	}
	_, sending, err := find[models.OutboxItem](tx.db, "run_id = ? AND state = 'sending'", r.ID)
	return sending, err
}

// stopRun writes the stop of a live run, its question and its interrupt.
func (tx *Tx) stopRun(r models.Run, reason string) (models.Intervention, error) {
	e := runEvent(r, models.EventInterruptRequested)
	e.Payload = map[string]any{"reason": reason}
	e, err := tx.append(e)
	if err != nil {
		return models.Intervention{}, err
	}
	asked, err := tx.question(models.Intervention{
		WorkspaceID: r.WorkspaceID, TeamID: r.TeamID, AssignmentID: r.AssignmentID, RunID: r.ID,
		Kind: models.InterventionStopped, Prompt: stopPrompt(tx.By.ActorID, r.ID, reason),
		Packet: map[string]any{"reason": reason, "stopped_by": tx.By.ActorID, "interrupt_event_id": e.ID},
	})
	if err != nil {
		return models.Intervention{}, err
	}
	if err := tx.planAssignment(r.AssignmentID); err != nil {
		return models.Intervention{}, err
	}
	return get[models.Intervention](tx.db, "intervention", asked.ID)
}

func stopPrompt(by, runID, reason string) string {
	why := ""
	if reason != "" {
		why = ": " + reason
	}
	return fmt.Sprintf("%s stopped run %s%s. The answer lets it go on; say what the worker shall do next.", by, runID, why)
}

// pendingStop is a person's last stop of a run that no interrupt has carried out
// yet, "" without one.
func pendingStop(db *gorm.DB, runID string) (eventID string, err error) {
	var rows []string
	err = db.Raw(`SELECT e.id FROM events e WHERE e.run_id = ? AND e.type = ?
	  AND NOT EXISTS (SELECT 1 FROM commands c WHERE c.type = 'interrupt_run' AND c.target = e.run_id AND c.cause = e.id AND c.state = 'done')
	  ORDER BY e.sequence DESC LIMIT 1`, runID, models.EventInterruptRequested).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0], nil
}

// StopFilter says what Stop stops; zero fields do not narrow.
type StopFilter struct {
	WorkspaceID string
	TeamID      string
}

// Stopped is what Stop did.
type Stopped struct {
	Loops     []string              `json:"loops"`     // teams that were not stopped before
	Questions []models.Intervention `json:"questions"` // one for each run that was stopped
	Held      []models.Run          `json:"held"`      // runs that were only starting, and start when the stop is lifted
	Left      []LeftRunning         `json:"left"`      // runs that a stop cannot reach or had stopped before, and why
}

// LeftRunning is an open run that was not stopped.
type LeftRunning struct {
	RunID        string `json:"run_id"`
	AssignmentID string `json:"assignment_id"`
	Reason       string `json:"reason"`
	Next         string `json:"next,omitempty"`
}

// Stop makes teams silent in one transaction: nothing starts, no review is nudged,
// messages and starts that are under way are held, turns of integrators are halted by
// their node, and all runs are stopped as by InterruptRun. GoOn undoes it; a second
// stop changes nothing. Errors: FORBIDDEN (people only), NOT_FOUND (the workspace or
// team); SECRET_DETECTED before both.
func (l *Ledger) Stop(ctx context.Context, c *Call, f StopFilter, reason string) (Stopped, error) {
	in := args{"workspace_id": f.WorkspaceID, "team_id": f.TeamID, "reason": reason}
	return write(ctx, l, c, "stop", in, func(tx *Tx) (Stopped, error) {
		out := Stopped{Loops: []string{}, Questions: []models.Intervention{}, Held: []models.Run{}, Left: []LeftRunning{}}
		if err := tx.needUnbound("stop", models.RoleHuman); err != nil {
			return out, err
		}
		var err error
		if out.Loops, err = tx.pause(f, models.PauseStop, reason); err != nil {
			return out, err
		}
		err = tx.stopRuns(f, reason, &out)
		return out, err
	})
}

func (tx *Tx) knownScope(f StopFilter) error {
	if f.WorkspaceID != "" {
		if _, err := get[models.Workspace](tx.db, "workspace", f.WorkspaceID); err != nil {
			return err
		}
	}
	if f.TeamID == "" {
		return nil
	}
	_, err := get[models.Team](tx.db, "team", f.TeamID)
	return err
}

func (tx *Tx) stopRuns(f StopFilter, reason string, out *Stopped) error {
	var runs []models.Run
	err := where(where(tx.db, "workspace_id", f.WorkspaceID), "team_id", f.TeamID).
		Where("ended_at IS NULL").Order("started_at, id").Find(&runs).Error
	if err != nil {
		return err
	}
	for _, r := range runs {
		if managed(r) && r.Status == models.RunStarting {
			out.Held = append(out.Held, r)
			continue
		}
		err := tx.stoppable(r)
		if refused, ok := errors.AsType[*models.Error](err); ok && refused.Code == models.CodeInvalidArgument {
			out.Left = append(out.Left, LeftRunning{RunID: r.ID, AssignmentID: r.AssignmentID, Reason: refused.Message, Next: refused.Next})
			continue
		}
		if err != nil {
			return err
		}
		question, err := tx.stopRun(r, reason)
		if err != nil {
			return err
		}
		out.Questions = append(out.Questions, question)
	}
	return nil
}
