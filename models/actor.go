package models

import "time"

// Role is what an actor may do. It is proven by a binding or by the person who
// starts the process, never believed because it was declared.
type Role string

// The roles of design section 2.
const (
	RoleAgent      Role = "agent"
	RoleIntegrator Role = "integrator"
	RoleHuman      Role = "human"
	RoleNode       Role = "node"
)

// ValidRole tells whether the role is one that a caller may name.
func ValidRole(r Role) bool {
	switch r {
	case RoleAgent, RoleIntegrator, RoleHuman, RoleNode:
		return true
	}
	return false
}

// Principal is who calls a ledger method: an actor in a role, and, for an agent
// behind `cox mcp`, the binding that proves it.
type Principal struct {
	ActorID   string
	Role      Role   // "" is the one that the actor is registered with
	BindingID string // the binding the call came through; "" for people and nodes
}

// IntegratorID is the actor that integrates a team unless the team names
// another owner (design section 5).
func IntegratorID(teamID string) string { return IDPart("codex-integrator-" + teamID) }

// WorkerID is the generated worker for an assignment without a session bind.
func WorkerID(assignmentID string) string { return IDPart("codex-worker-" + assignmentID) }

// Actor is who acts: an agent, an integrator, a human or a node, with its
// long-lived capabilities. It claims no work by itself.
type Actor struct {
	ID           string         `json:"actor_id"`
	Role         Role           `json:"role"`
	Kind         string         `json:"actor_kind"` // the seed's free text, such as "ai"
	DisplayName  string         `json:"display_name"`
	Provider     string         `json:"provider"` // such as "codex" or "local"
	Status       string         `json:"status"`   // active | unavailable
	Capabilities map[string]any `json:"capabilities" gorm:"serializer:json"`
	LastSeenAt   time.Time      `json:"last_seen_at" gorm:"serializer:ms"`
	CreatedAt    time.Time      `json:"created_at" gorm:"serializer:ms"`
	UpdatedAt    time.Time      `json:"updated_at" gorm:"serializer:ms"`
}

// The statuses of an actor and of an adapter's probe.
const (
	StatusActive      = "active"
	StatusUnavailable = "unavailable"
	StatusArchived    = "archived"
)
