package audit

import (
	"fmt"
	"slices"

	"coxswain/models"
)

// threads checks that every thread in which anything happened is the one of its
// binding, and that all work of an assignment is in one thread.
func threads(e Evidence) []Finding {
	var out []Finding
	bound := map[string]models.Binding{}
	for _, b := range e.Bindings {
		if b.ThreadID != "" {
			bound[b.ThreadID] = b
		}
	}
	used := map[string][]string{} // by assignment, or team for an integrator
	for _, t := range e.Threads {
		if len(t.Turns) == 0 && len(t.Messages) == 0 {
			continue // an empty one says nothing to anybody
		}
		b, known := bound[t.ID]
		if !known {
			out = append(out, finding(SecondThread, t.ID, fmt.Sprintf("has %d turns and belongs to nobody", len(t.Turns))))
			continue
		}
		owner := b.AssignmentID
		if b.Kind == models.BindingIntegrator {
			owner = "the integrator of " + b.TeamID
		}
		used[owner] = append(used[owner], t.ID)
	}
	owners := make([]string, 0, len(used))
	for owner := range used {
		owners = append(owners, owner)
	}
	slices.Sort(owners)
	for _, owner := range owners {
		if len(used[owner]) > 1 {
			out = append(out, finding(SecondThread, owner, fmt.Sprintf("was worked on in threads %v", used[owner])))
		}
	}
	for _, r := range e.Runs {
		if b, ok := bound[r.SessionRef]; r.SessionRef != "" && (!ok || b.ID != r.BindingID) {
			out = append(out, finding(SecondThread, r.ID, "names thread "+r.SessionRef+", which is not its binding's"))
		}
	}
	return out
}

// messages compares the outbox with the histories, both ways.
func messages(e Evidence) []Finding {
	var out []Finding
	queued := map[string]models.OutboxItem{}
	for _, m := range e.Messages {
		queued[m.ID] = m
	}
	seen := map[string]string{} // where each message is
	for _, t := range e.Threads {
		for _, m := range t.Messages {
			if where, twice := seen[m.ID]; twice && m.ID != "" {
				out = append(out, finding(RepeatedMessage, m.ID, "is in thread "+where+" and again in "+t.ID))
			}
			seen[m.ID] = t.ID
			if _, known := queued[m.ID]; !known {
				out = append(out, finding(UnknownMessage, m.ID, "is in thread "+t.ID+" and was never queued"))
			}
		}
	}
	for _, m := range e.Messages {
		switch m.State {
		case models.OutboxDelivered:
			if seen[m.ID] != m.ThreadID {
				out = append(out, finding(LostMessage, m.ID, fmt.Sprintf("counts as delivered to thread %s and is in %q", m.ThreadID, seen[m.ID])))
			}
		case models.OutboxPending, models.OutboxSending:
			out = append(out, finding(OpenMessage, m.ID, "is still "+string(m.State)+": "+m.Reason))
		case models.OutboxFailed, models.OutboxDropped:
			if seen[m.ID] != "" {
				out = append(out, finding(LostMessage, m.ID, "is in thread "+seen[m.ID]+" and counts as "+string(m.State)))
			}
		}
	}
	return out
}

// turns compares the ledger's turns with those of the histories.
func turns(e Evidence) []Finding {
	var out []Finding
	history := map[string]string{}
	bound := map[string]bool{}
	for _, b := range e.Bindings {
		bound[b.ThreadID] = true
	}
	recorded := map[string]models.Turn{}
	for _, t := range e.Turns {
		recorded[t.ID] = t
	}
	for _, thread := range e.Threads {
		for _, t := range thread.Turns {
			history[t.ID] = t.Status
			if _, known := recorded[t.ID]; !known && bound[thread.ID] && (len(e.Marks) == 0 || !stillborn(thread, t)) {
				out = append(out, finding(TurnDiffers, t.ID, "of thread "+thread.ID+" is not in the ledger"))
			}
		}
	}
	for _, t := range e.Turns {
		status, known := history[t.ID]
		if !known && t.Items > 0 {
			out = append(out, finding(TurnDiffers, t.ID, fmt.Sprintf("has %d items in the ledger and is in no history", t.Items)))
		}
		if known && t.Status.Ended() && !agree(t.Status, status) {
			out = append(out, finding(TurnDiffers, t.ID, fmt.Sprintf("is %s in the ledger and %s in its history", t.Status, status)))
		}
	}
	return out
}

// stillborn tells whether a turn ended with its host before its message was stored:
// nobody was asked anything in it, and the message is sent again in another turn.
func stillborn(thread Thread, t Turn) bool {
	return t.Status == string(models.TurnInterrupted) &&
		!slices.ContainsFunc(thread.Messages, func(m Message) bool { return m.TurnID == t.ID })
}

// agree tells whether both speak of the same end. A turn whose host went reads as
// interrupted.
func agree(ledger models.TurnStatus, host string) bool {
	if ledger == models.TurnLost {
		return host == string(models.TurnInterrupted)
	}
	return host == string(ledger)
}
