package audit

import (
	"slices"

	"coxswain/models"
)

// late finds what runs wrote after their end: an agent that was replaced, or whose
// turn had ended, may change nothing any more.
func late(e Evidence) []Finding {
	var out []Finding
	over := map[string]int64{} // run → the event after which it may write nothing
	newest := map[string]string{}
	for _, ev := range e.Events {
		if ev.RunID == "" {
			continue
		}
		if end, ended := over[ev.RunID]; ended && ev.Sequence > end && writes(ev) {
			out = append(out, finding(LateWrite, ev.ID, ev.Type+" of run "+ev.RunID+" came after its end"))
		}
		switch ev.Type {
		case models.EventRunEnded:
			over[ev.RunID] = ev.Sequence
		case models.EventRunClaimed:
			if former := newest[ev.AssignmentID]; former != "" && former != ev.RunID {
				over[former] = ev.Sequence
			}
			newest[ev.AssignmentID] = ev.RunID
		}
	}
	return out
}

// writes tells whether an event is a run's own, by its agent or its turns, and not
// what others say about a run that is over.
func writes(ev models.Event) bool {
	switch ev.Type {
	case models.EventRunHeartbeat, models.EventRunClaimed, models.EventRunBindingRecorded, models.EventHandoffSubmitted, models.EventTurnStarted:
		return true
	case models.EventInterventionRequested:
		return ev.ActorRole == models.RoleAgent
	}
	return ev.ActorRole == models.RoleAgent && !slices.Contains(models.ReservedEventTypes(), ev.Type)
}
