package ledger

import (
	"context"
	"maps"
	"time"

	"coxswain/models"
)

// RunFilter narrows a list of runs; zero fields do not.
type RunFilter struct {
	WorkspaceID  string
	TeamID       string
	AssignmentID string
	OpenOnly     bool // only runs whose end is not proven
}

// RunDetail is a run with all that belongs to it, oldest first. Its metadata
// shows the communication cursor as the node observed it.
type RunDetail struct {
	models.Run
	Task          *models.Task          `json:"task,omitempty"`
	Turns         []models.Turn         `json:"turns"`
	Commands      []models.Command      `json:"commands"`
	Messages      []models.OutboxItem   `json:"messages"`
	Events        []models.Event        `json:"events"`
	Interventions []models.Intervention `json:"interventions"`
}

// Run returns one run or NOT_FOUND.
func (l *Ledger) Run(ctx context.Context, id string) (models.Run, error) {
	return get[models.Run](l.read(ctx), "run", id)
}

// Runs lists runs, the newest first.
func (l *Ledger) Runs(ctx context.Context, f RunFilter) ([]models.Run, error) {
	q := where(l.read(ctx), "workspace_id", f.WorkspaceID)
	q = where(q, "team_id", f.TeamID)
	q = where(q, "assignment_id", f.AssignmentID)
	if f.OpenOnly {
		q = q.Where("ended_at IS NULL")
	}
	rows := []models.Run{}
	return rows, q.Order("started_at DESC, id").Find(&rows).Error
}

// RunDetail returns a run with everything that belongs to it, or NOT_FOUND.
func (l *Ledger) RunDetail(ctx context.Context, id string) (RunDetail, error) {
	d := RunDetail{
		Turns: []models.Turn{}, Commands: []models.Command{}, Messages: []models.OutboxItem{},
		Events: []models.Event{}, Interventions: []models.Intervention{},
	}
	var err error
	if d.Run, err = l.Run(ctx, id); err != nil {
		return d, err
	}
	for _, load := range []struct {
		table, order string
		into         any
	}{
		{"turns", "started_at, id", &d.Turns},
		{"commands", "created_at, id", &d.Commands},
		{"outbox", "created_at, id", &d.Messages},
		{"events", "sequence", &d.Events},
		{"interventions", "created_at, id", &d.Interventions},
	} {
		if err := l.read(ctx).Table(load.table).Where("run_id = ?", id).Order(load.order).Find(load.into).Error; err != nil {
			return d, err
		}
	}
	task, found, err := find[models.Task](l.read(ctx), "run_id = ?", id)
	if found {
		d.Task = &task
	}
	d.Metadata = withCursor(d)
	return d, err
}

// withCursor lays what the node observed over the stored communication cursor
// (seed 000, run binding). Keys that only the stored one has are kept.
func withCursor(d RunDetail) map[string]any {
	seen := observed(d)
	if len(seen) == 0 {
		return d.Metadata
	}
	out := make(map[string]any, len(d.Metadata)+1)
	maps.Copy(out, d.Metadata)
	stored, _ := out["communication_cursor"].(map[string]any)
	out["communication_cursor"] = mergePatch(stored, seen)
	return out
}

// observed is the cursor as commands, delivered messages and turns tell it.
func observed(d RunDetail) map[string]any {
	seen := map[string]any{}
	if n := len(d.Commands); n > 0 {
		seen["last_command_id"] = d.Commands[n-1].ID
	}
	for _, m := range d.Messages {
		if m.State == models.OutboxDelivered {
			seen["last_client_user_message_id"] = m.ID
		}
	}
	var checked time.Time
	for _, t := range d.Turns {
		seen["last_seen_turn_id"] = t.ID
		if t.Status.Ended() {
			seen["last_completed_turn_id"] = t.ID
		}
		checked = later(checked, t.ProgressAt)
		if t.EndedAt != nil {
			checked = later(checked, *t.EndedAt)
		}
	}
	if !checked.IsZero() {
		seen["last_loop_check_at"] = checked.Format(time.RFC3339Nano)
	}
	return seen
}

// runEvent begins an event about a run.
func runEvent(r models.Run, kind string) models.Event {
	return models.Event{WorkspaceID: r.WorkspaceID, TeamID: r.TeamID, AssignmentID: r.AssignmentID, RunID: r.ID, Type: kind}
}

// managed tells whether a node watches the run and proves its end; the others
// were claimed directly.
func managed(r models.Run) bool { return r.BindingID != "" }

// ownRun returns the assignment's active run when it is the caller's and live. A
// bound thread owns only the run of its binding.
func (tx *Tx) ownRun(a models.Assignment) (models.Run, error) {
	if a.ActiveRunID == "" {
		return models.Run{}, models.Forbidden("assignment %q has no run; claim it first", a.ID).Hint("cox up --team %s; its loop starts the work, and an agent of your own claims it with the tool claim_assignment", a.TeamID)
	}
	r, err := get[models.Run](tx.db, "run", a.ActiveRunID)
	if err != nil {
		return models.Run{}, err
	}
	if err := tx.owns(r); err != nil {
		return models.Run{}, err
	}
	return r, liveRun(r)
}

// owns refuses callers who are not the actor of the run.
func (tx *Tx) owns(r models.Run) error {
	if r.ActorID != tx.By.ActorID || tx.By.BindingID != "" && r.BindingID != tx.By.BindingID {
		return models.Forbidden("run %q belongs to %q", r.ID, r.ActorID).With("actor_id", r.ActorID)
	}
	return nil
}

// liveRun refuses runs that have not been claimed yet or are over for their
// worker.
func liveRun(r models.Run) error {
	if r.Status.Terminal() {
		return models.Invalid("run_id", "run %q is %s", r.ID, r.Status).With("status", string(r.Status)).Hint("cox run show %s", r.ID)
	}
	if r.Status == models.RunStarting {
		return models.Invalid("run_id", "run %q has no claim yet", r.ID).With("status", string(r.Status))
	}
	return nil
}

// HeartbeatRun says that the run goes on and renews run, claim and task together
// by the team's time to live; it never shortens them and raises no revision. It
// works after expiry until somebody else claims. Errors: FORBIDDEN, NOT_FOUND,
// INVALID_ARGUMENT, SECRET_DETECTED.
func (l *Ledger) HeartbeatRun(ctx context.Context, c *Call, runID, summary string) (models.Event, error) {
	in := args{"run_id": runID, "summary": summary}
	return writeAt(ctx, l, normal, c, "heartbeat_run", in, func(tx *Tx) (models.Event, error) { return tx.heartbeat(runID, summary) })
}

func (tx *Tx) heartbeat(runID, summary string) (models.Event, error) {
	if err := tx.need("heartbeat run", models.RoleAgent, models.RoleIntegrator, models.RoleHuman); err != nil {
		return models.Event{}, err
	}
	r, a, err := tx.currentRun(runID)
	if err != nil {
		return models.Event{}, err
	}
	e := runEvent(r, models.EventRunHeartbeat)
	e.Payload = map[string]any{"summary": summary}
	if e, err = tx.append(e); err != nil {
		return e, err
	}
	return e, tx.beat(r, a)
}

// beat renews run, claim and task, and shows that the run works, in one statement
// each. It never shortens the expiry.
func (tx *Tx) beat(r models.Run, a models.Assignment) error {
	until, err := tx.renewal(r, a)
	if err != nil {
		return err
	}
	run := map[string]any{"lease_expires_at": until.UnixMilli(), "heartbeat_at": tx.ms(), "updated_at": tx.ms()}
	if !r.Status.Waiting() {
		run["status"] = models.RunRunning
	}
	claim := map[string]any{"lease_expires_at": until.UnixMilli(), "updated_at": tx.ms()}
	if a.Status == models.AssignmentClaimed {
		claim["status"] = models.AssignmentRunning
	}
	if _, err := tx.swap(&models.Run{}, run, "id = ?", r.ID); err != nil {
		return err
	}
	if _, err := tx.swap(&models.Assignment{}, claim, "id = ?", a.ID); err != nil {
		return err
	}
	return tx.keepTask(r.ID, until)
}

// currentRun loads a run of the caller that its assignment still counts as its
// active one.
func (tx *Tx) currentRun(runID string) (models.Run, models.Assignment, error) {
	var a models.Assignment
	r, err := get[models.Run](tx.db, "run", runID)
	if err != nil {
		return r, a, err
	}
	if err := tx.owns(r); err != nil {
		return r, a, err
	}
	a, err = tx.activeFor(r)
	return r, a, err
}

// activeFor loads the assignment of a live run, without its dependencies; a run
// that was replaced is refused.
func (tx *Tx) activeFor(r models.Run) (models.Assignment, error) {
	a, err := get[models.Assignment](tx.db, "assignment", r.AssignmentID)
	if err != nil {
		return a, err
	}
	if err := tx.mayTouch(a); err != nil {
		return a, err
	}
	if err := liveRun(r); err != nil {
		return a, err
	}
	if a.ActiveRunID != r.ID || a.Status.Terminal() {
		return a, models.Invalid("run_id", "run %q is not the active run of assignment %q any more", r.ID, a.ID).Hint("cox assignment show %s", a.ID)
	}
	return a, nil
}

// renew moves the expiry of run, claim and task to one time to live from now,
// unless it is later already. The clock need not be woken: it re-reads at the
// former deadline.
func (tx *Tx) renew(r models.Run, a models.Assignment) error {
	until, err := tx.renewal(r, a)
	if err != nil {
		return err
	}
	return tx.expireAt(r.ID, a.ID, until)
}

// renewal is one time to live from now, or the run's expiry where that is later.
func (tx *Tx) renewal(r models.Run, a models.Assignment) (time.Time, error) {
	ttl, err := tx.teamTTL(a.TeamID)
	return later(tx.Now.Add(ttl), r.LeaseExpiresAt), err
}

// expireAt sets the one expiry of a run, its assignment's claim and its task.
func (tx *Tx) expireAt(runID, assignmentID string, until time.Time) error {
	if _, err := tx.swap(&models.Run{}, map[string]any{"lease_expires_at": until.UnixMilli(), "updated_at": tx.ms()}, "id = ?", runID); err != nil {
		return err
	}
	if _, err := tx.swap(&models.Assignment{}, map[string]any{"lease_expires_at": until.UnixMilli(), "updated_at": tx.ms()}, "id = ?", assignmentID); err != nil {
		return err
	}
	return tx.keepTask(runID, until)
}

// keepTask lets the task of a run live until a time, unless it is completed.
func (tx *Tx) keepTask(runID string, until time.Time) error {
	_, err := tx.swap(&models.Task{}, map[string]any{"expires_at": until.UnixMilli(), "heartbeat_at": tx.ms(), "status": "live"},
		"run_id = ? AND status <> 'completed'", runID)
	return err
}

// teamTTL is a team's time to live of claims.
func (tx *Tx) teamTTL(teamID string) (time.Duration, error) {
	t, err := get[models.Team](tx.db, "team", teamID)
	if ttl := t.Loop.RunLeaseTTL(); ttl > 0 || err != nil {
		return ttl, err
	}
	return models.DefaultLoop().RunLeaseTTL(), nil
}

// endRun proves the end of an unmanaged run at the moment the ledger closes it: a
// status, the time, and its task completed.
func (tx *Tx) endRun(runID string, status models.RunStatus, reason string) error {
	_, err := tx.swap(&models.Run{}, map[string]any{"status": status, "ended_at": tx.ms(), "end_reason": reason, "updated_at": tx.ms()},
		"id = ? AND ended_at IS NULL", runID)
	if err != nil {
		return err
	}
	_, err = tx.swap(&models.Task{}, map[string]any{"status": "completed", "expires_at": tx.ms()}, "run_id = ?", runID)
	return err
}

// closeRun gives a run its last status. A managed one keeps its slot until the
// node has seen its turn end.
func (tx *Tx) closeRun(r models.Run, status models.RunStatus, reason string) error {
	if !managed(r) {
		return tx.endRun(r.ID, status, reason)
	}
	_, err := tx.swap(&models.Run{}, map[string]any{"status": status, "end_reason": reason, "updated_at": tx.ms()}, "id = ?", r.ID)
	return err
}

// openRun finds the run of an assignment whose end is not proven.
func (tx *Tx) openRun(assignmentID string) (models.Run, bool, error) {
	return find[models.Run](tx.db, "assignment_id = ? AND ended_at IS NULL", assignmentID)
}
