package models

import (
	"fmt"
	"time"
)

// planRuns looks after the runs that are under way: interrupts first, then
// resumes and questions.
func planRuns(in PlanInput, usable bool, out *Planned) {
	for _, r := range in.Runs {
		if cause, reason := r.interruptCause(); cause != "" && !r.Busy {
			out.Commands = append(out.Commands, in.interrupt(r, cause, reason))
		}
	}
	for _, r := range in.Runs {
		if cause, _ := r.interruptCause(); cause == "" && usable {
			planRun(in, r, out)
		}
	}
}

// interruptCause is the event that asks for an interrupt and its word: the end of
// the assignment goes before a stop, which only pauses it.
func (r LiveRun) interruptCause() (eventID, reason string) {
	switch {
	case r.CancelEventID != "":
		return r.CancelEventID, "cancelled"
	case r.StopEventID != "" && !r.Status.Terminal():
		return r.StopEventID, "stopped"
	}
	return "", ""
}

func (in PlanInput) interrupt(r LiveRun, cause, reason string) Command {
	return in.forRun(in.command(CommandInterrupt, r.RunID, cause, 1, reason), r)
}

func (in PlanInput) forRun(cmd Command, r LiveRun) Command {
	cmd.RunID, cmd.AssignmentID, cmd.AssignmentRevision, cmd.TargetActorID = r.RunID, r.AssignmentID, r.Revision, r.ActorID
	return cmd
}

// planRun resumes one run or asks a person about it. A run that works, waits for
// a person, or has a message under way needs nothing.
func planRun(in PlanInput, r LiveRun, out *Planned) {
	if r.Status.Terminal() || !r.HasThread || r.Busy || r.Status == RunStarting {
		return
	}
	if r.TurnActive {
		askStale(r, out)
		return
	}
	if r.Steered { // words that went with their turn begin the next one
		return
	}
	if r.Status.Waiting() || held(in, r, out) {
		return
	}
	if r.AnswerEventID != "" {
		out.Commands = append(out.Commands, in.resume(r, r.AnswerEventID, "answered", 0))
		return
	}
	if r.LastTurn != nil {
		planAfterTurn(in, r, out)
	}
}

// askStale asks about an active turn whose clock or claim ran out. The turn runs on.
func askStale(r LiveRun, out *Planned) {
	why := r.Stale
	if why == "" && r.StaleEventID != "" {
		why = "it shows no progress, and its claim expired"
	}
	if why == "" || r.Status.Waiting() {
		return
	}
	out.Asks = append(out.Asks, Ask{
		RunID: r.RunID, AssignmentID: r.AssignmentID, Kind: AskStale,
		Prompt: fmt.Sprintf("The turn of run %s of %s is still active: %s. Any answer lets it go on for as long again, and is told to the worker when the turn ends; "+
			"cox run steer %s speaks into it, cox run interrupt %s stops it.", r.RunID, r.AssignmentID, why, r.RunID, r.RunID),
	})
}

// held tells whether something holds a run back that could go on: identical failures,
// the account's usage limit, or a cap, about which a person is asked.
func held(in PlanInput, r LiveRun, out *Planned) bool {
	if in.Parked != "" || r.Parked != "" || in.Held() {
		return true
	}
	if _, text := in.Settings.CapReached(r.Use, false); text != "" {
		out.Asks = append(out.Asks, askCap(r.RunID, r.AssignmentID, text))
		return true
	}
	return false
}

// Held tells whether the account is held after a usage limit.
func (in PlanInput) Held() bool { return in.HeldUntil.After(in.Now) }

func askCap(runID, assignmentID, text string) Ask {
	return Ask{
		RunID: runID, AssignmentID: assignmentID, Kind: AskCap,
		Prompt: fmt.Sprintf("%s is stopped by a cap: %s. Any answer gives it as much again; cox workspace set raises the cap for all.", assignmentID, text),
	}
}

// planAfterTurn decides by how the last turn ended.
func planAfterTurn(in PlanInput, r LiveRun, out *Planned) {
	t := r.LastTurn
	switch t.Status {
	case TurnCompleted:
		if r.HandoffNudges >= MaxHandoffNudges {
			out.Asks = append(out.Asks, ask(r, "no_handoff", "the turn ended without a handoff, also after a reminder"))
			return
		}
		out.Commands = append(out.Commands, in.resume(r, t.ID, "no_handoff", 0))
	case TurnLost, TurnInterrupted:
		if t.Stale != "" {
			planAfterStall(in, r, out)
			return
		}
		if r.LostInRow > MaxLostTurns {
			out.Asks = append(out.Asks, ask(r, "turn_lost", fmt.Sprintf("%d turns in a row were lost", r.LostInRow)))
			return
		}
		out.Commands = append(out.Commands, in.resume(r, t.ID, "turn_lost", 0))
	case TurnFailed:
		if r.FailedInRow >= MaxFailedTurns || RetryOf(t.ErrorKind) == RetryPerson {
			out.Asks = append(out.Asks, ask(r, "turn_failed", fmt.Sprintf("the turn failed (%s): %s", t.ErrorKind, t.Error)))
			return
		}
		out.Commands = append(out.Commands, in.resume(r, t.ID, "turn_failed", BackOff(r.FailedInRow)))
	case TurnActive: // planRun has left already
	}
}

// planAfterStall resumes a run whose turn was stopped because a clock ran out, each
// time later, and asks a person when that does not help.
func planAfterStall(in PlanInput, r LiveRun, out *Planned) {
	if r.StalledInRow >= MaxStalledTurns {
		out.Asks = append(out.Asks, ask(r, AskStale, fmt.Sprintf("%d turns in a row were stopped because a clock ran out, the last by %s", r.StalledInRow, r.LastTurn.Stale)))
		return
	}
	out.Commands = append(out.Commands, in.resume(r, r.LastTurn.ID, "stalled", BackOff(r.StalledInRow)))
}

func (in PlanInput) resume(r LiveRun, cause, reason string, wait time.Duration) Command {
	cmd := in.forRun(in.command(CommandResume, r.RunID, cause, 1, reason), r)
	cmd.PromptKind = PromptResume
	if wait > 0 {
		due := in.Now.Add(wait)
		cmd.NotBefore = &due
	}
	return cmd
}

func ask(r LiveRun, kind, why string) Ask {
	return Ask{
		RunID: r.RunID, AssignmentID: r.AssignmentID, Kind: kind,
		Prompt: fmt.Sprintf("Run %s of %s needs a decision: %s. Answer with what the worker shall do next.", r.RunID, r.AssignmentID, why),
	}
}
