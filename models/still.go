package models

import (
	"fmt"
	"time"
)

// StillReason is one answer to the question why something does not move.
type StillReason struct {
	Code    string // as Still.Code
	Meaning string // for the documents
	Next    string // what a person may do, "" for wait
}

// The codes of reasons that are used by name. Those of the planner's left out starts
// are the same words.
const (
	StillNoWorker   = "no_worker"
	StillEngineAway = "engine_away"
	StillStopped    = "stopped"
	StillQuestion   = "question"
	StillApproval   = "approval"
	StillBreaker    = "breaker"
	StillCap        = "cap"
	StillUsageLimit = "usage_limit"
	StillLoopOff    = "loop_off"
	StillPaused     = "paused"
	StillAdapter    = "adapter"
	StillUnasked    = "unasked"
	StillReview     = "review"
	StillRetry      = "retry"
	StillMessage    = "message"
	StillOutside    = "outside"
	StillQueued     = "queued"
)

// StartAgain is the command that helps when Temporal does not answer a worker that
// runs: `cox up` alone would find that one, and leave it as it is.
const StartAgain = "cox down && cox up"

// StillReasons are all reasons, in the order in which the first that holds is told. A
// new reason gets its row here and its case in WhyStill.
func StillReasons() []StillReason {
	return []StillReason{
		{StillQuestion, "a question about it waits for a person", `cox intervention respond --response "…" ID`},
		{StillApproval, "its agent asks a person for leave", "cox intervention show ID"},
		{StillUnasked, "it waits for a person whom nobody asked", "cox assignment show ID"},
		{StillStopped, "a person stopped its team", "cox resume"},
		{StillReview, "its handoff waits for a decision", "cox review accept ID"},
		{"dependency", "it depends on work that is not accepted", "cox assignment show ID"},
		{"run_open", "an earlier run or command of it has not ended", ""},
		{"start_failed", "its start failed too often", `cox intervention respond --response "…" ID`},
		{"back_off", "its start failed and is tried again at a time", ""},
		{StillUsageLimit, "the account's usage limit holds it until its reset", ""},
		{StillBreaker, "it, or its team, was parked after identical failures", "cox inbox"},
		{StillCap, "it has used up what its workspace allows one assignment", "cox inbox"},
		{"path", "other work holds paths that it needs", ""},
		{StillPaused, "a person paused its loop", "cox loop resume"},
		{StillLoopOff, "the loop of its team is off", "cox loop --team TEAM; where no worker runs: cox up --team TEAM"},
		{StillAdapter, "the adapter cannot be had, or was not asked yet", "cox doctor"},
		{"capacity", "every run of the node, the workspace or the team is taken", ""},
		{StillNoWorker, "no worker of its node runs", "cox up"},
		{StillEngineAway, "Temporal does not answer the worker", StartAgain},
		{StillRetry, "it is tried again at a time", ""},
		{StillMessage, "its message could not be sent yet", "cox run logs ID"},
		{StillOutside, "somebody whom no node manages has claimed it", "cox run show ID"},
		{StillQueued, "it is about to start", ""},
	}
}

// Still is something that does not move, with the one reason that counts.
type Still struct {
	AssignmentID string           `json:"assignment_id"`
	TeamID       string           `json:"team_id"`
	RunID        string           `json:"run_id,omitempty"`
	Status       AssignmentStatus `json:"status"`
	Code         string           `json:"code"` // of StillReasons
	Reason       string           `json:"reason"`
	Next         string           `json:"next,omitempty"` // the command that helps; "" where only time does
}

// StillFacts is what the reason of one assignment is composed from.
type StillFacts struct {
	AssignmentID string
	TeamID       string
	Status       AssignmentStatus
	Pause        *LoopPause    // of its team
	Question     *Intervention // the oldest open one about it
	Reviewer     string        // whose decision its handoff waits for
	HandoffID    string
	Left         *LeftOut   // why the planner starts it not, nil when it would
	RunID        string     // of its open run, "" without one
	Managed      bool       // by a node
	TurnActive   bool       // a turn of the run goes on
	RetryAt      *time.Time // when an open command or message is tried again; nil for at once
	HeldCode     string     // what else its run waits for: usage_limit or breaker, "" for nothing
	HeldReason   string     // the same for a person
	MessageWhy   string     // why the message was not sent yet
	WorkerAway   bool       // the node that would move it is silent
	EngineAway   bool
}

// WhyStill composes the one reason why an assignment does not move; false when it
// moves, or has ended. What only a person can change goes before what the machine is
// about to do.
func WhyStill(f StillFacts) (Still, bool) {
	s := Still{AssignmentID: f.AssignmentID, TeamID: f.TeamID, RunID: f.RunID, Status: f.Status}
	if f.Status.Terminal() {
		return s, false
	}
	for _, rule := range []func(StillFacts, *Still){stillForPerson, stillForStart, stillForMachine} {
		if rule(f, &s); s.Code != "" {
			return s, true
		}
	}
	return s, false
}

func (s *Still) because(code, next, format string, args ...any) {
	s.Code, s.Next, s.Reason = code, next, fmt.Sprintf(format, args...)
}

// stillForPerson finds what waits for a person or for an integrator's decision.
func stillForPerson(f StillFacts, s *Still) {
	switch {
	case f.Question != nil:
		q := f.Question
		s.because(codeOfQuestion(q.Kind), "cox "+HowToAnswer(q.Kind, q.ID), "waits for a person (%s): %s", q.Kind, q.Prompt)
	case f.Status == AssignmentAwaitingHuman || f.Status == AssignmentAwaitingApproval:
		s.because(StillUnasked, "cox assignment show "+f.AssignmentID, "waits for a person, and no question about it is open")
	case f.Pause.Stopped() && !f.TurnActive:
		s.because(StillStopped, f.Pause.Next(f.TeamID), "its team is %s", f.Pause.Why())
	case f.Status == AssignmentAwaitingReview:
		s.because(StillReview, "cox review accept "+f.HandoffID, "its handoff waits for a decision by %s", f.Reviewer)
	}
}

// codeOfQuestion tells an agent's request, a cap and a tripped breaker from every other
// question.
func codeOfQuestion(kind string) string {
	switch kind {
	case InterventionApproval:
		return StillApproval
	case AskCap:
		return StillCap
	case AskBreaker:
		return StillBreaker
	}
	return StillQuestion
}

// stillForStart says why the planner does not start it.
func stillForStart(f StillFacts, s *Still) {
	if f.Left == nil || f.RunID != "" {
		return
	}
	next := ""
	switch f.Left.Code {
	case "run_open":
		if f.WorkerAway || f.EngineAway || f.RetryAt != nil {
			return // which is why what is open does not end
		}
		next = "cox assignment show " + f.AssignmentID
	case "dependency", "start_failed":
		next = "cox assignment show " + f.AssignmentID
	case StillPaused:
		next = f.Pause.Next(f.TeamID)
	case StillLoopOff:
		next = "cox loop --team " + f.TeamID
		if f.WorkerAway { // without one no loop gets ready
			next = "cox up --team " + f.TeamID
		}
	case StillBreaker, StillCap:
		next = "cox inbox"
	case StillAdapter:
		next = "cox doctor"
		if f.WorkerAway {
			return // which is why it was not asked
		}
	}
	s.because(f.Left.Code, next, "%s", f.Left.Reason)
}

// stillForMachine says why what the machine should do is not done.
func stillForMachine(f StillFacts, s *Still) {
	switch {
	case f.RunID != "" && !f.Managed:
		s.because(StillOutside, "cox run show "+f.RunID, "claimed by somebody whom no node manages")
	case f.WorkerAway:
		s.because(StillNoWorker, "cox up", "no worker of its node runs")
	case f.TurnActive:
	case f.EngineAway:
		s.because(StillEngineAway, StartAgain, "Temporal does not answer the worker")
	case f.MessageWhy != "":
		s.because(StillMessage, "cox run logs "+f.RunID, "its message was not sent yet: %s", f.MessageWhy)
	case f.HeldCode != "":
		next := ""
		if f.HeldCode == StillBreaker {
			next = "cox inbox"
		}
		s.because(f.HeldCode, next, "%s", f.HeldReason)
	case f.RetryAt != nil:
		s.because(StillRetry, "", "tried again at %s", f.RetryAt.UTC().Format("15:04:05Z"))
	case f.RunID == "" && f.Left == nil && f.Status.Startable():
		s.because(StillQueued, "", "about to start")
	}
}
