package ledger

import (
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// watchedTurn is an active turn with what its clocks go by.
type watchedTurn struct {
	models.Turn  `gorm:"embedded"`
	WorkspaceID  string
	TeamID       string
	AssignmentID string                   // whose worker's thread it is in, "" for an integrator's
	RunStatus    models.RunStatus         // "" for a turn that serves no run: an integrator's, or one that began after its run had ended
	Settings     models.WorkspaceSettings `gorm:"serializer:json"`
}

// waits tells whether the turn waits for a person, so that its clocks stand still.
func (t watchedTurn) waits() bool { return t.RunStatus.Waiting() }

// activeTurns reads the active turns of which no clock has run out yet.
func activeTurns(db *gorm.DB) ([]watchedTurn, error) {
	var out []watchedTurn
	//nolint:unqueryvet // a turn is read whole
	err := db.Raw(`SELECT t.*, b.workspace_id, b.team_id, b.assignment_id, coalesce(r.status, '') AS run_status, w.settings
	  FROM turns t JOIN bindings b ON b.id = t.binding_id JOIN workspaces w ON w.id = b.workspace_id LEFT JOIN runs r ON r.id = t.run_id
	  WHERE t.status = 'active' AND t.stale = '' ORDER BY t.started_at, t.id`).Scan(&out).Error
	return out, err
}

// turnDeadlines adds the clocks of the active turns, and the shortest clock of every
// workspace in which a turn may begin before the next look.
func turnDeadlines(db *gorm.DB, now time.Time, due *deadline) error {
	turns, err := activeTurns(db)
	if err != nil {
		return err
	}
	for _, t := range turns {
		if o := t.Settings.NextOverdue(t.Times()); o.Clock != "" && !t.waits() {
			due.add(o.Due)
		}
	}
	var busy []struct {
		Settings models.WorkspaceSettings `gorm:"serializer:json"`
	}
	err = db.Raw(`SELECT w.settings FROM workspaces w WHERE EXISTS (SELECT 1 FROM runs r WHERE r.workspace_id = w.id AND r.ended_at IS NULL
	    AND r.binding_id <> '' AND r.status IN ('starting','claimed','running'))`).Scan(&busy).Error
	for _, w := range busy {
		if d := w.Settings.ShortestClock(); d > 0 {
			due.add(now.Add(d))
		}
	}
	return err
}

// markOverdue latches the turns of which a clock ran out: one event, then an interrupt
// or a question, as the workspace's owner decided.
func (tx *Tx) markOverdue(out *Reconciled) error {
	turns, err := activeTurns(tx.db)
	if err != nil {
		return err
	}
	for _, t := range turns {
		o := t.Settings.NextOverdue(t.Times())
		if t.waits() || !o.Passed(tx.Now) {
			if o, err = tx.overCap(t); err != nil {
				return err
			}
		}
		if t.waits() || !o.Passed(tx.Now) {
			continue
		}
		if err := tx.overdue(t, o); err != nil {
			return err
		}
		out.Overdue++
	}
	return nil
}

// overCap tells whether a turn made its assignment pass a cap on tokens or time that
// need not wait for the turn's end.
func (tx *Tx) overCap(t watchedTurn) (models.Overdue, error) {
	var none models.Overdue
	if t.RunID == "" || t.waits() || t.Settings.MaxTokens == 0 && t.Settings.MaxTime == 0 {
		return none, nil
	}
	run, err := get[models.Run](tx.db, "run", t.RunID)
	if err != nil {
		return none, err
	}
	use, err := usage(tx.db, t.TeamID, run.AssignmentID)
	if err != nil {
		return none, err
	}
	u := use[run.AssignmentID]
	u.Time += tx.Now.Sub(t.StartedAt)
	caps := t.Settings
	caps.MaxTurns, caps.MaxAttempts = 0, 0 // the planner looks at these between turns
	if name, _ := caps.CapReached(u, false); name != "" && !t.TotalFrom.After(t.StartedAt) {
		return models.Overdue{Clock: models.TurnClock(name), Since: t.StartedAt, Due: tx.Now}, nil
	}
	return none, nil
}

// overdue writes that a clock ran out and what was seen of the turn.
func (tx *Tx) overdue(t watchedTurn, o models.Overdue) error {
	if _, err := tx.swap(&models.Turn{}, map[string]any{"stale": string(o.Clock)}, "id = ?", t.ID); err != nil {
		return err
	}
	run, _, err := find[models.Run](tx.db, "id = ?", t.RunID)
	if err != nil {
		return err
	}
	_, err = tx.append(models.Event{
		WorkspaceID: t.WorkspaceID, TeamID: t.TeamID, AssignmentID: t.AssignmentID, RunID: run.ID, Type: models.EventRunStale,
		Payload: map[string]any{
			"cause": string(o.Clock), "since": o.Since, "limit": o.Limit.String(), "turn_id": t.ID, "thread_id": t.ThreadID,
			"progress_at": t.ProgressAt, "sign_at": t.SignAt, "started_at": t.StartedAt, "items": t.Items, "last_item": t.LastItem, "tokens": t.Tokens.Total,
		},
	})
	if err != nil {
		return err
	}
	if run.ID == "" {
		return tx.askOutsideRun(t, o)
	}
	if t.Settings.OnStall == models.OnStallStop && !run.Status.Terminal() {
		e := runEvent(run, models.EventInterruptRequested)
		e.Payload = map[string]any{"reason": o.Text(), "clock": string(o.Clock), "turn_id": t.ID}
		if _, err := tx.append(e); err != nil {
			return err
		}
	}
	return tx.planAssignment(run.AssignmentID)
}

// askOutsideRun asks a person about a turn that serves no run, which no command
// interrupts: the integrator's, or one of a worker whose run had ended before it began.
func (tx *Tx) askOutsideRun(t watchedTurn, o models.Overdue) error {
	prompt := "The turn of team " + t.TeamID + "'s integrator is still active: " + o.Text() + ". Its reviews wait: decide them by cox review list."
	if t.AssignmentID != "" {
		prompt = "A turn of the worker of assignment " + t.AssignmentID + " is still active although the run that it belonged to has ended: " + o.Text() +
			". Nothing waits for it, and it can be ended with its worker: " + models.StartAgain + "."
	}
	_, err := tx.question(models.Intervention{
		WorkspaceID: t.WorkspaceID, TeamID: t.TeamID, AssignmentID: t.AssignmentID, Kind: models.AskStale,
		Packet: map[string]any{"turn_id": t.ID}, Prompt: prompt,
	})
	return err
}

// staleText is what ran out for a latched turn, as a person reads it; "" while its
// interrupt is under way.
func staleText(t models.Turn, s models.WorkspaceSettings) string {
	if t.Stale == "" || s.OnStall == models.OnStallStop {
		return ""
	}
	o := models.Overdue{Clock: t.Stale}
	switch t.Stale {
	case models.ClockStall:
		o.Since, o.Limit = later(t.ProgressAt, t.WatchedFrom), s.StallTimeout
	case models.ClockSilence:
		o.Since, o.Limit = later(t.SignAt, t.WatchedFrom), s.TurnSilenceTimeout
	case models.ClockTotal:
		o.Since, o.Limit = t.TotalFrom, s.TurnTotalTimeout
	case models.ClockTokens, models.ClockTime:
	}
	return o.Text()
}

// revive takes back what was said of a stalled turn that progresses again: one event,
// and its question is withdrawn.
func (tx *Tx) revive(t models.Turn) error {
	if _, err := tx.swap(&models.Turn{}, map[string]any{"stale": ""}, "id = ?", t.ID); err != nil {
		return err
	}
	b, err := get[models.Binding](tx.db, "binding", t.BindingID)
	if err != nil {
		return err
	}
	_, err = tx.append(models.Event{
		WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID, RunID: t.RunID,
		Type: models.EventRunRecovered, Payload: map[string]any{"cause": string(t.Stale), "turn_id": t.ID},
	})
	if err != nil {
		return err
	}
	return tx.withdrawStale(b, t.RunID)
}

// calledAlive revives the stalled turn of an assignment whose own thread just called:
// a call is more than any sign of life. It returns the assignment as it is then.
func (tx *Tx) calledAlive(a models.Assignment) (models.Assignment, error) {
	if tx.By.BindingID == "" || a.Status != models.AssignmentAwaitingHuman {
		return a, nil
	}
	turn, stale, err := find[models.Turn](tx.db, "run_id = ? AND binding_id = ? AND status = 'active' AND stale <> ''", a.ActiveRunID, tx.By.BindingID)
	if err != nil || !stale {
		return a, err
	}
	if err := tx.revive(turn); err != nil {
		return a, err
	}
	return loadAssignment(tx.db, a.ID)
}

// withdrawStale closes the question about a turn that is no longer stalled.
func (tx *Tx) withdrawStale(b models.Binding, runID string) error {
	asked, err := tx.openInterventions("team_id = ? AND assignment_id = ? AND run_id = ? AND kind = ?", b.TeamID, b.AssignmentID, runID, models.AskStale)
	if err != nil || len(asked) == 0 {
		return err
	}
	if err := tx.dismiss(asked); err != nil {
		return err
	}
	return tx.wakeClock()
}

// restartClocks lets the clocks of a run's active turn count from now, because a
// person answered.
func (tx *Tx) restartClocks(runID string) error {
	return tx.db.Exec("UPDATE turns SET stale = '', watched_from = ?, total_from = ? WHERE run_id = ? AND status = 'active'", tx.ms(), tx.ms(), runID).Error
}

// watchFrom lets the stall and silence clocks of a node's active turns count from now:
// nobody could see them until now.
func (tx *Tx) watchFrom(nodeID string) error {
	return tx.db.Exec(`UPDATE turns SET watched_from = ? WHERE status = 'active'
	  AND binding_id IN (SELECT id FROM bindings WHERE node_id = ?)`, tx.ms(), nodeID).Error
}
