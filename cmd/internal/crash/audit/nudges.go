package audit

import (
	"fmt"
	"slices"

	"coxswain/models"
)

// nudges checks that every handoff was decided or reminded of, that what the journal
// calls a sent reminder was sent, and that an attempt sent one only.
func nudges(e Evidence) []Finding {
	var out []Finding
	sent := map[string][]models.OutboxItem{} // by command
	for _, m := range e.Messages {
		sent[m.CommandID] = append(sent[m.CommandID], m)
	}
	named := map[string]bool{}
	attempts := map[string]string{}
	for _, c := range e.Commands {
		if c.Type != models.CommandNudge {
			continue
		}
		for _, id := range c.EventIDs {
			named[id] = true
		}
		key := fmt.Sprintf("%s attempt %d", c.Cause, c.Attempt)
		if other, twice := attempts[key]; twice {
			out = append(out, finding(RepeatedNudge, c.ID, "event "+key+" has nudge "+other+" already"))
		}
		attempts[key] = c.ID
		out = append(out, reminder(c, sent[c.ID])...)
	}
	return append(out, unreminded(e, named)...)
}

// reminder checks the message of one nudge.
func reminder(c models.Command, sent []models.OutboxItem) []Finding {
	switch {
	case c.State == models.CommandDone && len(sent) == 0:
		return []Finding{finding(LostNudge, c.ID, "is done and has no message")}
	case len(sent) > 1:
		return []Finding{finding(RepeatedNudge, c.ID, fmt.Sprintf("has %d messages", len(sent)))}
	case len(sent) == 1 && sent[0].State == models.OutboxFailed:
		return []Finding{finding(LostNudge, c.ID, "its message failed: "+sent[0].Reason)}
	}
	return nil
}

// unreminded are the handoffs that nobody decided and nobody was told of.
func unreminded(e Evidence, named map[string]bool) []Finding {
	var out []Finding
	for _, ev := range e.Events {
		if ev.Type != models.EventHandoffSubmitted || named[ev.ID] {
			continue
		}
		over := slices.ContainsFunc(e.Events, func(d models.Event) bool {
			return d.Sequence > ev.Sequence && (d.ReviewedEventID == ev.ID ||
				d.AssignmentID == ev.AssignmentID && (d.Type == models.EventAssignmentCancelled || d.Type == models.EventAssignmentSuperseded))
		})
		if !over {
			out = append(out, finding(LostNudge, ev.ID, "handoff of "+ev.AssignmentID+" is undecided and no nudge names it"))
		}
	}
	return out
}
