package models

import "fmt"

// planReviews nudges the team's integrator about every undecided handoff that is
// due, in one command, and asks a person about those that were nudged in vain. A
// reviewer's own question holds them back; its answer makes the nudge due at once.
// A nudge speaks for the whole team, so that a pass over one assignment makes none.
// A team that a person stopped is left in peace.
func planReviews(in PlanInput, usable bool, out *Planned) {
	if in.Pause.Stopped() {
		return
	}
	var due, given []ReviewDue // given to a person: their last message says so
	for _, r := range in.Reviews {
		switch {
		case !r.TurnEnded || r.Waiting || !r.Managed && !in.Loop.Enabled:
		case r.Nudges > 0 && in.Now.Before(r.LastNudgeAt.Add(in.Loop.ReviewNudgeInterval())):
		case r.Nudges >= in.Loop.ReviewMaxNudges && !r.Asked:
			askReview(r, out)
		case r.Nudges < in.Loop.ReviewMaxNudges:
			due = append(due, r)
		case r.Nudges == in.Loop.ReviewMaxNudges:
			given = append(given, r)
		}
	}
	if !usable || in.OpenNudge || !in.ReviewIdle || in.ReviewedBy == RoleHuman || in.OneAssignment != "" {
		return
	}
	switch {
	case len(due) > 0:
		out.Commands = append(out.Commands, in.nudge(due, PromptReview))
	case len(given) > 0:
		out.Commands = append(out.Commands, in.nudge(given, PromptEscalation))
	}
}

// nudge is one message about handoffs, the oldest first.
func (in PlanInput) nudge(about []ReviewDue, kind PromptKind) Command {
	cmd := in.command(CommandNudge, in.TeamID, about[0].EventID, about[0].Nudges+1, "undecided handoffs")
	cmd.PromptKind = kind
	for _, r := range about {
		cmd.EventIDs = append(cmd.EventIDs, r.EventID)
	}
	return cmd
}

func askReview(r ReviewDue, out *Planned) {
	out.Asks = append(out.Asks, Ask{
		RunID: r.RunID, AssignmentID: r.AssignmentID, Kind: AskReviewIgnored,
		Prompt: fmt.Sprintf("The handoff %s of %s was nudged %d times and is still undecided. Decide it: cox review list", r.EventID, r.AssignmentID, r.Nudges),
	})
}
