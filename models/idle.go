package models

import "slices"

// Idle is work that a change has queued and that nobody takes up now, with the reason
// that all of it shares.
type Idle struct {
	TeamID        string   `json:"team_id"`
	AssignmentIDs []string `json:"assignment_ids"` // the first of them
	Count         int      `json:"count"`          // how many there are
	Code          string   `json:"code"`           // of StillReasons
	Reason        string   `json:"reason"`
	Next          string   `json:"next,omitempty"` // the command that helps; "" where only time does
}

// maxIdle is how many assignments an Idle names.
const maxIdle = 20

// takesNothingUp are the reasons for which a loop, a node or an account takes up
// nothing at all. The others are about one assignment, and it is queued all the same.
func takesNothingUp(code string) bool {
	return slices.Contains([]string{
		StillStopped, StillPaused, StillLoopOff, StillUsageLimit, StillBreaker, StillAdapter, StillNoWorker, StillEngineAway,
	}, code)
}

// GatherIdle keeps what nobody takes up and puts together what shares its team and
// its reason, in the order of the argument. What waits for its own question is left
// out: it is not queued.
func GatherIdle(still []Still) []Idle {
	out := []Idle{}
	for _, s := range still {
		if !takesNothingUp(s.Code) || s.Status == AssignmentAwaitingHuman || s.Status == AssignmentAwaitingApproval {
			continue
		}
		at := slices.IndexFunc(out, func(i Idle) bool { return i.TeamID == s.TeamID && i.Code == s.Code && i.Reason == s.Reason })
		if at < 0 {
			at = len(out)
			out = append(out, Idle{TeamID: s.TeamID, Code: s.Code, Reason: s.Reason, Next: s.Next})
		}
		if out[at].Count++; out[at].Count <= maxIdle {
			out[at].AssignmentIDs = append(out[at].AssignmentIDs, s.AssignmentID)
		}
	}
	return out
}
