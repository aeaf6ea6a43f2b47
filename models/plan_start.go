package models

import (
	"cmp"
	"fmt"
	"strings"
)

// planStarts gives the candidates their slots in order. Each one gets a start or
// a reason.
func planStarts(in PlanInput, usable bool, why string, out *Planned) {
	holds := in.Holds
	free, full := freeSlots(in.Capacity)
	for _, c := range in.Starts {
		left, ok := startRefused(in, c, holds)
		switch {
		case ok && in.Pause != nil:
			left = LeftOut{Code: "paused", Reason: "loop: " + in.Pause.Why() + "; " + in.Pause.Next(in.TeamID) + " lets it go on"}
		case ok && in.OnlyLive:
			left = LeftOut{Code: "loop_off", Reason: "loop: off for this team; cox loop turns it on"}
		case ok && in.Held():
			left = LeftOut{Code: "usage_limit", Reason: "account: usage limit until " + in.HeldUntil.UTC().Format("2006-01-02 15:04Z")}
		case ok && !usable:
			left = LeftOut{Code: "adapter", Reason: why}
		case ok && free == 0:
			left = LeftOut{Code: "capacity", Reason: full}
		case ok:
			out.Commands = append(out.Commands, in.start(c))
			holds = append(holds, Hold{AssignmentID: c.ID, AllowedPaths: c.AllowedPaths})
			free--
			continue
		}
		if !c.Asked && !in.OnlyLive && in.Pause == nil {
			askAboutStart(in, c, left.Code, out)
		}
		left.AssignmentID = c.ID
		out.LeftOut = append(out.LeftOut, left)
	}
}

// freeSlots is how many starts fit into every limit, -1 for no limit at all, and
// what to say once they are taken.
func freeSlots(limits []Capacity) (int, string) {
	free, full := -1, ""
	for _, c := range limits {
		if c.Limit == 0 {
			continue
		}
		left := max(c.Limit-c.Open, 0)
		if free < 0 || left < free {
			free, full = left, c.taken()
		}
	}
	return free, full
}

// taken says who has the slots of a limit, and for whom they wait.
func (c Capacity) taken() string {
	const shown = 3
	text := fmt.Sprintf("capacity: all %d runs of the %s are taken", c.Limit, c.Name)
	if n := len(c.TakenBy); n > shown {
		text += fmt.Sprintf(" by %s and %d more", strings.Join(c.TakenBy[:shown], ", "), n-shown)
	} else if n > 0 {
		text += " by " + strings.Join(c.TakenBy, ", ")
	}
	if n := len(c.Waiting); n > 0 {
		text += fmt.Sprintf("; %s waits for a person: cox inbox", strings.Join(c.Waiting[:min(n, shown)], ", "))
	}
	return text
}

// startRefused tells why a candidate cannot start now, apart from slots and
// adapter.
func startRefused(in PlanInput, c StartCandidate, holds []Hold) (LeftOut, bool) {
	switch {
	case len(c.Blockers) > 0:
		return LeftOut{Code: "dependency", Reason: waitReason(c.ID, c.Blockers)}, false
	case c.RunOpen:
		return LeftOut{Code: "run_open", Reason: "run: an earlier run or command of it has not ended"}, false
	case in.Parked != "" || c.Parked != "":
		return LeftOut{Code: "breaker", Reason: "parked: " + cmp.Or(c.Parked, in.Parked)}, false
	case capText(in, c) != "":
		return LeftOut{Code: "cap", Reason: "cap: " + capText(in, c)}, false
	case c.FailedStarts >= MaxStartAttempts:
		return LeftOut{Code: "start_failed", Reason: fmt.Sprintf("start: failed %d times: %s", c.FailedStarts, c.FailureReason)}, false
	}
	if c.FailedStarts > 0 {
		if due := c.LastFailure.Add(BackOff(c.FailedStarts)); in.Now.Before(due) {
			return LeftOut{Code: "back_off", Reason: "start: failed, tried again at " + due.UTC().Format("15:04:05Z") + ": " + c.FailureReason}, false
		}
	}
	for _, h := range holds {
		if h.AssignmentID != c.ID && PathsMeet(h.AllowedPaths, c.AllowedPaths) {
			return LeftOut{Code: "path", Reason: fmt.Sprintf("deferred: path:%s held by %s until it ends", pathsText(c.AllowedPaths), h.AssignmentID)}, false
		}
	}
	return LeftOut{}, true
}

func capText(in PlanInput, c StartCandidate) string {
	_, text := in.Settings.CapReached(c.Use, true)
	return text
}

// askAboutStart asks a person about a start that only one can bring forward.
func askAboutStart(in PlanInput, c StartCandidate, code string, out *Planned) {
	switch code {
	case "start_failed":
		askStartFailed(c, out)
	case "cap":
		out.Asks = append(out.Asks, askCap("", c.ID, capText(in, c)))
	}
}

func pathsText(paths []string) string {
	if len(paths) == 0 {
		return "."
	}
	return strings.Join(paths, ",")
}

func (in PlanInput) start(c StartCandidate) Command {
	cmd := in.command(CommandStart, c.ID, fmt.Sprintf("rev%d", c.Revision), c.FailedStarts+1, "ready")
	cmd.AssignmentID, cmd.AssignmentRevision, cmd.TargetActorID = c.ID, c.Revision, c.Target
	cmd.PromptKind = PromptWorker
	cmd.IdempotencyKey = fmt.Sprintf("%s:%d:start:%d", c.ID, c.Revision, cmd.Attempt)
	if c.Status == AssignmentNeedsFix {
		cmd.Reason = "needs_fix"
		if c.OnThread {
			cmd.PromptKind = PromptFix
		}
	}
	return cmd
}

func askStartFailed(c StartCandidate, out *Planned) {
	out.Asks = append(out.Asks, Ask{
		AssignmentID: c.ID, Kind: "start_failed",
		Prompt: fmt.Sprintf("Starting %s failed %d times. Last reason: %s", c.ID, c.FailedStarts, c.FailureReason),
	})
}
