package ledger

import (
	"context"
	"errors"
	"maps"

	"coxswain/models"
)

// TurnReport is what the observer saw of a turn.
type TurnReport struct {
	ThreadID  string
	TurnID    string
	CauseID   string            // the client message id that started it or was seen in it, when known
	Status    models.TurnStatus // for EndTurn
	Error     string
	ErrorKind string
	LastItem  string
	Items     int
	Tokens    models.TokenUsage // absolute totals of the thread; zero when none were seen
	Limits    map[string]any    // the last rate limits, nil when none were seen
	Progress  bool              // anything happened since the last report; tokens alone are compared by the ledger
	Sign      bool              // anything was heard of the turn, progress or not
	Seen      []SeenItem        // what was finished since the last report, oldest first
}

// TurnStarted records a started turn and the cursor of its run. Twice is once.
// unwanted tells that a worker's turn began after its run had ended or been
// cancelled: nobody waits for it, and it is to be interrupted.
func (l *Ledger) TurnStarted(ctx context.Context, r TurnReport) (unwanted bool, err error) {
	err = l.onThread(ctx, full, r.ThreadID, func(tx *Tx, b models.Binding) error {
		run, err := tx.runOf(b)
		if err != nil {
			return err
		}
		unwanted = b.Kind == models.BindingWorker && (run.ID == "" || run.Status.CalledOff())
		if err := tx.turnStarted(b, r); err != nil || r.CauseID == "" {
			return err
		}
		return tx.arrived(r.ThreadID, r.CauseID)
	})
	return unwanted, err
}

func (tx *Tx) turnStarted(b models.Binding, r TurnReport) error {
	run, err := tx.runOf(b)
	if err != nil {
		return err
	}
	old, found, err := find[models.Turn](tx.db, "id = ?", r.TurnID)
	if err != nil {
		return err
	}
	if found {
		if old.CauseID == "" && r.CauseID != "" {
			_, err = tx.swap(&models.Turn{}, map[string]any{"cause_id": r.CauseID}, "id = ?", r.TurnID)
		}
		return err
	}
	turn := models.Turn{
		ID: r.TurnID, ThreadID: r.ThreadID, BindingID: b.ID, Generation: b.Generation, RunID: run.ID, CauseID: r.CauseID,
		Status: models.TurnActive, StartedAt: tx.Now, ProgressAt: tx.Now, SignAt: tx.Now, WatchedFrom: tx.Now, TotalFrom: tx.Now,
	}
	if err := tx.insert(&turn); err != nil {
		return err
	}
	if run.ID != "" {
		if err := tx.cursor(run.ID, map[string]any{"last_seen_turn_id": r.TurnID, "last_loop_check_at": tx.Now}); err != nil {
			return err
		}
	}
	_, err = tx.append(models.Event{
		WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID, RunID: run.ID,
		Type: models.EventTurnStarted, Payload: map[string]any{"turn_id": r.TurnID, "thread_id": r.ThreadID},
	})
	return err
}

// runOf is the run that a worker's binding serves now; zero for an integrator.
func (tx *Tx) runOf(b models.Binding) (models.Run, error) {
	if b.Kind != models.BindingWorker {
		return models.Run{}, nil
	}
	run, _, err := find[models.Run](tx.db, "binding_id = ? AND ended_at IS NULL", b.ID)
	return run, err
}

// cursor merges keys into the run's communication cursor.
func (tx *Tx) cursor(runID string, patch map[string]any) error {
	run, err := get[models.Run](tx.db, "run", runID)
	if err != nil {
		return err
	}
	meta := run.Metadata
	if meta == nil {
		meta = map[string]any{}
	}
	c, ok := meta["communication_cursor"].(map[string]any)
	if !ok {
		c = map[string]any{}
	}
	maps.Copy(c, patch)
	meta["communication_cursor"] = c
	text, err := jsonText(meta)
	if err != nil {
		return err
	}
	_, err = tx.swap(&models.Run{}, map[string]any{"metadata": text, "updated_at": tx.ms()}, "id = ?", runID)
	return err
}

// TurnProgress records a bounded report of a turn under way and renews the run's
// claim and task: a progressing turn keeps its claim alive.
func (l *Ledger) TurnProgress(ctx context.Context, r TurnReport) error {
	lines := summaries(r.Seen)
	return l.onThread(ctx, normal, r.ThreadID, func(tx *Tx, b models.Binding) error {
		progressed, err := tx.heard(r)
		if err != nil {
			return err
		}
		run, err := tx.runOf(b)
		if err != nil || run.ID == "" {
			return err
		}
		if err := errors.Join(tx.runUsage(run, r), tx.keepItems(run.ID, lines)); err != nil || !progressed {
			return err
		}
		if run, err = get[models.Run](tx.db, "run", run.ID); err != nil { // a revived one goes on
			return err
		}
		return tx.prolong(run)
	})
}

// heard writes what was heard of an active turn and tells whether it progressed: by
// items, or by a token total that changed. A stalled turn that progresses is revived.
func (tx *Tx) heard(r TurnReport) (progressed bool, err error) {
	turn, found, err := find[models.Turn](tx.db, "id = ?", r.TurnID)
	if err != nil || !found {
		return false, err
	}
	if turn.Status.Ended() {
		return false, tx.learnTokens(r)
	}
	progressed = r.Progress || r.Tokens.Total > 0 && r.Tokens.Total != turn.Tokens.Total
	columns := map[string]any{"sign_at": tx.ms()}
	if r.Items > 0 {
		columns["items"], columns["last_item"] = r.Items, r.LastItem
	}
	if progressed {
		columns["progress_at"] = tx.ms()
	}
	putTokens(columns, r.Tokens)
	if _, err := tx.swap(&models.Turn{}, columns, "id = ?", r.TurnID); err != nil {
		return progressed, err
	}
	if turn.Stale == models.ClockSilence || turn.Stale == models.ClockStall && progressed {
		err = tx.revive(turn)
	}
	return progressed, err
}

// learnTokens fills in the totals of a turn that was recorded as ended without any,
// as after a kill: its thread tells them when it is loaded again.
func (tx *Tx) learnTokens(r TurnReport) error {
	if r.Tokens.Total == 0 {
		return nil
	}
	columns := map[string]any{"tokens_incomplete": false}
	putTokens(columns, r.Tokens)
	learnt, err := tx.swap(&models.Turn{}, columns, "id = ? AND thread_id = ? AND tokens_incomplete = ?", r.TurnID, r.ThreadID, true)
	if err != nil || !learnt {
		return err
	}
	turn, err := get[models.Turn](tx.db, "turn", r.TurnID)
	if err != nil || turn.RunID == "" {
		return err
	}
	_, columns["tokens_incomplete"], err = find[models.Turn](tx.db, "run_id = ? AND tokens_incomplete = ?", turn.RunID, true)
	if err != nil {
		return err
	}
	_, err = tx.swap(&models.Run{}, columns, "id = ? AND tokens_total <= ?", turn.RunID, r.Tokens.Total)
	return err
}

func putTokens(columns map[string]any, t models.TokenUsage) {
	if t.Total > 0 {
		columns["tokens_input"], columns["tokens_output"], columns["tokens_total"] = t.Input, t.Output, t.Total
	}
}

// runUsage stores the thread's totals and the account's limits with the run.
func (tx *Tx) runUsage(run models.Run, r TurnReport) error {
	columns := map[string]any{}
	putTokens(columns, r.Tokens)
	if r.Limits != nil {
		meta := run.Metadata
		if meta == nil {
			meta = map[string]any{}
		}
		meta["rate_limits"] = r.Limits
		text, err := jsonText(meta)
		if err != nil {
			return err
		}
		columns["metadata"] = text
	}
	if len(columns) == 0 {
		return nil
	}
	_, err := tx.swap(&models.Run{}, columns, "id = ?", run.ID)
	return err
}

// prolong renews a run's claim and task because its turn progresses or its node came
// back. A run that is only starting has no claim yet, and one that was handed off none
// any more, but both have a task.
func (tx *Tx) prolong(run models.Run) error {
	if run.Status == models.RunStarting || run.Status.Terminal() {
		until, err := tx.renewal(run, models.Assignment{TeamID: run.TeamID})
		if err != nil {
			return err
		}
		if _, err := tx.swap(&models.Run{}, map[string]any{"lease_expires_at": until.UnixMilli()}, "id = ?", run.ID); err != nil {
			return err
		}
		return tx.keepTask(run.ID, until)
	}
	if err := tx.renew(run, models.Assignment{ID: run.AssignmentID, TeamID: run.TeamID}); err != nil {
		return err
	}
	_, err := tx.swap(&models.Run{}, map[string]any{"heartbeat_at": tx.ms()}, "id = ?", run.ID)
	return err
}

// onThread runs fn with the binding of a thread. Reports of threads that the
// ledger does not know, or of an older generation, change nothing.
func (l *Ledger) onThread(ctx context.Context, d durability, threadID string, fn func(*Tx, models.Binding) error) error {
	return l.transact(ctx, d, systemPrincipal(), func(tx *Tx) error {
		b, found, err := find[models.Binding](tx.db, "thread_id = ?", threadID)
		if err != nil || !found {
			return err
		}
		return fn(tx, b)
	})
}

// Answered is a request of a thread's host that was answered without a person.
type Answered struct {
	ThreadID string
	Method   string
	Answer   string
	Detail   string // what was asked; left out where it holds a secret
	Class    models.RiskClass
	Why      string
}

// ObserveRequest records how policy, or Codex by itself, answered a request.
func (l *Ledger) ObserveRequest(ctx context.Context, r Answered) error {
	detail := blackener{}
	shown := detail.text(r.Detail)
	if detail.err != nil {
		return detail.err
	}
	return l.onThread(ctx, full, r.ThreadID, func(tx *Tx, b models.Binding) error {
		run, err := tx.runOf(b)
		if err != nil {
			return err
		}
		_, err = tx.append(models.Event{
			WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID, RunID: run.ID, Type: models.EventServerRequest,
			Payload: map[string]any{"method": r.Method, "answer": r.Answer, "detail": shown, "class": string(r.Class), "why": r.Why},
		})
		return err
	})
}
