package audit

import (
	"fmt"
	"strconv"

	"coxswain/models"
)

// ends compares how every assignment ended with how it had to.
func ends(e Evidence) []Finding {
	var out []Finding
	status := map[string]models.AssignmentStatus{}
	for _, a := range e.Assignments {
		status[a.ID] = a.Status
	}
	wanted := map[string]bool{}
	for _, w := range e.Wants {
		wanted[w.AssignmentID] = true
		if status[w.AssignmentID] != w.Status {
			out = append(out, finding(WrongEnd, w.AssignmentID, fmt.Sprintf("is %q, want %q", status[w.AssignmentID], w.Status)))
		}
	}
	for _, a := range e.Assignments {
		if !wanted[a.ID] {
			out = append(out, finding(WrongEnd, a.ID, "nobody asked for this assignment"))
		}
	}
	return append(out, decisions(e)...)
}

// decisions checks that no handoff was decided twice.
func decisions(e Evidence) []Finding {
	var out []Finding
	decided := map[string]string{}
	for _, ev := range e.Events {
		if ev.Type != models.EventIntegratorReview {
			continue
		}
		if first, twice := decided[ev.ReviewedEventID]; twice {
			out = append(out, finding(WrongEnd, ev.AssignmentID, fmt.Sprintf("handoff %s was decided by %s and again by %s", ev.ReviewedEventID, first, ev.ID)))
		}
		decided[ev.ReviewedEventID] = ev.ID
	}
	return out
}

// open finds what was left in the middle.
func open(e Evidence) []Finding {
	var out []Finding
	add := func(id, text string) { out = append(out, finding(OpenEnd, id, text)) }
	for _, r := range e.Runs {
		if r.EndedAt == nil {
			add(r.ID, fmt.Sprintf("run of %s has no proven end, it is %s", r.AssignmentID, r.Status))
		}
	}
	for _, t := range e.Tasks {
		if t.Status == "live" {
			add(t.ID, "task of run "+t.RunID+" still lives")
		}
	}
	for _, c := range e.Commands {
		if c.State.Open() {
			add(c.ID, "command is still "+string(c.State))
		}
	}
	for _, t := range e.Turns {
		if !t.Status.Ended() {
			add(t.ID, "turn of thread "+t.ThreadID+" is still active")
		}
	}
	for _, q := range e.Interventions {
		if q.Status == "open" {
			add(q.ID, "question about "+q.AssignmentID+" is still open: "+q.Kind)
		}
	}
	for _, id := range e.Unread {
		add(id, "workflow has not read what was raised for it")
	}
	return out
}

// Waiting are the ids of what is still under way: all that keeps a world from having
// come to rest.
func Waiting(e Evidence) []string {
	var out []string
	for _, f := range open(e) {
		out = append(out, f.Subject)
	}
	for _, m := range e.Messages {
		if m.State == models.OutboxPending || m.State == models.OutboxSending {
			out = append(out, m.ID)
		}
	}
	return out
}

// orphans are the processes that outlived their world.
func orphans(e Evidence) []Finding {
	var out []Finding
	for _, p := range e.Left {
		out = append(out, finding(OrphanProcess, strconv.Itoa(p.PID), p.Args))
	}
	return out
}
