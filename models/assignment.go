package models

import (
	"maps"
	"strings"
	"time"
)

// AssignmentStatus is the state of an assignment.
type AssignmentStatus string

// The statuses of seed 000.
const (
	AssignmentProposed         AssignmentStatus = "proposed"
	AssignmentReady            AssignmentStatus = "ready"
	AssignmentClaimed          AssignmentStatus = "claimed"
	AssignmentRunning          AssignmentStatus = "running"
	AssignmentAwaitingHuman    AssignmentStatus = "awaiting_human"
	AssignmentAwaitingApproval AssignmentStatus = "awaiting_approval"
	AssignmentAwaitingReview   AssignmentStatus = "awaiting_review"
	AssignmentNeedsFix         AssignmentStatus = "needs_fix"
	AssignmentBlocked          AssignmentStatus = "blocked"
	AssignmentAccepted         AssignmentStatus = "accepted"
	AssignmentRejected         AssignmentStatus = "rejected"
	AssignmentCancelled        AssignmentStatus = "cancelled"
	AssignmentSuperseded       AssignmentStatus = "superseded"
)

// Terminal tells whether nothing can happen to the assignment any more.
func (s AssignmentStatus) Terminal() bool {
	switch s {
	case AssignmentAccepted, AssignmentRejected, AssignmentCancelled, AssignmentSuperseded:
		return true
	default:
		return false
	}
}

// Startable tells whether a run may be started for the status.
func (s AssignmentStatus) Startable() bool {
	return s == AssignmentReady || s == AssignmentNeedsFix
}

// Lane is the board column of the status, "" for cancelled and superseded,
// which stand in none (comem, board lanes).
func (s AssignmentStatus) Lane() string {
	switch s {
	case AssignmentProposed, AssignmentReady:
		return "ready"
	case AssignmentClaimed, AssignmentRunning:
		return "running"
	case AssignmentAwaitingApproval, AssignmentAwaitingReview:
		return "awaiting_review"
	case AssignmentAwaitingHuman, AssignmentNeedsFix, AssignmentAccepted, AssignmentRejected, AssignmentBlocked:
		return string(s)
	case AssignmentCancelled, AssignmentSuperseded:
	}
	return ""
}

// Lanes are the columns of a board in order.
func Lanes() []string {
	return []string{"ready", "running", "awaiting_human", "awaiting_review", "needs_fix", "accepted", "rejected", "blocked"}
}

// Assignment is a contract for one piece of work.
type Assignment struct {
	ID                 string           `json:"assignment_id"`
	WorkspaceID        string           `json:"workspace_id"`
	TeamID             string           `json:"team_id"`
	Title              string           `json:"title"`
	Status             AssignmentStatus `json:"status"`
	Priority           int              `json:"priority"` // higher goes first
	CreatedBy          string           `json:"created_by_actor_id"`
	ActiveRunID        string           `json:"active_run_id,omitempty"`
	ClaimedBy          string           `json:"claimed_by,omitempty"`
	LeaseExpiresAt     *time.Time       `json:"lease_expires_at,omitempty" gorm:"serializer:ms"` // the claim's expiry
	Revision           int              `json:"revision"`                                        // 1 after create
	AllowedPaths       []string         `json:"allowed_paths" gorm:"serializer:json"`            // workspace-relative patterns; none means the whole workspace
	AcceptanceCriteria []string         `json:"acceptance_criteria" gorm:"serializer:json"`
	DependsOn          []string         `json:"depends_on" gorm:"-"` // assignments that must be accepted first
	Worktree           *bool            `json:"worktree,omitempty"`  // whether its runs work in a worktree of their own; nil is as the workspace says
	Metadata           map[string]any   `json:"metadata" gorm:"serializer:json"`
	HandoffEventID     string           `json:"handoff_event_id,omitempty"` // the undecided handoff
	SupersededBy       string           `json:"superseded_by,omitempty"`
	DeferredReason     string           `json:"deferred_reason,omitempty"` // why the last plan left it out
	CreatedAt          time.Time        `json:"created_at" gorm:"serializer:ms"`
	UpdatedAt          time.Time        `json:"updated_at" gorm:"serializer:ms"`
	CompletedAt        *time.Time       `json:"completed_at,omitempty" gorm:"serializer:ms"`
}

// NewAssignment is the request to create one.
type NewAssignment struct {
	ID                 string
	WorkspaceID        string
	TeamID             string
	Title              string
	Priority           int
	AllowedPaths       []string
	AcceptanceCriteria []string
	DependsOn          []string
	Worktree           *bool // nil is as the workspace says
	Metadata           map[string]any
}

// ContextRef points at a document in the repository that a worker reads first.
type ContextRef struct {
	Path string   `json:"path"`
	Read []string `json:"read,omitempty" gorm:"serializer:json"` // headings; none means the whole document
}

// SessionBind names the intended worker before any run exists (seed 000).
type SessionBind struct {
	TargetActorID string `json:"target_actor_id"`
	Status        string `json:"status"`
	SessionKind   string `json:"session_kind"`
}

// SessionKindCodexThread is the session kind of every run bound to a thread.
const SessionKindCodexThread = "codex_thread"

// NormaliseMetadata derives metadata.session_bind as seed 000 and comem section
// 1 say: an explicit bind is kept and completed, a legacy assigned_actor_hint
// becomes one. The argument is not changed. It returns INVALID_ARGUMENT when
// session_bind is neither an object nor null.
func NormaliseMetadata(metadata map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(metadata)+1)
	maps.Copy(out, metadata)
	hint, _ := out["assigned_actor_hint"].(string)
	hint = strings.TrimSpace(hint)
	raw, present := out["session_bind"]
	if !present || raw == nil {
		if hint != "" {
			out["session_bind"] = map[string]any{"target_actor_id": hint, "status": "pending", "session_kind": SessionKindCodexThread}
		}
		return out, nil
	}
	given, ok := raw.(map[string]any)
	if !ok {
		return nil, Invalid("metadata.session_bind", "must be an object or null")
	}
	bind := map[string]any{"status": "pending", "session_kind": SessionKindCodexThread}
	if hint != "" {
		bind["target_actor_id"] = hint
	}
	maps.Copy(bind, given)
	out["session_bind"] = bind
	return out, nil
}

// TargetActorID is the worker of an assignment: the bind's target first, else
// the generated worker id (seed 000, required changes 2).
func (a *Assignment) TargetActorID() string {
	if bind, ok := a.Metadata["session_bind"].(map[string]any); ok {
		if target, ok := bind["target_actor_id"].(string); ok && strings.TrimSpace(target) != "" {
			return strings.TrimSpace(target)
		}
	}
	return WorkerID(a.ID)
}

// ContextRefs reads metadata.context_refs; entries without a path are skipped.
func (a *Assignment) ContextRefs() []ContextRef {
	list, _ := a.Metadata["context_refs"].([]any)
	var out []ContextRef
	for _, entry := range list {
		obj, _ := entry.(map[string]any)
		path, _ := obj["path"].(string)
		if path == "" {
			continue
		}
		out = append(out, ContextRef{Path: path, Read: stringsOf(obj["read"])})
	}
	return out
}

// Description is metadata.description, the free text that a plan says of the work, ""
// when there is none.
func (a *Assignment) Description() string {
	text, _ := a.Metadata["description"].(string)
	return text
}

func stringsOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
