package models

import "time"

// InboxKind says what a person has to do about an entry of the inbox.
type InboxKind string

// The kinds of inbox entries.
const (
	InboxReview     InboxKind = "review"     // decide a handoff
	InboxQuestion   InboxKind = "question"   // answer an agent
	InboxApproval   InboxKind = "approval"   // accept or decline what an agent asks leave for
	InboxEscalation InboxKind = "escalation" // decide a handoff that its reviewer ignored
	InboxRecovery   InboxKind = "recovery"   // bring back what cannot go on by itself
	InboxAttention  InboxKind = "attention"  // look at what a run raised while it goes on
)

// InboxEntry is one thing that needs a person.
type InboxEntry struct {
	Kind         InboxKind      `json:"kind"`
	Reason       string         `json:"reason"` // handoff, the question's kind, the run's reason code, unasked, vain_wait, lost_node or failed_adapter
	ID           string         `json:"id"`     // of the handoff's event, the question, the assignment or the node
	WorkspaceID  string         `json:"workspace_id,omitempty"`
	TeamID       string         `json:"team_id,omitempty"`
	AssignmentID string         `json:"assignment_id,omitempty"`
	RunID        string         `json:"run_id,omitempty"`
	NodeID       string         `json:"node_id,omitempty"`
	DependencyID string         `json:"dependency_id,omitempty"` // that the assignment waits for in vain
	Summary      string         `json:"summary"`
	Since        time.Time      `json:"since"`
	Review       *PendingReview `json:"review,omitempty"`
}

// The reasons of entries that belong to no question.
const (
	ReasonHandoff       = "handoff"
	ReasonUnasked       = "unasked"        // the work waits for a person whom nobody asked
	ReasonVainWait      = "vain_wait"      // it waits for work that will not be accepted
	ReasonLostNode      = "lost_node"      // its worker is silent and holds work
	ReasonFailedAdapter = "failed_adapter" // its adapter cannot be had and work needs it
	ReasonReviewIgnored = "review_ignored"
	ReasonKeptWorktree  = "kept_worktree" // it holds work that is nowhere else, or could not be removed
)

// NodeSilence is how long a node may be silent before its work counts as stuck;
// a worker says every 20 s that it lives.
const NodeSilence = 2 * time.Minute

// QuestionKind tells whether a question of a kind asks how to go on after
// something went wrong, or was stopped, rather than what its agent wants to know.
func QuestionKind(kind string) InboxKind {
	switch kind {
	case InterventionApproval:
		return InboxApproval
	case ReasonReviewIgnored:
		return InboxEscalation
	case "no_handoff", "turn_lost", "turn_failed", AskStale, AskCap, AskBreaker, "start_failed", "delivery_failed", EventSecretRefused, InterventionStopped:
		return InboxRecovery
	}
	return InboxQuestion
}
