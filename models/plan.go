package models

import (
	"fmt"
	"time"
)

// The planner's limits. A run that reaches one of them waits for a person.
const (
	MaxHandoffNudges = 1                // resume prompts that only ask for the missing handoff
	MaxLostTurns     = 3                // lost turns in a row that are resumed by themselves
	MaxFailedTurns   = 5                // failed turns in a row that are tried again
	MaxStalledTurns  = 3                // turns in a row that were stopped because a clock ran out
	MaxStartAttempts = 5                // failed starts of one assignment revision
	ProbeTTL         = 10 * time.Minute // a probe older than this is refreshed
	UnavailableTTL   = 30 * time.Second // the same of a probe that found no adapter: its host may just have been killed
)

// PlanInput is everything the planner looks at, read in one transaction. It is
// the whole truth for one pass over a team, or over one assignment of it.
type PlanInput struct {
	Now         time.Time
	WorkspaceID string
	TeamID      string
	// OneAssignment limits the pass to one assignment; "" is the whole team.
	OneAssignment string
	Loop          LoopSettings
	Pause         *LoopPause // what a person told the loop to hold; nil for nothing
	ReviewedBy    Role       // the role of the team's integrator; a human is never nudged through a thread

	NodeID          string
	NodeIncarnation int
	Probe           *Probe // the last probe of the loop's adapter on the node; nil before the first
	AnyProbe        bool   // a dry run: believe a probe of any incarnation and age
	OpenRefresh     bool   // a refresh command is under way

	Settings  WorkspaceSettings
	HeldUntil time.Time // until when the account of the loop's adapter is held; zero when it is not
	Parked    string    // why identical failures hold the team back; "" when none do

	Capacity []Capacity // every limit that a start counts against

	Starts     []StartCandidate // in planning order
	Holds      []Hold           // who holds paths in the workspace
	Runs       []LiveRun        // managed runs without an end
	Reviews    []ReviewDue      // undecided handoffs, oldest first
	OpenNudge  bool             // a nudge of the team is under way
	ReviewIdle bool             // no turn of the team's integrator is active
	OnlyLive   bool             // plan no start: the scope is one assignment, or the loop is off
}

// Capacity is one limit on concurrent runs; Limit 0 is none.
type Capacity struct {
	Name    string // node, workspace, team
	Limit   int
	Open    int
	TakenBy []string // the assignments of the open runs
	Waiting []string // those of them that wait for a person
}

// StartCandidate is an assignment that a start could be planned for.
type StartCandidate struct {
	ID            string
	Revision      int
	Status        AssignmentStatus
	Target        string    // the worker, session_bind first
	AllowedPaths  []string  // none is the whole workspace
	Blockers      []Blocker // what it waits for: dependencies that are not accepted, or their replacements
	RunOpen       bool      // an earlier run has not ended, or a command is open
	FailedStarts  int       // failed start commands of this revision
	LastFailure   time.Time
	FailureReason string
	Asked         bool   // a person was asked about the failures or the cap and has not answered
	Parked        string // why identical failures hold it back; "" when none do
	Use           Use    // by its former runs
	Deferred      string // the reason that an earlier pass stored
	OnThread      bool   // a bound thread exists, so that a fix continues on it
}

// Hold is an assignment that holds its allowed paths from its first start to its
// end.
type Hold struct {
	AssignmentID string
	AllowedPaths []string
}

// LiveRun is a managed run without an end, with what its thread last did.
type LiveRun struct {
	RunID         string
	AssignmentID  string
	Revision      int
	ActorID       string
	Status        RunStatus
	LeaseExpired  bool
	StaleEventID  string // the last run_stale event after the last heartbeat
	HasThread     bool
	TurnActive    bool
	Busy          bool // an open command or an undelivered message that may begin a turn
	Steered       bool // a person's words were put into a turn, which has not read them yet
	LastTurn      *Turn
	LostInRow     int
	FailedInRow   int
	StalledInRow  int
	Parked        string // why identical failures hold it back; "" when none do
	Stale         string // what ran out for the active turn; "" when nothing did, or an interrupt is under way for it
	Use           Use    // by all runs of the assignment
	HandoffNudges int    // since the last answer
	CancelEventID string // of a cancelled or superseded assignment
	StopEventID   string // a person's stop that has not been carried out yet
	AnswerEventID string // an answer that no turn has started after
}

// ReviewDue is an undecided handoff.
type ReviewDue struct {
	EventID      string
	AssignmentID string
	RunID        string
	Managed      bool
	TurnEnded    bool // the handoff's own turn has ended, or its run is not managed
	Nudges       int  // since the last answer of a person about it
	LastNudgeAt  time.Time
	Asked        bool // a person was asked since then, because nobody took it
	Waiting      bool // a question about it is open, put by a reviewer
}

// Planned is the outcome of a pass. Applying the same one twice creates nothing
// twice, since the journal is unique on what a command is for; the ledger raises
// the attempt where the former one failed with nothing done.
type Planned struct {
	Commands []Command
	Asks     []Ask
	LeftOut  []LeftOut
}

// Empty tells whether a pass would change nothing.
func (p Planned) Empty() bool { return len(p.Commands) == 0 && len(p.Asks) == 0 }

// Ask is a question to a person that the planner raises: a run that cannot go on
// by itself, or a review that nobody takes.
type Ask struct {
	RunID        string
	AssignmentID string
	Kind         string // no_handoff, turn_lost, turn_failed, run_stale, cap_reached, review_ignored, start_failed
	Prompt       string
}

// AskReviewIgnored is the kind of the question about a handoff that nobody
// decides.
const AskReviewIgnored = "review_ignored"

// LeftOut is an assignment without a start and why.
type LeftOut struct {
	AssignmentID string `json:"assignment_id"`
	Code         string `json:"code"` // dependency, run_open, path, capacity, adapter, back_off, start_failed, paused, loop_off, usage_limit, breaker, cap
	Reason       string `json:"reason"`
}

// Plan decides the commands of one pass. It is deterministic: the same input
// gives the same output, in the order refresh, interrupts, resumes, nudge,
// starts; starts keep the order of the candidates (seed 000, scheduler).
func Plan(in PlanInput) Planned {
	var out Planned
	usable, why := planRefresh(in, &out)
	planRuns(in, usable, &out)
	planReviews(in, usable && !in.Held(), &out)
	planStarts(in, usable, why, &out)
	return out
}

// planRefresh asks for a new probe where the last one is missing, of an earlier
// incarnation, or expired while there is work for it (an idle loop stays idle),
// and tells whether the adapter can be used now.
func planRefresh(in PlanInput, out *Planned) (usable bool, why string) {
	p := in.Probe
	if in.AnyProbe {
		if p == nil {
			return true, "" // a dry run says so beside the plan
		}
		return probeUsable(*p)
	}
	var cause string
	switch {
	case in.NodeID == "":
		return false, "adapter: no node serves this workspace; cox worker starts one"
	case p == nil || p.Incarnation != in.NodeIncarnation:
		cause = fmt.Sprintf("inc%d-%s", in.NodeIncarnation, in.Loop.AdapterKind)
	case in.Now.Sub(p.ProbedAt) > p.life() && len(in.Starts)+len(in.Runs)+len(in.Reviews) > 0:
		cause = fmt.Sprintf("probe%d-%s", p.ProbedAt.UnixMilli(), in.Loop.AdapterKind)
	default:
		return probeUsable(*p)
	}
	if !in.OpenRefresh {
		out.Commands = append(out.Commands, in.command(CommandRefresh, in.NodeID, cause, 1, "the last probe is missing or too old"))
	}
	if p != nil && p.Incarnation == in.NodeIncarnation {
		return probeUsable(*p) // an expired probe is still the best knowledge
	}
	return false, "adapter: waiting for its probe"
}

// life is how long a probe stands.
func (p Probe) life() time.Duration {
	if p.Status != StatusActive {
		return UnavailableTTL
	}
	return ProbeTTL
}

func probeUsable(p Probe) (bool, string) {
	if p.Status != StatusActive {
		return false, "adapter: " + p.AdapterKind + " is unavailable: " + p.Reason
	}
	if missing := p.Missing(); len(missing) > 0 {
		return false, fmt.Sprintf("adapter: %s lacks %v", p.AdapterKind, missing)
	}
	return true, ""
}

// command fills what all commands of the pass share.
func (in PlanInput) command(t CommandType, target, cause string, attempt int, reason string) Command {
	return Command{
		ID: CommandID(t, target, cause, attempt), Type: t, Target: target, Cause: cause, Attempt: attempt,
		State: CommandIntended, WorkspaceID: in.WorkspaceID, TeamID: in.TeamID, NodeID: in.NodeID,
		AdapterKind: in.Loop.AdapterKind, Reason: reason, CreatedAt: in.Now,
		IdempotencyKey: fmt.Sprintf("%s:%s:%s:%d", target, cause, t.verb(), attempt),
	}
}

// verb is the short word of the command in its idempotency key.
func (t CommandType) verb() string {
	switch t {
	case CommandStart:
		return "start"
	case CommandResume:
		return "resume"
	case CommandNudge:
		return "nudge"
	case CommandInterrupt:
		return "interrupt"
	case CommandRefresh:
		return "refresh"
	}
	return string(t)
}

// BackOff is the wait before try n+1 after n failures: 10 s doubled each time, at
// most 5 min.
func BackOff(failures int) time.Duration {
	d := 10 * time.Second
	for i := 1; i < failures && d < 5*time.Minute; i++ {
		d *= 2
	}
	return min(d, 5*time.Minute)
}
