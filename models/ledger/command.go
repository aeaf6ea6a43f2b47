package ledger

import (
	"context"
	"errors"
	"maps"

	"coxswain/models"
)

// Work is everything that carrying out a command needs, read when an attempt
// took the command over.
type Work struct {
	Command    models.Command
	Assignment models.Assignment // zero for a nudge
	Run        models.Run        // zero for a nudge
	Binding    models.Binding
	Workspace  models.Workspace
	Team       models.Team
	Worktree   models.Worktree // zero when the assignment has none
	Again      bool            // an earlier attempt owned it, so that its effect may exist
}

// Folder is where the command's thread works: the assignment's worktree, else the
// workspace's root.
func (w Work) Folder() string {
	if w.Worktree.State.Exists() {
		return w.Worktree.Path
	}
	return w.Workspace.RepoRoot
}

// Start reads an open start command with what it works on, without taking it over.
// open is false when it is closed.
func (l *Ledger) Start(ctx context.Context, commandID string) (w Work, open bool, err error) {
	w.Command, err = l.Command(ctx, commandID)
	if err != nil || !w.Command.State.Open() {
		return w, false, err
	}
	tx := &Tx{db: l.read(ctx), l: l, Now: l.Now()}
	err = tx.fill(&w)
	return w, true, err
}

// BeginCommand makes an attempt the owner of a command and returns what it works
// on. open is false when the command is closed already, not due yet or held by a stop
// of its team; then nothing may be done.
func (l *Ledger) BeginCommand(ctx context.Context, commandID, owner string) (w Work, open bool, err error) {
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		cmd, err := get[models.Command](tx.db, "command", commandID)
		if err != nil || !cmd.State.Open() {
			return err
		}
		if held, err := commandHeld(tx.db, cmd); err != nil || held {
			return err
		}
		w.Again = cmd.Owner != "" && cmd.Owner != owner
		if cmd.StartedAt == nil {
			cmd.StartedAt = &tx.Now
		}
		cmd.Owner, open = owner, true
		if _, err := tx.swap(&models.Command{}, map[string]any{"owner": owner, "started_at": cmd.StartedAt.UnixMilli()}, "id = ?", commandID); err != nil {
			return err
		}
		w.Command = cmd
		return tx.fill(&w)
	})
	return w, open, err
}

// fill loads what the command is about.
func (tx *Tx) fill(w *Work) (err error) {
	if w.Team, err = get[models.Team](tx.db, "team", w.Command.TeamID); err != nil {
		return err
	}
	if w.Workspace, err = get[models.Workspace](tx.db, "workspace", w.Command.WorkspaceID); err != nil {
		return err
	}
	if w.Command.BindingID != "" {
		if w.Binding, err = get[models.Binding](tx.db, "binding", w.Command.BindingID); err != nil {
			return err
		}
	}
	if w.Command.AssignmentID != "" {
		if w.Assignment, err = get[models.Assignment](tx.db, "assignment", w.Command.AssignmentID); err != nil {
			return err
		}
		if w.Worktree, _, err = findWorktree(tx.db, w.Command.AssignmentID); err != nil {
			return err
		}
	}
	if w.Command.RunID != "" {
		w.Run, err = get[models.Run](tx.db, "run", w.Command.RunID)
	}
	return err
}

// owned loads a command that the attempt still owns; lost is true when another
// attempt took it over or it is closed.
func (tx *Tx) owned(commandID, owner string) (cmd models.Command, lost bool, err error) {
	cmd, err = get[models.Command](tx.db, "command", commandID)
	return cmd, err == nil && (cmd.Owner != owner || !cmd.State.Open()), err
}

// closeCommand records the outcome of a command and its event.
func (tx *Tx) closeCommand(cmd models.Command, state models.CommandState, result, failure string) error {
	cmd.State, cmd.Result, cmd.Error = state, result, failure
	ok, err := tx.swap(&models.Command{}, map[string]any{"state": state, "result": result, "error": failure, "ended_at": tx.ms()},
		"id = ? AND state IN ('intended','unknown')", cmd.ID)
	if err != nil || !ok {
		return err
	}
	event := models.EventCommandCompleted
	if state == models.CommandFailed {
		event = models.EventCommandFailed
	}
	if err := tx.journal(cmd, event, result); err != nil || !planFollows(cmd.Type, state) {
		return err
	}
	return tx.wakeLoop(cmd.WorkspaceID, cmd.TeamID)
}

// planFollows tells whether the planner may have something to do once a command is
// closed. A start, resume or nudge that is done has queued a message, which keeps
// its run or integrator busy until the end of a turn; the loop looks again by itself
// after a probe.
func planFollows(t models.CommandType, state models.CommandState) bool {
	return state == models.CommandFailed || t == models.CommandInterrupt
}

// FinishCommand closes a command that the attempt owns. A command that another
// attempt owns is left alone.
func (l *Ledger) FinishCommand(ctx context.Context, commandID, owner, result string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		cmd, lost, err := tx.owned(commandID, owner)
		if err != nil || lost {
			return err
		}
		return tx.closeCommand(cmd, models.CommandDone, result, "")
	})
}

// FailCommand closes a command whose attempt did nothing in the world; the next
// plan may make another attempt. A run that was only starting ends with it.
func (l *Ledger) FailCommand(ctx context.Context, commandID, owner, reason string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		cmd, lost, err := tx.owned(commandID, owner)
		if err != nil || lost {
			return err
		}
		if cmd.Type == models.CommandStart {
			if err := tx.undoStart(cmd, reason); err != nil {
				return err
			}
		}
		return tx.closeCommand(cmd, models.CommandFailed, "nothing_done", reason)
	})
}

// undoStart ends the run of a failed start and gives back the paths of an
// assignment that never ran.
func (tx *Tx) undoStart(cmd models.Command, reason string) error {
	if err := tx.finishRun(cmd.RunID, models.RunFailed, reason); err != nil {
		return err
	}
	_, err := tx.swap(&models.Assignment{}, map[string]any{"active_run_id": ""}, "id = ? AND active_run_id = ? AND status = 'ready'", cmd.AssignmentID, cmd.RunID)
	return err
}

// RecordThread writes the thread that an attempt started for a command's binding.
// It is refused (false) when the attempt is no longer the owner or the binding
// has another thread already: then the thread is nobody's and is archived.
func (l *Ledger) RecordThread(ctx context.Context, commandID, owner, threadID string) (bool, error) {
	kept := false
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		cmd, lost, err := tx.owned(commandID, owner)
		if err != nil || lost {
			return err
		}
		kept, err = tx.swap(&models.Binding{}, map[string]any{"thread_id": threadID, "updated_at": tx.ms()},
			"id = ? AND status = 'active' AND thread_id IN ('', ?)", cmd.BindingID, threadID)
		return err
	})
	return kept, err
}

// Claim is what ClaimRun writes besides the claim itself.
type Claim struct {
	Branch     string
	BaseCommit string
	Prompt     string // the worker's first message
}

// ErrNotWanted is what ClaimRun returns when the assignment was cancelled or
// changed meanwhile: the thread is archived and the command fails.
var ErrNotWanted = models.Errorf(models.CodeStaleRevision, "the assignment is no longer wanted at this revision")

// ClaimRun makes a starting run the claim of its assignment: claim, revision,
// session columns, cursor and the queued prompt in one transaction, and closes
// the start command. A repeated call of the same owner changes nothing.
func (l *Ledger) ClaimRun(ctx context.Context, commandID, owner string, c Claim) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		cmd, lost, err := tx.owned(commandID, owner)
		if err != nil || lost {
			return err
		}
		w := Work{Command: cmd}
		if err := tx.fill(&w); err != nil {
			return err
		}
		if w.Team.Pause.Stopped() && w.Run.Status == models.RunStarting {
			return nil // held: the command stays open, and is carried out when the stop is lifted
		}
		if w.Assignment.Revision != cmd.AssignmentRevision || w.Run.Status != models.RunStarting || w.Binding.ThreadID == "" {
			return ErrNotWanted
		}
		return tx.claimStarted(w, c)
	})
}

func (tx *Tx) claimStarted(w Work, c Claim) error {
	a, run, cmd := w.Assignment, w.Run, w.Command
	expires := tx.Now.Add(w.Team.Loop.RunLeaseTTL())
	ok, err := tx.swap(&models.Assignment{}, map[string]any{
		"status": models.AssignmentClaimed, "claimed_by": run.ActorID, "lease_expires_at": expires.UnixMilli(),
		"active_run_id": run.ID, "revision": a.Revision + 1, "updated_at": tx.ms(), "deferred_reason": "",
	}, "id = ? AND revision = ? AND status NOT IN ('accepted','rejected','cancelled','superseded')", a.ID, a.Revision)
	if err != nil {
		return err
	}
	if !ok {
		return ErrNotWanted
	}
	item := models.OutboxItem{
		ID: models.MessageID(cmd.ID), BindingID: w.Binding.ID, Generation: w.Binding.Generation,
		ThreadID: w.Binding.ThreadID, CommandID: cmd.ID, RunID: run.ID, Kind: cmd.PromptKind, Text: c.Prompt, State: models.OutboxPending,
	}
	item = perhapsSent(item, cmd)
	node, _, err := find[models.Node](tx.db, "id = ?", w.Binding.NodeID)
	if err != nil {
		return err
	}
	meta, err := jsonText(startMetadata(w, node.Probes[w.Binding.AdapterKind], item.ID))
	if err != nil {
		return err
	}
	if _, err := tx.swap(&models.Run{}, map[string]any{
		"status": models.RunClaimed, "lease_expires_at": expires.UnixMilli(), "session_ref": w.Binding.ThreadID,
		"interactive_url": "codex://threads/" + w.Binding.ThreadID, "worktree_path": w.Folder(),
		"branch": c.Branch, "base_commit": c.BaseCommit, "updated_at": tx.ms(), "metadata": meta,
	}, "id = ?", run.ID); err != nil {
		return err
	}
	if _, err := tx.append(models.Event{
		WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, AssignmentID: a.ID, RunID: run.ID,
		Type: models.EventRunClaimed, ActorID: run.ActorID, ActorRole: models.RoleAgent, AssignmentRevision: a.Revision + 1,
		Payload: map[string]any{"lease_ttl_seconds": w.Team.Loop.RunLeaseTTLSeconds, "session_ref": w.Binding.ThreadID},
	}); err != nil {
		return err
	}
	if err := tx.queue(item); err != nil {
		return err
	}
	if err := tx.oweAfterRun(w.Workspace, run); err != nil {
		return err
	}
	// The assignment's workflow, which made this call, looks again by itself.
	return errors.Join(tx.closeCommand(cmd, models.CommandDone, "thread_started", ""), tx.wakeClock())
}

// perhapsSent makes the item of a command that may have been carried out before the
// ledger was set back one that is looked for in its thread before it is sent: its id
// comes from the command's, and so is the same.
func perhapsSent(item models.OutboxItem, cmd models.Command) models.OutboxItem {
	if cmd.State == models.CommandUnknown {
		item.State, item.Owner = models.OutboxSending, beforeRestore
	}
	return item
}

// startMetadata is the run metadata of seed 000: the adapter, as the node last
// probed it, and the cursor.
func startMetadata(w Work, p models.Probe, messageID string) map[string]any {
	meta := map[string]any{}
	maps.Copy(meta, w.Run.Metadata)
	meta["adapter"] = map[string]any{"kind": w.Binding.AdapterKind, "version": p.Version, "transport": p.Transport}
	meta["communication_cursor"] = map[string]any{
		"last_command_id": w.Command.ID, "last_client_user_message_id": messageID,
	}
	return meta
}

// Commands lists commands, newest first.
func (l *Ledger) Commands(ctx context.Context, f CommandFilter) ([]models.Command, error) {
	q := l.read(ctx).Order("created_at DESC, id DESC")
	for column, value := range map[string]string{"team_id": f.TeamID, "assignment_id": f.AssignmentID, "run_id": f.RunID} {
		if value != "" {
			q = q.Where(column+" = ?", value)
		}
	}
	if f.OpenOnly {
		q = q.Where("state IN ('intended','unknown')")
	}
	var out []models.Command
	err := q.Limit(limitOr(f.Limit, 100)).Find(&out).Error
	return out, err
}

// CommandFilter narrows Commands; a zero field does not filter.
type CommandFilter struct {
	TeamID, AssignmentID, RunID string
	OpenOnly                    bool
	Limit                       int // 100 when 0
}

func limitOr(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// Command loads one command.
func (l *Ledger) Command(ctx context.Context, id string) (models.Command, error) {
	return get[models.Command](l.read(ctx), "command", id)
}
