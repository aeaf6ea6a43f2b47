package models

import "time"

// CommandType is what a command asks for (seed 000, command envelope).
type CommandType string

// The five command types of the local release.
const (
	CommandStart     CommandType = "start_assignment"
	CommandResume    CommandType = "resume_assignment"
	CommandNudge     CommandType = "nudge_review"
	CommandInterrupt CommandType = "interrupt_run"
	CommandRefresh   CommandType = "refresh_capabilities"
)

// PromptKind selects the template of a command's message.
type PromptKind string

// The prompt kinds, one template each.
const (
	PromptWorker     PromptKind = "worker_assignment"
	PromptFix        PromptKind = "worker_fix"
	PromptResume     PromptKind = "worker_resume"
	PromptReview     PromptKind = "integrator_review"
	PromptEscalation PromptKind = "integrator_escalation"
	PromptSteer      PromptKind = "worker_steer" // a person's words into a running turn; no command asks for it
)

// CommandState is where a command stands between intent and outcome.
type CommandState string

// Intent comes before the effect; unknown means that doubt remains and the
// outside world has to be read before anything is repeated.
const (
	CommandIntended CommandState = "intended"
	CommandDone     CommandState = "done"
	CommandFailed   CommandState = "failed"
	CommandUnknown  CommandState = "unknown"
)

// Open tells whether the command still has to be carried out.
func (s CommandState) Open() bool { return s == CommandIntended || s == CommandUnknown }

// Command is the envelope between planning and doing. The journal is unique on
// (Type, Target, Cause, Attempt).
type Command struct {
	ID                 string       `json:"command_id"`
	Type               CommandType  `json:"command_type"`
	Target             string       `json:"target"` // assignment, run, team or node id by type
	Cause              string       `json:"cause"`  // revN, turn, event or incarnation
	Attempt            int          `json:"attempt"`
	State              CommandState `json:"state"`
	WorkspaceID        string       `json:"workspace_id"`
	TeamID             string       `json:"team_id"`
	AssignmentID       string       `json:"assignment_id,omitempty"`
	AssignmentRevision int          `json:"assignment_revision,omitempty"`
	RunID              string       `json:"run_id,omitempty"`
	BindingID          string       `json:"binding_id,omitempty"`
	NodeID             string       `json:"node_id,omitempty"`
	TargetActorID      string       `json:"target_actor_id,omitempty"`
	AdapterKind        string       `json:"adapter_kind"`
	IdempotencyKey     string       `json:"idempotency_key"`
	PromptKind         PromptKind   `json:"prompt_kind,omitempty"`
	EventIDs           []string     `json:"event_ids,omitempty" gorm:"serializer:json"` // what a nudge names
	Reason             string       `json:"reason"`
	Owner              string       `json:"owner,omitempty"` // the attempt that owns the effect
	Result             string       `json:"result,omitempty"`
	Error              string       `json:"error,omitempty"`
	NotBefore          *time.Time   `json:"not_before,omitempty" gorm:"serializer:ms"`
	CreatedAt          time.Time    `json:"created_at" gorm:"serializer:ms"`
	StartedAt          *time.Time   `json:"started_at,omitempty" gorm:"serializer:ms"`
	EndedAt            *time.Time   `json:"ended_at,omitempty" gorm:"serializer:ms"`
}

// OutboxState is where a text to a thread stands.
type OutboxState string

// The states of an outbox item; expiry never means "did not happen".
const (
	OutboxPending   OutboxState = "pending"
	OutboxSending   OutboxState = "sending"
	OutboxDelivered OutboxState = "delivered"
	OutboxFailed    OutboxState = "failed"
	OutboxDropped   OutboxState = "dropped" // no longer wanted at delivery
)

// OutboxItem is one text for one Codex thread. Its id is the client message id.
type OutboxItem struct {
	ID          string      `json:"message_id"`
	BindingID   string      `json:"binding_id"`
	Generation  int         `json:"generation"`
	ThreadID    string      `json:"thread_id"`
	CommandID   string      `json:"command_id"`
	RunID       string      `json:"run_id,omitempty"`
	Kind        PromptKind  `json:"kind"`
	Text        string      `json:"-"`
	State       OutboxState `json:"state"`
	Owner       string      `json:"owner,omitempty"`
	Attempts    int         `json:"attempts"`
	TurnID      string      `json:"turn_id,omitempty"` // where it was delivered; while sending, the turn that it was steered into
	Reason      string      `json:"reason,omitempty"`
	NotBefore   *time.Time  `json:"not_before,omitempty" gorm:"serializer:ms"`
	CreatedAt   time.Time   `json:"created_at" gorm:"serializer:ms"`
	DeliveredAt *time.Time  `json:"delivered_at,omitempty" gorm:"serializer:ms"`
}

// TableName names the ledger's table, which holds texts of one outbox.
func (OutboxItem) TableName() string { return "outbox" }

// MessageID is the client message id of a command's message. It is derived, so
// that every retry of a command sends under the same id.
func MessageID(commandID string) string { return "msg_" + IDPart(ShortHash(commandID, 24)) }

// SteerID is the client message id of a person's words, from the event that
// recorded them.
func SteerID(eventID string) string { return MessageID(eventID) }

// Wakeup tells the relay that a workflow has something to read. It carries no
// state and no authority.
type Wakeup struct {
	WorkflowID   string    `json:"workflow_id" gorm:"primaryKey"` // without the ledger's prefix
	Kind         string    `json:"kind"`                          // loop | assignment | nudge | delivery | clock
	Generation   int64     `json:"generation"`
	Acknowledged int64     `json:"acknowledged"` // the generation the workflow's own read recorded
	UpdatedAt    time.Time `json:"updated_at" gorm:"serializer:ms"`
}
