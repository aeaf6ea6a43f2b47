package models

import "time"

// RunStatus is the state of one attempt.
type RunStatus string

// The statuses of a run; the last five are terminal for its worker, whose calls
// are then refused. A run still holds its slot until EndedAt is set.
const (
	RunStarting            RunStatus = "starting"
	RunClaimed             RunStatus = "claimed"
	RunRunning             RunStatus = "running"
	RunAwaitingHuman       RunStatus = "awaiting_human"
	RunAwaitingApproval    RunStatus = "awaiting_approval"
	RunStalled             RunStatus = "stalled"
	RunCompletedGatePassed RunStatus = "completed_gate_passed"
	RunCompletedGateFailed RunStatus = "completed_gate_failed"
	RunFailed              RunStatus = "failed"
	RunCancelled           RunStatus = "cancelled"
	RunSuperseded          RunStatus = "superseded"
)

// RunStatuses are the statuses of a run in the order of its life.
func RunStatuses() []RunStatus {
	return []RunStatus{
		RunStarting, RunClaimed, RunRunning, RunAwaitingHuman, RunAwaitingApproval, RunStalled,
		RunCompletedGatePassed, RunCompletedGateFailed, RunFailed, RunCancelled, RunSuperseded,
	}
}

// Terminal tells whether the run's worker may change nothing any more.
func (s RunStatus) Terminal() bool {
	switch s {
	case RunCompletedGatePassed, RunCompletedGateFailed, RunFailed, RunCancelled, RunSuperseded:
		return true
	default:
		return false
	}
}

// Waiting tells whether the run waits for a person.
func (s RunStatus) Waiting() bool { return s == RunAwaitingHuman || s == RunAwaitingApproval }

// CalledOff tells whether the run's assignment was cancelled or superseded under it, so
// that whatever it still does is to be stopped.
func (s RunStatus) CalledOff() bool { return s == RunCancelled || s == RunSuperseded }

// Run is one attempt by an actor at an assignment.
type Run struct {
	ID             string         `json:"run_id"`
	AssignmentID   string         `json:"assignment_id"`
	WorkspaceID    string         `json:"workspace_id"`
	TeamID         string         `json:"team_id"`
	ActorID        string         `json:"actor_id"`
	NodeID         string         `json:"node_id,omitempty"`    // "" for a run that no node manages
	BindingID      string         `json:"binding_id,omitempty"` // "" for a run that no node manages
	Attempt        int            `json:"attempt"`
	Status         RunStatus      `json:"status"`
	LeaseExpiresAt time.Time      `json:"lease_expires_at" gorm:"serializer:ms"`
	HeartbeatAt    *time.Time     `json:"heartbeat_at,omitempty" gorm:"serializer:ms"`
	StartedAt      time.Time      `json:"started_at" gorm:"serializer:ms"`
	HandedOffAt    *time.Time     `json:"handed_off_at,omitempty" gorm:"serializer:ms"`
	EndedAt        *time.Time     `json:"ended_at,omitempty" gorm:"serializer:ms"` // the proven end; frees the slot
	UpdatedAt      time.Time      `json:"updated_at" gorm:"serializer:ms"`
	SessionKind    string         `json:"session_kind"`
	SessionRef     string         `json:"session_ref"`     // the Codex thread id
	InteractiveURL string         `json:"interactive_url"` // codex://threads/<id>
	WorktreePath   string         `json:"worktree_path"`
	Branch         string         `json:"branch"`
	BaseCommit     string         `json:"base_commit"`
	HeadCommit     string         `json:"head_commit"` // as recorded in the handoff
	ResumeOfRunID  string         `json:"resume_of_run_id,omitempty"`
	EndReason      string         `json:"end_reason,omitempty"`
	Tokens         TokenUsage     `json:"tokens" gorm:"embedded;embeddedPrefix:tokens_"`
	Metadata       map[string]any `json:"metadata" gorm:"serializer:json"`
}

// TokenUsage counts tokens of a run, from the thread's absolute totals.
type TokenUsage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Total      int64 `json:"total"`
	Incomplete bool  `json:"incomplete"` // a turn ended without a total
}

// Task is a live participant in coordination. Every run has one; a fence made
// for it accompanies every record that can outlive its maker.
type Task struct {
	ID          string    `json:"task_id"`
	RunID       string    `json:"run_id"`
	Incarnation int       `json:"incarnation"`
	FenceHash   string    `json:"-"`
	Status      string    `json:"status"` // live | vanished | completed
	ExpiresAt   time.Time `json:"expires_at" gorm:"serializer:ms"`
	HeartbeatAt time.Time `json:"heartbeat_at" gorm:"serializer:ms"`
	Version     int       `json:"version"`
}

// BindingKind tells what a thread is bound to.
type BindingKind string

// A worker's thread serves an assignment's runs, an integrator's a team.
const (
	BindingWorker     BindingKind = "worker"
	BindingIntegrator BindingKind = "integrator"
)

// Binding ties a Codex thread to an assignment's runs or to an integrator. Its
// token, derived from the ledger's key, is what `cox mcp` proves itself with;
// the ledger finds the current run at each call.
type Binding struct {
	ID           string      `json:"binding_id"`
	Kind         BindingKind `json:"kind"`
	WorkspaceID  string      `json:"workspace_id"`
	TeamID       string      `json:"team_id"`
	AssignmentID string      `json:"assignment_id,omitempty"`
	ActorID      string      `json:"actor_id"`
	NodeID       string      `json:"node_id"`
	AdapterKind  string      `json:"adapter_kind"`
	ThreadID     string      `json:"thread_id"` // "" until the thread is started
	Generation   int         `json:"generation"`
	TokenHash    string      `json:"-"`
	Status       string      `json:"status"` // active | closed
	CreatedAt    time.Time   `json:"created_at" gorm:"serializer:ms"`
	UpdatedAt    time.Time   `json:"updated_at" gorm:"serializer:ms"`
}

// TurnStatus is the state of one turn of a thread.
type TurnStatus string

// A turn that was interrupted without a cancel is lost.
const (
	TurnActive      TurnStatus = "active"
	TurnCompleted   TurnStatus = "completed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnFailed      TurnStatus = "failed"
	TurnLost        TurnStatus = "lost"
)

// Ended tells whether the turn is over.
func (s TurnStatus) Ended() bool { return s != TurnActive }

// Turn is what the observer recorded of one turn.
type Turn struct {
	ID         string     `json:"turn_id"`
	ThreadID   string     `json:"thread_id"`
	BindingID  string     `json:"binding_id"`
	Generation int        `json:"generation"`
	RunID      string     `json:"run_id,omitempty"` // "" for an integrator's turn
	CauseID    string     `json:"cause_id"`         // the client message id that started it
	Status     TurnStatus `json:"status"`
	Error      string     `json:"error,omitempty"`
	ErrorKind  string     `json:"error_kind,omitempty"` // rate_limit, usage_limit, server, connection, context, other
	StartedAt  time.Time  `json:"started_at" gorm:"serializer:ms"`
	ProgressAt time.Time  `json:"progress_at" gorm:"serializer:ms"`
	EndedAt    *time.Time `json:"ended_at,omitempty" gorm:"serializer:ms"`
	Tokens     TokenUsage `json:"tokens" gorm:"embedded;embeddedPrefix:tokens_"`
	LastItem   string     `json:"last_item"` // type of the last completed item
	Items      int        `json:"items"`

	Stale       TurnClock `json:"stale,omitempty"` // the clock that ran out; "" while none has
	SignAt      time.Time `json:"-" gorm:"serializer:ms"`
	WatchedFrom time.Time `json:"-" gorm:"serializer:ms"`
	TotalFrom   time.Time `json:"-" gorm:"serializer:ms"`
}

// Times are what the turn's clocks go by.
func (t Turn) Times() TurnTimes {
	return TurnTimes{ProgressAt: t.ProgressAt, SignAt: t.SignAt, WatchedFrom: t.WatchedFrom, TotalFrom: t.TotalFrom}
}
