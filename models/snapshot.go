package models

import "time"

// SnapshotSchema names the shape of a snapshot document.
const SnapshotSchema = "coxswain.snapshot.v1"

// Snapshot is what a ledger holds for settled, and what waits to be settled.
type Snapshot struct {
	SchemaVersion     string                        `json:"schema_version"` // SnapshotSchema
	LedgerVersion     string                        `json:"ledger_version"`
	GeneratedAt       *time.Time                    `json:"generated_at,omitempty"`
	AcceptedThrough   int64                         `json:"accepted_through"` // sequence of the last acceptance in it; 0 for none
	Workspaces        []SnapshotWorkspace           `json:"workspaces"`
	Teams             []SnapshotTeam                `json:"teams"`
	OpenGovernance    *OpenGovernance               `json:"open_governance,omitempty"`
	ActiveAssignments map[string]AcceptedAssignment `json:"active_assignments"` // the accepted ones, by id
	AcceptedEvents    []AcceptedEvent               `json:"accepted_events"`    // the oldest acceptance first
	SingleWriterRules []string                      `json:"single_writer_rules"`
}

// SnapshotWorkspace is a workspace without anything that differs from machine to
// machine.
type SnapshotWorkspace struct {
	ID            string `json:"workspace_id"`
	Name          string `json:"name"`
	DefaultBranch string `json:"default_branch"`
	Status        string `json:"status"`
}

// SnapshotTeam is a team without its loop, which people turn on and off.
type SnapshotTeam struct {
	ID           string `json:"team_id"`
	WorkspaceID  string `json:"workspace_id"`
	Name         string `json:"name"`
	PhaseKey     string `json:"phase_key"`
	OwnerActorID string `json:"owner_actor_id"`
	Status       string `json:"status"`
}

// OpenGovernance is what waits for a decision or an answer.
type OpenGovernance struct {
	PendingReviews []OpenReview   `json:"pending_reviews"`
	Interventions  []Intervention `json:"interventions"`
}

// OpenReview is an undecided handoff of a snapshot.
type OpenReview struct {
	EventID        string    `json:"event_id"`
	TeamID         string    `json:"team_id"`
	AssignmentID   string    `json:"assignment_id"`
	WorkerActorID  string    `json:"worker_actor_id"`
	HeadCommit     string    `json:"head_commit"`
	PendingSince   time.Time `json:"pending_since"`
	PendingSeconds int64     `json:"pending_seconds"`
	Nudges         int       `json:"nudges"`
	EscalationID   string    `json:"escalation_id,omitempty"`
}

// AcceptedAssignment is an accepted assignment and the handoff that settled it.
type AcceptedAssignment struct {
	Status          string         `json:"status"` // EventAccepted
	WorkspaceID     string         `json:"workspace_id"`
	TeamID          string         `json:"team_id"`
	Title           string         `json:"title"`
	Revision        int            `json:"revision"`
	AcceptedEventID string         `json:"accepted_event_id"` // the handoff
	AcceptedBy      string         `json:"accepted_by"`
	AcceptedAt      time.Time      `json:"accepted_at"`
	Payload         map[string]any `json:"payload"` // of the handoff
}

// AcceptedEvent is one acceptance.
type AcceptedEvent struct {
	Sequence        int64     `json:"sequence"`
	EventID         string    `json:"event_id"` // the decision
	ReviewedEventID string    `json:"reviewed_event_id"`
	AssignmentID    string    `json:"assignment_id"`
	Title           string    `json:"title"`
	RunID           string    `json:"run_id"`
	WorkerActorID   string    `json:"worker_actor_id"`
	HeadCommit      string    `json:"head_commit"`
	Summary         string    `json:"summary"`
	AcceptedBy      string    `json:"accepted_by"`
	AcceptedAt      time.Time `json:"accepted_at"`
	DecisionNote    string    `json:"decision_note"`
}

// SingleWriterRules say who writes what a snapshot shows. Whoever reads one must
// not turn it into a second source of the truth.
func SingleWriterRules() []string {
	return []string{
		"The ledger alone decides; a snapshot is a copy for readers and is never read back.",
		"An assignment is accepted only by the recorded decision of an integrator or a person who ran no attempt at it.",
		"A worker writes its own run: heartbeats, events, briefs and one handoff.",
		"Integrators and people create, cancel and supersede assignments.",
		"Exported files are written by the export alone; edits of them are overwritten.",
	}
}

// Projection is the part of a snapshot that changes only when something is
// settled or set up: without the time of the reading and without what is open.
func (s Snapshot) Projection() Snapshot {
	s.GeneratedAt, s.OpenGovernance = nil, nil
	return s
}
