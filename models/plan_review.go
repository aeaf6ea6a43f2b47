package models

import "fmt"

// planReviews nudges the team's integrator about every undecided handoff that is
// due, in one command, and asks a person about those that were nudged in vain. A
// reviewer's own question holds them back; its answer makes the nudge due at once.
// A nudge speaks for the whole team, so that a pass over one assignment makes none.
func planReviews(in PlanInput, usable bool, out *Planned) {
	var due []ReviewDue
	for _, r := range in.Reviews {
		if !r.TurnEnded || r.Waiting || !r.Managed && !in.Loop.Enabled {
			continue
		}
		if r.Nudges > 0 && in.Now.Before(r.LastNudgeAt.Add(in.Loop.ReviewNudgeInterval())) {
			continue
		}
		if r.Nudges >= in.Loop.ReviewMaxNudges && !r.Asked {
			askReview(r, out)
			continue
		}
		if r.Nudges <= in.Loop.ReviewMaxNudges { // the last one says that a person was asked
			due = append(due, r)
		}
	}
	if len(due) == 0 || !usable || in.OpenNudge || !in.ReviewIdle || in.ReviewedBy == RoleHuman || in.OneAssignment != "" {
		return
	}
	oldest := due[0]
	cmd := in.command(CommandNudge, in.TeamID, oldest.EventID, oldest.Nudges+1, "undecided handoffs")
	cmd.PromptKind = PromptReview
	if oldest.Nudges >= in.Loop.ReviewMaxNudges {
		cmd.PromptKind = PromptEscalation
	}
	for _, r := range due {
		cmd.EventIDs = append(cmd.EventIDs, r.EventID)
	}
	out.Commands = append(out.Commands, cmd)
}

func askReview(r ReviewDue, out *Planned) {
	out.Asks = append(out.Asks, Ask{
		RunID: r.RunID, AssignmentID: r.AssignmentID, Kind: AskReviewIgnored,
		Prompt: fmt.Sprintf("The handoff %s of %s was nudged %d times and is still undecided. Decide it: cox review list", r.EventID, r.AssignmentID, r.Nudges),
	})
}
