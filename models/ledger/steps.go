package ledger

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// Card is what the Web UI shows of a workflow: ids, states and counts only.
type Card struct {
	WorkspaceID  string
	TeamID       string
	AssignmentID string
	ActorID      string
	Status       string
	Text         string // Markdown
}

// AssignmentStep is what an assignment's workflow shall do next.
type AssignmentStep struct {
	Card    Card
	NodeID  string          // the node that carries the command out
	Command *models.Command // nil: nothing to carry out now
	WakeAt  *time.Time      // when a command becomes due; nil: wait for a wake-up
	Prepare bool            // the command is a start that has to be readied before its thread
	HookID  string          // the after_run hook that an ended run owes
	Done    bool            // nothing can happen any more
	Dirty   bool            // ended, and the scope has not been looked at yet
	Remove  bool            // ended, and the worktree is to be removed
}

// NextAssignmentStep reads what the assignment's workflow shall do. Interrupts go
// first. It changes nothing.
func (l *Ledger) NextAssignmentStep(ctx context.Context, assignmentID string) (AssignmentStep, error) {
	db := l.read(ctx)
	a, err := get[models.Assignment](db, "assignment", assignmentID)
	if err != nil {
		return AssignmentStep{}, err
	}
	var cmds []models.Command
	err = db.Where("assignment_id = ? AND state IN ('intended','unknown') AND type IN ('start_assignment','resume_assignment','interrupt_run')", assignmentID).
		Order("CASE type WHEN 'interrupt_run' THEN 0 ELSE 1 END, created_at, id").Find(&cmds).Error
	if err != nil {
		return AssignmentStep{}, err
	}
	var runs []models.Run
	if err := db.Where("assignment_id = ?", assignmentID).Order("attempt DESC").Find(&runs).Error; err != nil {
		return AssignmentStep{}, err
	}
	step := AssignmentStep{Card: assignmentCard(a, runs, cmds)}
	if len(cmds) == 0 || cmds[0].Type != models.CommandInterrupt {
		hook, owed, err := owedAfterRun(db, assignmentID)
		if err != nil || owed {
			step.HookID, step.NodeID = hook.ID, hook.NodeID
			return step, err
		}
	}
	if err := step.take(db, cmds, l.Now()); err != nil || step.Command != nil {
		return step, err
	}
	open := len(runs) > 0 && runs[0].EndedAt == nil && runs[0].BindingID != ""
	if !a.Status.Terminal() || open || len(cmds) > 0 {
		return step, nil
	}
	return l.lastStep(ctx, a, runs, step)
}

// take chooses the first command that is due and not held; without one it notes when
// the next becomes due. A stop that holds one wakes the workflow when it is lifted.
func (s *AssignmentStep) take(db *gorm.DB, cmds []models.Command, now time.Time) error {
	for i := range cmds {
		held, err := commandHeld(db, cmds[i])
		switch due := cmds[i].NotBefore; {
		case err != nil:
			return err
		case held:
		case due != nil && due.After(now):
			if s.WakeAt == nil || due.Before(*s.WakeAt) {
				s.WakeAt = due
			}
		default:
			s.Command, s.NodeID = &cmds[i], cmds[i].NodeID
			s.Prepare, err = needsPreparing(db, cmds[i])
			return err
		}
	}
	return nil
}

// lastStep finishes an ended assignment: its scope is looked at once, its worktree
// removed where nothing speaks against it, then nothing is left to do.
func (l *Ledger) lastStep(ctx context.Context, a models.Assignment, runs []models.Run, step AssignmentStep) (AssignmentStep, error) {
	if len(runs) > 0 && runs[0].NodeID != "" {
		var n int64
		err := l.read(ctx).Model(&models.Event{}).Where("assignment_id = ? AND type = ?", a.ID, models.EventScopeDirty).Count(&n).Error
		if err != nil {
			return step, err
		}
		if n == 0 {
			step.Dirty, step.NodeID = true, runs[0].NodeID
			return step, nil
		}
	}
	waits, err := l.removalStep(ctx, a, &step)
	step.Done = !waits
	return step, err
}

func assignmentCard(a models.Assignment, runs []models.Run, open []models.Command) Card {
	c := Card{WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, AssignmentID: a.ID, ActorID: a.ClaimedBy, Status: string(a.Status)}
	c.Text = fmt.Sprintf("**Assignment** `%s` · **%s** · revision %d\n\n", a.ID, a.Status, a.Revision)
	for _, r := range runs {
		c.Text += fmt.Sprintf("- run `%s` attempt %d: **%s**, thread `%s`, %d tokens\n", r.ID, r.Attempt, r.Status, orDash(r.SessionRef), r.Tokens.Total)
	}
	for _, cmd := range open {
		c.Text += fmt.Sprintf("- command `%s`: %s\n", cmd.ID, cmd.State)
	}
	if c.ActorID == "" && len(runs) > 0 {
		c.ActorID = runs[0].ActorID
	}
	return c
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// RecordDirt writes what an ended assignment left uncommitted in its scope, once.
func (l *Ledger) RecordDirt(ctx context.Context, assignmentID string, files []string, more int) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		a, err := get[models.Assignment](tx.db, "assignment", assignmentID)
		if err != nil {
			return err
		}
		_, found, err := find[models.Event](tx.db, "assignment_id = ? AND type = ?", assignmentID, models.EventScopeDirty)
		if err != nil || found {
			return err
		}
		_, err = tx.append(models.Event{
			WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, AssignmentID: a.ID, RunID: a.ActiveRunID,
			Type: models.EventScopeDirty, Payload: map[string]any{"dirty": len(files) + more, "files": files, "more": more},
		})
		return err
	})
}

// NudgeStep is what a nudge's workflow shall do next.
type NudgeStep struct {
	Card    Card
	NodeID  string
	Execute bool       // the command is open
	WakeAt  *time.Time // when an unanswered nudge is due again
	Done    bool       // decided, failed, or due again
}

// NextNudgeStep reads what the workflow of a nudge shall do.
func (l *Ledger) NextNudgeStep(ctx context.Context, commandID string) (NudgeStep, error) {
	db := l.read(ctx)
	cmd, err := get[models.Command](db, "command", commandID)
	if err != nil {
		return NudgeStep{}, err
	}
	team, err := get[models.Team](db, "team", cmd.TeamID)
	if err != nil {
		return NudgeStep{}, err
	}
	undecided, err := undecidedEvents(db, cmd.EventIDs)
	if err != nil {
		return NudgeStep{}, err
	}
	step := NudgeStep{NodeID: cmd.NodeID, Card: Card{
		WorkspaceID: cmd.WorkspaceID, TeamID: cmd.TeamID, ActorID: cmd.TargetActorID,
		Status: string(cmd.State), Text: fmt.Sprintf("**Review nudge** `%s` · **%s** · %d of %d handoffs undecided\n", cmd.ID, cmd.State, len(undecided), len(cmd.EventIDs)),
	}}
	switch {
	case cmd.State.Open() && team.Pause.Stopped(): // until the stop is lifted, which wakes
	case cmd.State.Open() && (cmd.NotBefore == nil || !cmd.NotBefore.After(l.Now())):
		step.Execute = true
	case cmd.State.Open():
		step.WakeAt = cmd.NotBefore
	case cmd.State != models.CommandDone || len(undecided) == 0:
		step.Done = true
	default:
		due := cmd.EndedAt.Add(team.Loop.ReviewNudgeInterval())
		step.WakeAt, step.Done = &due, !due.After(l.Now())
	}
	return step, nil
}

// WakeTeam lets the team's loop look again, at the interval of an unanswered nudge.
func (l *Ledger) WakeTeam(ctx context.Context, workspaceID, teamID string) error {
	return l.transact(ctx, normal, systemPrincipal(), func(tx *Tx) error { return tx.wakeLoop(workspaceID, teamID) })
}

// LoopStep is what a loop's workflow shows and whether it may end.
type LoopStep struct {
	Card Card
	Idle bool // the loop is off and nothing of the team is live
}

// NextLoopStep reads the card of a team's loop.
func (l *Ledger) NextLoopStep(ctx context.Context, teamID string) (LoopStep, error) {
	db := l.read(ctx)
	team, err := get[models.Team](db, "team", teamID)
	if err != nil {
		return LoopStep{}, err
	}
	var counts []struct {
		Status string
		N      int
	}
	if err := db.Table("assignments").Select("status, count(*) AS n").Where("team_id = ?", teamID).Group("status").Order("status").Find(&counts).Error; err != nil {
		return LoopStep{}, err
	}
	state := "off"
	switch {
	case team.Pause != nil:
		state = string(team.Pause.Kind)
	case team.Loop.Enabled:
		state = "on"
	}
	step := LoopStep{Idle: !team.Loop.Enabled, Card: Card{WorkspaceID: team.WorkspaceID, TeamID: team.ID, ActorID: team.OwnerActorID, Status: state}}
	step.Card.Text = fmt.Sprintf("**Loop** of team `%s` · **%s** · at most %d runs · adapter `%s`\n\n", team.ID, state, team.Loop.MaxConcurrentRuns, team.Loop.AdapterKind)
	for _, c := range counts {
		step.Card.Text += fmt.Sprintf("- %s: %d\n", c.Status, c.N)
		switch models.AssignmentStatus(c.Status) {
		case models.AssignmentClaimed, models.AssignmentRunning, models.AssignmentAwaitingReview, models.AssignmentAwaitingHuman, models.AssignmentAwaitingApproval:
			step.Idle = false
		default:
		}
	}
	return step, nil
}
