package models

import "time"

// Workspace is a registered repository: its canonical root, Git common
// directory and the node that holds it.
type Workspace struct {
	ID            string         `json:"workspace_id"`
	Name          string         `json:"name"`
	RepoRoot      string         `json:"repo_root"`      // absolute, symlinks resolved
	GitCommonDir  string         `json:"git_common_dir"` // "" where the folder has no Git
	DefaultBranch string         `json:"default_branch"`
	NodeID        string         `json:"node_id"`
	Status        string         `json:"status"`   // active | archived
	MaxRuns       int            `json:"max_runs"` // concurrent runs in the workspace; 0 is no cap
	Metadata      map[string]any `json:"metadata" gorm:"serializer:json"`
	Version       int            `json:"version"`
	CreatedAt     time.Time      `json:"created_at" gorm:"serializer:ms"`
	UpdatedAt     time.Time      `json:"updated_at" gorm:"serializer:ms"`

	Settings WorkspaceSettings `json:"settings" gorm:"serializer:json"`
}

// InUse refuses new things in a workspace that is archived. Errors: INVALID_ARGUMENT.
func (w Workspace) InUse() error {
	if w.Status != StatusArchived {
		return nil
	}
	return Invalid("workspace_id", "workspace %q is archived", w.ID).With("workspace_id", w.ID).Hint("cox workspace restore %s", w.ID)
}

// Team is the people and agents of one board in a workspace. Its owner is its
// integrator. Ids are unique in a ledger.
type Team struct {
	ID           string         `json:"team_id"`
	WorkspaceID  string         `json:"workspace_id"`
	Name         string         `json:"name"`
	PhaseKey     string         `json:"phase_key"` // the phase of a plan that the team works on, free text
	OwnerActorID string         `json:"owner_actor_id"`
	Status       string         `json:"status"` // active | archived
	Loop         LoopSettings   `json:"loop" gorm:"serializer:json"`
	Pause        *LoopPause     `json:"pause,omitempty" gorm:"serializer:json"` // what a person told the loop to hold; nil for nothing
	Settings     map[string]any `json:"settings" gorm:"serializer:json"`
	Version      int            `json:"version"`
	CreatedAt    time.Time      `json:"created_at" gorm:"serializer:ms"`
	UpdatedAt    time.Time      `json:"updated_at" gorm:"serializer:ms"`
}

// Adapter kinds as they appear in records (seed 000, command envelope).
const (
	AdapterKindCodex = "codex_app_server"
	AdapterKindFake  = "fake_codex"
)

// LoopSettings are what `cox loop` writes for a team; the loop workflow and the
// planner read them. Durations are seconds in the ledger and in JSON.
type LoopSettings struct {
	Enabled             bool   `json:"enabled"`               // whether new assignments are started
	AdapterKind         string `json:"adapter_kind"`          // AdapterKindCodex (default) or AdapterKindFake
	PollIntervalSeconds int    `json:"poll_interval_seconds"` // how often the worker evaluates the plan query; 10
	MaxConcurrentRuns   int    `json:"max_concurrent_runs"`   // runs of the team without an end; 1
	ReviewNudgeSeconds  int    `json:"review_nudge_seconds"`  // between two nudges of one handoff; 60
	ReviewMaxNudges     int    `json:"review_max_nudges"`     // then a person is asked; 3
	RunLeaseTTLSeconds  int    `json:"run_lease_ttl_seconds"` // a claim's life without a heartbeat; 3600
	Model               string `json:"model,omitempty"`       // the Codex model; "" is the user's own default
	SetBy               string `json:"set_by,omitempty"`      // who wrote these settings last
	Owner               string `json:"owner,omitempty"`       // the command with whose end the loop goes off; "" lets it stay on
}

// DefaultLoop returns the settings of a team whose loop was never configured
// (seed 000, initial flags).
func DefaultLoop() LoopSettings {
	return LoopSettings{
		AdapterKind: AdapterKindCodex, PollIntervalSeconds: 10, MaxConcurrentRuns: 1,
		ReviewNudgeSeconds: 60, ReviewMaxNudges: 3, RunLeaseTTLSeconds: 3600,
	}
}

// RunLeaseTTL is the life of a claim without a heartbeat.
func (l LoopSettings) RunLeaseTTL() time.Duration {
	return time.Duration(l.RunLeaseTTLSeconds) * time.Second
}

// ReviewNudgeInterval is the time between two nudges of one handoff.
func (l LoopSettings) ReviewNudgeInterval() time.Duration {
	return time.Duration(l.ReviewNudgeSeconds) * time.Second
}

// Probe is what an adapter said it can do, when, and whether its sandbox
// profile was proved.
type Probe struct {
	AdapterKind   string          `json:"adapter_kind"`
	Version       string          `json:"version"`
	Transport     string          `json:"transport"`                    // stdio | unix | process
	Fallback      string          `json:"transport_fallback,omitempty"` // why it is not unix where that is usual
	Status        string          `json:"status"`                       // active | unavailable
	Reason        string          `json:"reason,omitempty"`
	Capabilities  map[string]bool `json:"capabilities"`
	SandboxProved bool            `json:"sandbox_proved"`
	SandboxDetail string          `json:"sandbox_detail,omitempty"`
	ProofKey      string          `json:"proof_key,omitempty"` // Codex version and profile that the proof holds for
	Incarnation   int             `json:"incarnation"`         // the node incarnation that probed
	ProbedAt      time.Time       `json:"probed_at"`
}

// RequiredCapabilities are those without which the loop refuses to run, in the
// order they are named to the user (seed 000, Codex adapter).
func RequiredCapabilities() []string {
	return []string{
		"can_start_thread", "can_resume_thread", "can_start_turn", "can_steer_turn",
		"can_interrupt_turn", "can_read_thread", "can_observe_turns",
	}
}

// Missing returns the required capabilities that the probe does not have.
func (p Probe) Missing() []string {
	var out []string
	for _, name := range RequiredCapabilities() {
		if !p.Capabilities[name] {
			out = append(out, name)
		}
	}
	return out
}

// Node is one host's worker: its incarnation rises whenever its worker starts.
type Node struct {
	ID          string           `json:"node_id"`
	Name        string           `json:"name"`
	Incarnation int              `json:"incarnation"`
	MaxRuns     int              `json:"max_runs"`                      // concurrent runs on the node; 0 is no cap
	Probes      map[string]Probe `json:"probes" gorm:"serializer:json"` // by adapter kind
	HeartbeatAt time.Time        `json:"heartbeat_at" gorm:"serializer:ms"`
	CreatedAt   time.Time        `json:"created_at" gorm:"serializer:ms"`
	UpdatedAt   time.Time        `json:"updated_at" gorm:"serializer:ms"`
}
