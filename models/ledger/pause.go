package ledger

import (
	"context"

	"gorm.io/gorm"

	"coxswain/models"
)

// Paused is what PauseLoops did.
type Paused struct {
	Teams []models.Team `json:"teams"` // the teams of the scope, as they are now
	Live  int           `json:"live"`  // their runs that go on
}

// PauseLoops lets the loops of teams start nothing new; live work goes on. It holds
// whatever turns the loop on or off, until ResumeLoops. A loop that is paused or
// stopped already stays as it is. Errors: FORBIDDEN (people and integrators),
// NOT_FOUND (the workspace or team); SECRET_DETECTED before both.
func (l *Ledger) PauseLoops(ctx context.Context, c *Call, f StopFilter, reason string) (Paused, error) {
	in := args{"workspace_id": f.WorkspaceID, "team_id": f.TeamID, "reason": reason}
	return write(ctx, l, c, "pause_loops", in, func(tx *Tx) (Paused, error) {
		var out Paused
		if err := tx.needUnbound("pause loop", models.RoleHuman, models.RoleIntegrator); err != nil {
			return out, err
		}
		if _, err := tx.pause(f, models.PauseStarts, reason); err != nil {
			return out, err
		}
		var err error
		if out.Teams, err = tx.pausable(f); err != nil {
			return out, err
		}
		var live int64
		err = where(where(tx.db.Model(&models.Run{}), "workspace_id", f.WorkspaceID), "team_id", f.TeamID).
			Where("ended_at IS NULL AND binding_id <> ''").Count(&live).Error
		out.Live = int(live)
		return out, err
	})
}

// pausable are the active teams of a scope, which has to exist.
func (tx *Tx) pausable(f StopFilter) ([]models.Team, error) {
	if err := tx.knownScope(f); err != nil {
		return nil, err
	}
	teams := []models.Team{}
	err := where(where(tx.db, "workspace_id", f.WorkspaceID), "id", f.TeamID).Where("status = 'active'").Order("id").Find(&teams).Error
	return teams, err
}

// pause writes a pause for every team of the scope that has none as far-reaching, and
// returns their ids.
func (tx *Tx) pause(f StopFilter, kind models.PauseKind, reason string) ([]string, error) {
	teams, err := tx.pausable(f)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, t := range teams {
		if t.Pause.Stopped() || t.Pause != nil && kind == models.PauseStarts {
			continue
		}
		p := models.LoopPause{Kind: kind, By: tx.By.ActorID, At: tx.Now, Reason: reason}
		payload := map[string]any{"kind": string(kind), "reason": reason}
		if err := tx.setPause(t, &p, models.EventLoopPaused, payload); err != nil {
			return nil, err
		}
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// setPause stores a pause, or nil for none, with its event, and wakes the loop.
func (tx *Tx) setPause(t models.Team, p *models.LoopPause, event string, payload map[string]any) error {
	var text any
	if p != nil {
		encoded, err := jsonText(p)
		if err != nil {
			return err
		}
		text = encoded
	}
	_, err := tx.swap(&models.Team{}, map[string]any{"pause": text, "version": t.Version + 1, "updated_at": tx.ms()}, "id = ?", t.ID)
	if err != nil {
		return err
	}
	if _, err := tx.append(models.Event{WorkspaceID: t.WorkspaceID, TeamID: t.ID, Type: event, Payload: payload}); err != nil {
		return err
	}
	return tx.wakeLoop(t.WorkspaceID, t.ID)
}

// Resumed is what ResumeLoops and GoOn did.
type Resumed struct {
	Loops   []string              `json:"loops"`   // teams whose pause was lifted
	Off     []string              `json:"off"`     // those of the scope whose loop is off besides, so that nothing starts yet
	Runs    []models.Intervention `json:"runs"`    // stopped runs that go on
	Waiting []models.Intervention `json:"waiting"` // stopped runs that still wait for their answer
}

// ResumeLoops lifts the pauses of teams; runs that were stopped go on waiting for
// their answers. Errors: FORBIDDEN (people and integrators), NOT_FOUND.
func (l *Ledger) ResumeLoops(ctx context.Context, c *Call, f StopFilter) (Resumed, error) {
	in := args{"workspace_id": f.WorkspaceID, "team_id": f.TeamID}
	return write(ctx, l, c, "resume_loops", in, func(tx *Tx) (Resumed, error) {
		if err := tx.needUnbound("resume loop", models.RoleHuman, models.RoleIntegrator); err != nil {
			return Resumed{}, err
		}
		out, err := tx.lift(f)
		if err != nil {
			return out, err
		}
		out.Waiting, err = tx.stoppedRuns(f)
		return out, err
	})
}

// GoOn undoes Stop: it lifts the pauses of teams and answers the question of every
// run that a person stopped, so that the run goes on on the same thread. The message
// is the answer. Errors: FORBIDDEN (people only), NOT_FOUND, INVALID_ARGUMENT (a blank
// message); SECRET_DETECTED before all of them.
func (l *Ledger) GoOn(ctx context.Context, c *Call, f StopFilter, message string) (Resumed, error) {
	in := args{"workspace_id": f.WorkspaceID, "team_id": f.TeamID, "message": message}
	return write(ctx, l, c, "go_on", in, func(tx *Tx) (Resumed, error) {
		if err := tx.needUnbound("resume", models.RoleHuman); err != nil {
			return Resumed{}, err
		}
		out, err := tx.lift(f)
		if err != nil {
			return out, err
		}
		if out.Runs, err = tx.stoppedRuns(f); err != nil {
			return out, err
		}
		for _, q := range out.Runs {
			if _, err := tx.respond(q.ID, message); err != nil {
				return out, err
			}
		}
		return out, nil
	})
}

func (tx *Tx) stoppedRuns(f StopFilter) ([]models.Intervention, error) {
	rows := []models.Intervention{}
	err := where(where(tx.db, "workspace_id", f.WorkspaceID), "team_id", f.TeamID).
		Where("status = 'open' AND kind = ?", models.InterventionStopped).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// lift ends the pauses of a scope and wakes whatever they held.
func (tx *Tx) lift(f StopFilter) (Resumed, error) {
	out := Resumed{Loops: []string{}, Off: []string{}, Runs: []models.Intervention{}, Waiting: []models.Intervention{}}
	teams, err := tx.pausable(f)
	if err != nil {
		return out, err
	}
	for _, t := range teams {
		if !t.Loop.Enabled {
			out.Off = append(out.Off, t.ID)
		}
		if t.Pause == nil {
			continue
		}
		payload := map[string]any{"kind": string(t.Pause.Kind), "paused_by": t.Pause.By, "paused_at": t.Pause.At}
		if err := tx.setPause(t, nil, models.EventLoopResumed, payload); err != nil {
			return out, err
		}
		if err := tx.wakeHeld(t.ID); err != nil {
			return out, err
		}
		out.Loops = append(out.Loops, t.ID)
	}
	return out, nil
}

// wakeHeld wakes the workflows whose commands and messages a stop held.
func (tx *Tx) wakeHeld(teamID string) error {
	var cmds []models.Command
	err := tx.db.Where("team_id = ? AND state IN ('intended','unknown') AND type IN ('start_assignment','nudge_review')", teamID).Order("id").Find(&cmds).Error
	if err != nil {
		return err
	}
	for _, cmd := range cmds {
		if cmd.Type == models.CommandNudge {
			err = tx.wake(WakeNudge, NudgeWorkflow(cmd.ID), cmd.ID)
		} else {
			err = tx.wakeAssignment(cmd.AssignmentID)
		}
		if err != nil {
			return err
		}
	}
	return tx.wakeMessages("b.team_id = ?", teamID)
}

// wakeMessages wakes the senders of the undelivered messages that a condition on
// outbox "o" and binding "b" finds.
func (tx *Tx) wakeMessages(condition string, value any) error {
	var threads []string
	err := tx.db.Raw(`SELECT DISTINCT o.thread_id FROM outbox o JOIN bindings b ON b.id = o.binding_id
	  WHERE o.state IN ('pending','sending') AND `+condition+" ORDER BY o.thread_id", value).Scan(&threads).Error
	for _, id := range threads {
		if err == nil {
			err = tx.wake(WakeDelivery, DeliveryWorkflow(id), id)
		}
	}
	return err
}

// commandHeld tells whether a stop of its team holds a command back: nudges, and
// starts of runs that nothing else has ended.
func commandHeld(db *gorm.DB, cmd models.Command) (bool, error) {
	if cmd.Type != models.CommandStart && cmd.Type != models.CommandNudge {
		return false, nil
	}
	t, err := get[models.Team](db, "team", cmd.TeamID)
	if err != nil || !t.Pause.Stopped() || cmd.Type == models.CommandNudge {
		return err == nil && t.Pause.Stopped(), err
	}
	r, err := get[models.Run](db, "run", cmd.RunID)
	return r.Status == models.RunStarting, err
}

// messageHeld tells whether a stop of its team holds a message back: those of the
// integrator, and those of a run that waits for a person.
func messageHeld(db *gorm.DB, item models.OutboxItem) (bool, error) {
	b, err := get[models.Binding](db, "binding", item.BindingID)
	if err != nil {
		return false, err
	}
	t, err := get[models.Team](db, "team", b.TeamID)
	if err != nil || !t.Pause.Stopped() || b.Kind == models.BindingIntegrator {
		return err == nil && t.Pause.Stopped(), err
	}
	r, err := get[models.Run](db, "run", item.RunID)
	return r.Status.Waiting(), err
}

// MessageHeld tells whether a stop holds a message back that an attempt is about to
// send.
func (l *Ledger) MessageHeld(ctx context.Context, itemID string) (bool, error) {
	db := l.read(ctx)
	item, err := get[models.OutboxItem](db, "message", itemID)
	if err != nil {
		return false, err
	}
	return messageHeld(db, item)
}

// ToHalt lists the threads of a node in which a turn is active although its team was
// stopped: the integrator's, and those of runs that wait for a person or have handed
// off. A run whose stop was answered goes on.
func (l *Ledger) ToHalt(ctx context.Context, nodeID string) ([]models.Binding, error) {
	var stopped []models.Team
	err := l.read(ctx).Where("pause IS NOT NULL").Order("id").Find(&stopped).Error
	if err != nil {
		return nil, err
	}
	var out []models.Binding
	for _, t := range stopped {
		if !t.Pause.Stopped() {
			continue
		}
		var rows []models.Binding
		err := l.read(ctx).Where(`team_id = ? AND node_id = ? AND status = 'active' AND EXISTS (
		    SELECT 1 FROM turns t WHERE t.binding_id = bindings.id AND t.status = 'active'
		      AND (bindings.kind = 'integrator' OR NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = t.run_id AND r.status IN ('claimed','running'))))`,
			t.ID, nodeID).Order("id").Find(&rows).Error
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}
