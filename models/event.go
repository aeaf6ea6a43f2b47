package models

import "time"

// Event is one append-only record. Sequence orders all events of a ledger.
type Event struct {
	Sequence           int64          `json:"sequence" gorm:"primaryKey;autoIncrement"`
	ID                 string         `json:"event_id"`
	WorkspaceID        string         `json:"workspace_id"`
	TeamID             string         `json:"team_id"`
	AssignmentID       string         `json:"assignment_id,omitempty"`
	RunID              string         `json:"run_id,omitempty"`
	Type               string         `json:"event_type"`
	Status             string         `json:"status"`
	ActorID            string         `json:"actor_id"`
	ActorRole          Role           `json:"actor_role"`
	Payload            map[string]any `json:"payload" gorm:"serializer:json"`
	ReviewedEventID    string         `json:"reviewed_event_id,omitempty"`
	AssignmentRevision int            `json:"assignment_revision,omitempty"`
	CreatedAt          time.Time      `json:"created_at" gorm:"serializer:ms"`
}

// Event statuses: four of the agent's side and three decisions (comem, events).
const (
	EventProposed            = "proposed"
	EventObserved            = "observed"
	EventCompletedGatePassed = "completed_gate_passed"
	EventCompletedGateFailed = "completed_gate_failed"
	EventAccepted            = "integrator_accepted"
	EventRejected            = "integrator_rejected"
	EventNeedsFix            = "needs_fix"
)

// EventStatuses are all statuses of events.
func EventStatuses() []string {
	return []string{EventProposed, EventObserved, EventCompletedGatePassed, EventCompletedGateFailed, EventAccepted, EventRejected, EventNeedsFix}
}

// Types of events that only the ledger writes. A caller that names one in
// append_event is refused.
const (
	EventAssignmentCreated     = "assignment_created"
	EventAssignmentEdited      = "assignment_edited"
	EventAssignmentCancelled   = "assignment_cancelled"
	EventAssignmentSuperseded  = "assignment_superseded"
	EventRunClaimed            = "run_claimed"
	EventRunHeartbeat          = "run_heartbeat"
	EventRunBindingRecorded    = "run_binding_recorded"
	EventRunEnded              = "run_ended"
	EventRunStale              = "run_stale"
	EventRunFailed             = "run_failed"
	EventRunRecovered          = "run_recovered"
	EventAccountHeld           = "account_held"
	EventAccountReleased       = "account_released"
	EventBreakerTripped        = "breaker_tripped"
	EventBreakerCleared        = "breaker_cleared"
	EventTurnStarted           = "turn_started"
	EventTurnEnded             = "turn_ended"
	EventHandoffSubmitted      = "handoff_submitted"
	EventIntegratorReview      = "integrator_review"
	EventInterventionRequested = "intervention_requested"
	EventInterventionResponded = "intervention_responded"
	EventInterruptRequested    = "interrupt_requested"
	EventSteerRequested        = "steer_requested"
	EventCommandDispatched     = "loop_command_dispatched"
	EventCommandCompleted      = "loop_command_completed"
	EventCommandFailed         = "loop_command_failed"
	EventReviewNudgeDispatched = "review_nudge_dispatched"
	EventAdapterAvailable      = "adapter_available"
	EventAdapterUnavailable    = "adapter_unavailable"
	EventServerRequest         = "server_request_answered"
	EventRequestEnded          = "server_request_ended"
	EventRateLimit             = "rate_limit_observed"
	EventScopeDirty            = "scope_dirty"
	EventMessageDelivered      = "message_delivered"
	EventMessageUnknown        = "message_unknown"
	EventLoopConfigured        = "loop_configured"
	EventLoopPaused            = "loop_paused"
	EventLoopResumed           = "loop_resumed"
	EventWorkspaceRegistered   = "workspace_registered"
	EventWorkspaceArchived     = "workspace_archived"
	EventWorkspaceRestored     = "workspace_restored"
	EventWorkspaceConfigured   = "workspace_configured"
	EventTeamCreated           = "team_created"
	EventActorRegistered       = "actor_registered"
	EventNodeStarted           = "node_started"
	EventTaskVanished          = "task_vanished"
	EventSecretRefused         = "secret_refused"
	EventHumanBriefUpdated     = "human_brief_updated"
	EventAttentionRaised       = "attention_raised"
	EventAttentionSettled      = "attention_settled"
	EventWorkflowsRecovered    = "workflows_recovered"
	EventWorktreeCreated       = "worktree_created"
	EventWorktreeLost          = "worktree_lost"
	EventWorktreeKept          = "worktree_kept"
	EventWorktreeRemoval       = "worktree_removal_requested"
	EventWorktreeRemoved       = "worktree_removed"
	EventHookEnded             = "hook_ended"
	EventWorkflowJammed        = "workflow_jammed"
	EventLedgerRestored        = "ledger_restored"
	EventLedgerKeyRenewed      = "ledger_key_renewed"
)

// ReservedEventTypes are the types that append_event refuses, besides those
// that begin with "cox_".
func ReservedEventTypes() []string {
	return []string{
		EventAssignmentCreated, EventAssignmentEdited, EventAssignmentCancelled, EventAssignmentSuperseded, EventRunClaimed,
		EventRunHeartbeat, EventRunBindingRecorded, EventRunEnded, EventRunStale, EventRunFailed,
		EventRunRecovered, EventAccountHeld, EventAccountReleased, EventBreakerTripped, EventBreakerCleared,
		EventTurnStarted, EventTurnEnded, EventHandoffSubmitted, EventIntegratorReview,
		EventInterventionRequested, EventInterventionResponded, EventInterruptRequested, EventSteerRequested, EventCommandDispatched,
		EventCommandCompleted, EventCommandFailed, EventReviewNudgeDispatched, EventAdapterAvailable,
		EventAdapterUnavailable, EventServerRequest, EventRequestEnded, EventRateLimit, EventScopeDirty,
		EventMessageDelivered, EventMessageUnknown, EventLoopConfigured, EventLoopPaused, EventLoopResumed, EventWorkspaceRegistered,
		EventWorkspaceArchived, EventWorkspaceRestored, EventWorkspaceConfigured, EventTeamCreated, EventActorRegistered, EventNodeStarted,
		EventTaskVanished, EventSecretRefused, EventHumanBriefUpdated, EventAttentionRaised,
		EventWorktreeCreated, EventWorktreeLost, EventWorktreeKept, EventWorktreeRemoval, EventWorktreeRemoved, EventHookEnded,
		EventAttentionSettled, EventWorkflowsRecovered, EventWorkflowJammed, EventLedgerRestored, EventLedgerKeyRenewed,
	}
}

// AgentEventStatus tells whether a status is one that append_event takes.
func AgentEventStatus(status string) bool {
	switch status {
	case EventProposed, EventObserved, EventCompletedGatePassed, EventCompletedGateFailed:
		return true
	}
	return false
}

// Decision is an integrator's or a person's verdict on a handoff.
type Decision string

// The three decisions that a review tool records; a follow-up assignment and a
// human intervention are calls of their own (seed 000, review nudge).
const (
	DecisionAccept   Decision = EventAccepted
	DecisionReject   Decision = EventRejected
	DecisionNeedsFix Decision = EventNeedsFix
)

// Outcome is the assignment's status after the decision, "" for an unknown one.
func (d Decision) Outcome() AssignmentStatus {
	switch d {
	case DecisionAccept:
		return AssignmentAccepted
	case DecisionReject:
		return AssignmentRejected
	case DecisionNeedsFix:
		return AssignmentNeedsFix
	}
	return ""
}

// PendingReview is an undecided handoff with what a reviewer needs first.
type PendingReview struct {
	Event          Event    `json:"event"`
	Title          string   `json:"title"`
	AllowedPaths   []string `json:"allowed_paths" gorm:"serializer:json"`
	Revision       int      `json:"revision"`
	WorkerActorID  string   `json:"worker_actor_id"`
	HeadCommit     string   `json:"head_commit"`
	BaseCommit     string   `json:"base_commit"`
	WorktreePath   string   `json:"worktree_path"`
	Branch         string   `json:"branch"`
	Nudges         int      `json:"nudges"` // reminders to the integrator so far
	InteractiveURL string   `json:"interactive_url"`

	PendingSince   time.Time  `json:"pending_since"`
	PendingSeconds int64      `json:"pending_seconds"` // at the time of the reading
	LastNudgeAt    *time.Time `json:"last_nudge_at,omitempty"`
	EscalationID   string     `json:"escalation_id,omitempty"` // the question that a person was asked because nobody decided
}

// InterventionStopped is the kind of the question that a person's stop of a run
// leaves open: its answer lets the run go on.
const InterventionStopped = "stopped"

// The kinds of the planner's questions about what holds an assignment back.
const (
	AskStale   = "run_stale"   // a clock of a turn ran out
	AskCap     = "cap_reached" // a cap of the assignment is reached
	AskBreaker = "breaker"     // identical failures parked it, or its team
)

// ReservedInterventionKinds are the kinds of the questions that Coxswain asks by
// itself: the planner goes by them, so that nobody else may use one.
func ReservedInterventionKinds() []string {
	return []string{
		"no_handoff", "turn_lost", "turn_failed", AskStale, AskCap, AskBreaker, AskReviewIgnored, "start_failed", "delivery_failed",
		InterventionStopped, EventSecretRefused, InterventionApproval, InterventionInput,
	}
}

// Intervention is a question to a person (a gate while it is open).
type Intervention struct {
	ID           string         `json:"intervention_id"` // the id of its intervention_requested event
	WorkspaceID  string         `json:"workspace_id"`
	TeamID       string         `json:"team_id"`
	AssignmentID string         `json:"assignment_id,omitempty"`
	RunID        string         `json:"run_id,omitempty"`
	Kind         string         `json:"intervention_kind"`
	Prompt       string         `json:"prompt"`
	Packet       map[string]any `json:"decision_packet,omitempty" gorm:"serializer:json"`
	RequestedBy  string         `json:"requested_by"`
	Status       string         `json:"status"` // open | answered | closed
	Response     string         `json:"response,omitempty"`
	RespondedBy  string         `json:"responded_by,omitempty"`
	CreatedAt    time.Time      `json:"created_at" gorm:"serializer:ms"`
	AnsweredAt   *time.Time     `json:"answered_at,omitempty" gorm:"serializer:ms"`
}
