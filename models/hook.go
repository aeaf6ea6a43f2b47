package models

import "time"

// The hooks of a workspace: commands of its owner, run by the node outside every
// sandbox, never taken from the repository.
const (
	HookAfterCreate  = "after_create"  // once a worktree is made; its failure fails the start, and the next one runs it again
	HookBeforeRun    = "before_run"    // before each run; its failure fails the start
	HookAfterRun     = "after_run"     // after each run; its failure is recorded
	HookBeforeRemove = "before_remove" // before a worktree is removed; its failure is recorded
)

// Hooks are all of them in the order of a run.
func Hooks() []string {
	return []string{HookAfterCreate, HookBeforeRun, HookAfterRun, HookBeforeRemove}
}

// HookState is how far a hook has come.
type HookState string

// The states of a hook. One that is running when its worker ends is run again:
// what is left of it is killed first, and a hook has to bear that.
const (
	HookOwed    HookState = "owed"
	HookRunning HookState = "running"
	HookDone    HookState = "done"
	HookFailed  HookState = "failed"
	HookSkipped HookState = "skipped" // the workspace has no such hook any more
)

// Ended tells whether the hook will not run again by itself.
func (s HookState) Ended() bool { return s == HookDone || s == HookFailed || s == HookSkipped }

// MaxHookOutput is how much of a hook's output is kept, its end, in bytes.
const MaxHookOutput = 2000

// HookRun is one hook that a run or a worktree owes.
type HookRun struct {
	ID           string     `json:"hook_run_id"`
	Hook         string     `json:"hook"`
	WorkspaceID  string     `json:"workspace_id"`
	TeamID       string     `json:"team_id"`
	AssignmentID string     `json:"assignment_id"`
	RunID        string     `json:"run_id,omitempty"`
	NodeID       string     `json:"node_id"`
	State        HookState  `json:"state"`
	Attempts     int        `json:"attempts"`
	ExitCode     int        `json:"exit_code"`
	Output       string     `json:"output"` // its end
	CreatedAt    time.Time  `json:"created_at" gorm:"serializer:ms"`
	StartedAt    *time.Time `json:"started_at,omitempty" gorm:"serializer:ms"`
	EndedAt      *time.Time `json:"ended_at,omitempty" gorm:"serializer:ms"`
}

// HookRunID names what a hook owes: the same subject owes the same hook once.
func HookRunID(hook, subject string) string { return hook + ":" + subject }

// HookCommand is the owner's command of a hook, "" for none.
func (s WorkspaceSettings) HookCommand(hook string) string {
	switch hook {
	case HookAfterCreate:
		return s.HookAfterCreate
	case HookBeforeRun:
		return s.HookBeforeRun
	case HookAfterRun:
		return s.HookAfterRun
	case HookBeforeRemove:
		return s.HookBeforeRemove
	}
	return ""
}
