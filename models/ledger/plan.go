package ledger

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"coxswain/models"
	"coxswain/models/ledger/failpoint"
)

// PlanResult is what one pass created.
type PlanResult struct {
	Commands []models.Command `json:"commands"`
	LeftOut  []models.LeftOut `json:"left_out"`
	Asks     int              `json:"asks"`
	// Refresh are the open refresh commands of the team's node; the loop carries
	// them out itself.
	Refresh []models.Command `json:"refresh"`
}

// PlanTeam runs one planning pass over a team and creates its commands. It is
// the only way by which the loop makes commands.
func (l *Ledger) PlanTeam(ctx context.Context, teamID string) (PlanResult, error) {
	return l.planTeam(ctx, teamID, func(*models.PlanInput) {})
}

// PlanOnce runs one pass that may start work although the team's loop is off: a
// person asked for it.
func (l *Ledger) PlanOnce(ctx context.Context, teamID string) (PlanResult, error) {
	return l.planTeam(ctx, teamID, func(in *models.PlanInput) { in.OnlyLive = false })
}

func (l *Ledger) planTeam(ctx context.Context, teamID string, adjust func(*models.PlanInput)) (PlanResult, error) {
	var out PlanResult
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		in, err := loadPlan(tx.db, teamID, "", tx.Now)
		if err != nil {
			return err
		}
		adjust(&in)
		plan := models.Plan(in)
		if out.Commands, err = tx.apply(in, plan); err != nil {
			return err
		}
		out.LeftOut, out.Asks = plan.LeftOut, len(plan.Asks)
		if err := tx.recordLeftOut(in, plan.LeftOut); err != nil {
			return err
		}
		if len(out.Commands) > 0 {
			failpoint.Hit(failpoint.PlanDeciding)
		}
		out.Refresh, err = openRefresh(tx.db, in.NodeID, in.Loop.AdapterKind)
		return err
	})
	passed(out.Commands)
	return out, err
}

// passed marks that commands were committed.
func passed(commands []models.Command) {
	for _, cmd := range commands {
		switch cmd.Type {
		case models.CommandNudge:
			failpoint.Hit(failpoint.NudgePlanned)
		default:
			failpoint.Hit(failpoint.PlanCommitted)
		}
	}
}

// PreviewTeam evaluates the plan of a team without changing anything.
func (l *Ledger) PreviewTeam(ctx context.Context, teamID string) (models.Planned, error) {
	in, err := loadPlan(l.read(ctx), teamID, "", l.Now())
	if err != nil {
		return models.Planned{}, err
	}
	return models.Plan(in), nil
}

// planAssignment runs a pass over one assignment inside the caller's transaction:
// after cancel, supersede and an intervention's answer. It starts nothing new.
func (tx *Tx) planAssignment(assignmentID string) error {
	a, err := get[models.Assignment](tx.db, "assignment", assignmentID)
	if err != nil {
		return err
	}
	in, err := loadPlan(tx.db, a.TeamID, assignmentID, tx.Now)
	if err != nil {
		return err
	}
	if _, err = tx.apply(in, models.Plan(in)); err != nil {
		return err
	}
	return tx.wakeLoop(a.WorkspaceID, a.TeamID)
}

// systemPrincipal is the author of what the product does by itself.
func systemPrincipal() models.Principal {
	return models.Principal{ActorID: "cox", Role: models.RoleNode}
}

// apply writes the planned commands and questions and returns the commands that
// are new.
func (tx *Tx) apply(in models.PlanInput, plan models.Planned) ([]models.Command, error) {
	var created []models.Command
	for _, cmd := range plan.Commands {
		fresh, err := tx.numbered(&cmd)
		if err == nil && fresh {
			err = tx.dispatch(in, &cmd)
			created = append(created, cmd)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, ask := range plan.Asks {
		if err := tx.ask(in, ask); err != nil {
			return nil, err
		}
	}
	return created, nil
}

// numbered gives a command its attempt. It is not fresh when the same command is
// open or done; after a failure with nothing done the attempt rises, and waits.
// A nudge rises after each attempt, since its interval has passed.
func (tx *Tx) numbered(cmd *models.Command) (fresh bool, err error) {
	var rows []models.Command
	err = tx.db.Where("type = ? AND target = ? AND cause = ?", cmd.Type, cmd.Target, cmd.Cause).
		Order("attempt DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return err == nil, err
	}
	last := rows[0]
	if last.State.Open() || last.State == models.CommandDone && cmd.Type != models.CommandNudge {
		return false, nil
	}
	cmd.Attempt = last.Attempt + 1
	cmd.ID = models.CommandID(cmd.Type, cmd.Target, cmd.Cause, cmd.Attempt)
	if last.State == models.CommandFailed && last.EndedAt != nil && cmd.Type != models.CommandStart {
		due := last.EndedAt.Add(models.BackOff(last.Attempt))
		cmd.NotBefore = &due
	}
	return true, nil
}

// dispatch writes one command with everything that belongs to its intent, and
// wakes the workflow that carries it out.
func (tx *Tx) dispatch(in models.PlanInput, cmd *models.Command) error {
	cmd.CreatedAt = tx.Now
	if cmd.EventIDs == nil {
		cmd.EventIDs = []string{}
	}
	var err error
	wake := func() error { return tx.wakeAssignment(cmd.AssignmentID) }
	switch cmd.Type {
	case models.CommandStart:
		err = tx.intendRun(in, cmd)
	case models.CommandNudge:
		err = tx.intendNudge(in, cmd)
		wake = func() error { return tx.wake(WakeNudge, NudgeWorkflow(cmd.ID), cmd.ID) }
	case models.CommandResume, models.CommandInterrupt:
		err = tx.bindCommand(cmd)
	case models.CommandRefresh:
		wake = func() error { return nil } // the loop that planned it carries it out
	}
	if err != nil {
		return err
	}
	if err := tx.insert(cmd); err != nil {
		return err
	}
	return errors.Join(tx.journal(*cmd, models.EventCommandDispatched, "dispatched"), wake())
}

// bindCommand copies the run's binding into a command about a run.
func (tx *Tx) bindCommand(cmd *models.Command) error {
	run, err := get[models.Run](tx.db, "run", cmd.RunID)
	cmd.BindingID, cmd.NodeID = run.BindingID, run.NodeID
	return err
}

// journal appends the event of a command's step (seed 000, command journal).
func (tx *Tx) journal(cmd models.Command, event, result string) error {
	payload := map[string]any{
		"command_id": cmd.ID, "command_type": string(cmd.Type), "target": cmd.Target,
		"adapter_kind": cmd.AdapterKind, "result": result,
	}
	if len(cmd.EventIDs) > 0 {
		payload["pending_event_ids"] = cmd.EventIDs
	}
	if cmd.Error != "" {
		payload["error"] = cmd.Error
	}
	if cmd.BindingID != "" {
		b, found, err := find[models.Binding](tx.db, "id = ?", cmd.BindingID)
		if err != nil {
			return err
		}
		if found && b.ThreadID != "" {
			payload["thread_id"] = b.ThreadID
		}
	}
	_, err := tx.append(models.Event{
		WorkspaceID: cmd.WorkspaceID, TeamID: cmd.TeamID, AssignmentID: cmd.AssignmentID,
		RunID: cmd.RunID, Type: event, Payload: payload,
	})
	return err
}

// recordLeftOut stores the reasons that are not just a full board, where they
// changed; lists show them. Who waits for nothing else any more has none.
func (tx *Tx) recordLeftOut(in models.PlanInput, left []models.LeftOut) error {
	known := make(map[string]string, len(in.Starts))
	for _, c := range in.Starts {
		known[c.ID] = c.Deferred
	}
	for _, lo := range left {
		if lo.Code == "capacity" || lo.Code == "loop_off" || lo.Code == "paused" {
			lo.Reason = ""
		}
		if known[lo.AssignmentID] == lo.Reason {
			continue
		}
		err := tx.db.Model(&models.Assignment{}).Where("id = ?", lo.AssignmentID).UpdateColumn("deferred_reason", lo.Reason).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// ask opens an intervention by the planner and lets the run wait for a person.
func (tx *Tx) ask(in models.PlanInput, a models.Ask) error {
	var open int64
	err := tx.db.Model(&models.Intervention{}).
		Where("assignment_id = ? AND run_id = ? AND kind = ? AND status = 'open'", a.AssignmentID, a.RunID, a.Kind).Count(&open).Error
	if err != nil || open > 0 {
		return err
	}
	event, err := tx.append(models.Event{
		WorkspaceID: in.WorkspaceID, TeamID: in.TeamID, AssignmentID: a.AssignmentID, RunID: a.RunID,
		Type: models.EventInterventionRequested, Payload: map[string]any{"prompt": a.Prompt, "intervention_kind": a.Kind},
	})
	if err != nil {
		return err
	}
	err = tx.insert(&models.Intervention{
		ID: event.ID, WorkspaceID: in.WorkspaceID, TeamID: in.TeamID, AssignmentID: a.AssignmentID,
		RunID: a.RunID, Kind: a.Kind, Prompt: a.Prompt, Packet: map[string]any{}, RequestedBy: event.ActorID, Status: "open", CreatedAt: tx.Now,
	})
	if err != nil || a.Kind == models.AskReviewIgnored || a.RunID == "" {
		return err
	}
	return tx.awaitHuman(a.RunID, a.AssignmentID)
}

// awaitHuman moves a live run and its assignment into awaiting_human.
func (tx *Tx) awaitHuman(runID, assignmentID string) error {
	return tx.await(runID, assignmentID, models.RunAwaitingHuman, models.AssignmentAwaitingHuman)
}

// await moves a live run and its assignment into one of the waiting statuses.
func (tx *Tx) await(runID, assignmentID string, run models.RunStatus, assignment models.AssignmentStatus) error {
	if _, err := tx.swap(&models.Run{}, map[string]any{"status": run, "updated_at": tx.ms()},
		"id = ? AND status IN ('claimed','running')", runID); err != nil {
		return err
	}
	if _, err := tx.swap(&models.Assignment{}, map[string]any{"status": assignment, "updated_at": tx.ms()},
		"id = ? AND active_run_id = ? AND status IN ('claimed','running')", assignmentID, runID); err != nil {
		return err
	}
	return tx.wakeAssignment(assignmentID)
}

func openRefresh(db *gorm.DB, nodeID, adapterKind string) ([]models.Command, error) {
	var out []models.Command
	err := db.Where("type = 'refresh_capabilities' AND target = ? AND adapter_kind = ? AND state IN ('intended','unknown')", nodeID, adapterKind).
		Order("created_at, id").Find(&out).Error
	return out, err
}
