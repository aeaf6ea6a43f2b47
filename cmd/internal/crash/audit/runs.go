package audit

import (
	"fmt"

	"coxswain/models"
)

// runs checks that there is one run for each attempt, one start for each run, and
// as many claims as the work needed.
func runs(e Evidence) []Finding {
	var out []Finding
	attempts := map[string]string{}
	numbers := map[string]int{}
	for _, r := range e.Runs {
		key := fmt.Sprintf("%s attempt %d", r.AssignmentID, r.Attempt)
		if other, twice := attempts[key]; twice {
			out = append(out, finding(RepeatedRun, r.ID, key+" has run "+other+" already"))
		}
		attempts[key] = r.ID
		numbers[r.AssignmentID] = max(numbers[r.AssignmentID], r.Attempt)
	}
	for _, w := range e.Wants {
		n := 0
		for _, r := range e.Runs {
			if r.AssignmentID == w.AssignmentID {
				n++
			}
		}
		if n != numbers[w.AssignmentID] {
			out = append(out, finding(RepeatedRun, w.AssignmentID, fmt.Sprintf("%d runs for %d attempts", n, numbers[w.AssignmentID])))
		}
		if got := claims(e, w.AssignmentID); got != w.Claims {
			out = append(out, finding(RepeatedRun, w.AssignmentID, fmt.Sprintf("was claimed %d times, want %d", got, w.Claims)))
		}
	}
	return append(out, starts(e)...)
}

func claims(e Evidence, assignmentID string) int {
	n := 0
	for _, ev := range e.Events {
		if renewal, _ := ev.Payload["renewal"].(bool); ev.Type == models.EventRunClaimed && ev.AssignmentID == assignmentID && !renewal {
			n++
		}
	}
	return n
}

// starts checks that each run belongs to one start command and each command made
// one run.
func starts(e Evidence) []Finding {
	var out []Finding
	byRun := map[string]string{}
	for _, c := range e.Commands {
		if c.Type != models.CommandStart {
			continue
		}
		if other, twice := byRun[c.RunID]; twice {
			out = append(out, finding(RepeatedRun, c.RunID, "is started by "+other+" and by "+c.ID))
		}
		byRun[c.RunID] = c.ID
	}
	for _, r := range e.Runs {
		if r.BindingID != "" && byRun[r.ID] == "" {
			out = append(out, finding(RepeatedRun, r.ID, "no command started it"))
		}
	}
	return out
}

// journal checks that no effect was planned twice: commands are unique, and an
// attempt follows only one that failed with nothing done. Nudges have a check of
// their own.
func journal(e Evidence) []Finding {
	var out []Finding
	seen := map[string]bool{}
	states := map[string]models.CommandState{}
	key := func(c models.Command, attempt int) string {
		return fmt.Sprintf("%s %s %s %d", c.Type, c.Target, c.Cause, attempt)
	}
	for _, c := range e.Commands {
		k := key(c, c.Attempt)
		if seen[k] {
			out = append(out, finding(RepeatedCommand, c.ID, "is in the journal twice: "+k))
		}
		seen[k], states[k] = true, c.State
	}
	for _, c := range e.Commands {
		if c.Attempt == 1 || c.Type == models.CommandNudge {
			continue
		}
		former, found := states[key(c, c.Attempt-1)]
		if !found || former != models.CommandFailed {
			out = append(out, finding(RepeatedCommand, c.ID, fmt.Sprintf("attempt %d follows one that is %q", c.Attempt, former)))
		}
	}
	return out
}
