package models

import (
	"cmp"
	"slices"
	"time"
)

// Report is what happened in a span of time, for people who were away.
type Report struct {
	Since     time.Time      `json:"since"`
	Until     time.Time      `json:"until"`
	Done      []ReportRow    `json:"done"`       // accepted in the span
	HandedOff []ReportRow    `json:"handed_off"` // handed off in the span and not decided by its end
	Ended     []ReportRow    `json:"ended"`      // rejected, cancelled or superseded in the span
	Open      []ReportRow    `json:"open"`       // worked on in the span and neither of these
	Tokens    TokenUsage     `json:"tokens"`     // of all rows and the reviews
	Waits     []Wait         `json:"waits"`      // the longest first
	Causes    []WaitSum      `json:"causes"`     // the waits by cause, the largest sum first
	Failures  []ReportFault  `json:"failures"`   // turns that failed
	People    []InboxEntry   `json:"people"`     // what needs a person now, the oldest first
	Teams     map[string]int `json:"teams"`      // rows by team
}

// ReportRow is one assignment of a report.
type ReportRow struct {
	AssignmentID string           `json:"assignment_id"`
	TeamID       string           `json:"team_id"`
	Title        string           `json:"title"`
	Status       AssignmentStatus `json:"status"` // now
	By           string           `json:"by,omitempty"`
	At           time.Time        `json:"at"` // of what put it into its list
	Summary      string           `json:"summary,omitempty"`
	Runs         int              `json:"runs"` // attempts that worked in the span
	Turns        int              `json:"turns"`
	Tokens       TokenUsage       `json:"tokens"`          // spent in the span
	Files        []string         `json:"files,omitempty"` // that it left changed, as far as they were looked at
	MoreFiles    int              `json:"more_files,omitempty"`
	Looked       bool             `json:"looked"` // whether its files were looked at
}

// ReportFault is what failed in an assignment's turns.
type ReportFault struct {
	AssignmentID string    `json:"assignment_id"`
	Times        int       `json:"times"`
	Kind         string    `json:"kind"` // as Turn.ErrorKind
	Last         string    `json:"last"`
	LastAt       time.Time `json:"last_at"`
}

// The causes of waits.
const (
	WaitReview  = "review"  // a handoff waited for its decision
	WaitPerson  = "person"  // a question waited for its answer
	WaitPause   = "pause"   // a person held the loop
	WaitAdapter = "adapter" // the adapter could not be had
	WaitRetry   = "retry"   // a failed start or turn was to be tried again
)

// Wait is a time in which something stood still.
type Wait struct {
	Cause        string    `json:"cause"`
	Detail       string    `json:"detail"`
	AssignmentID string    `json:"assignment_id,omitempty"`
	TeamID       string    `json:"team_id,omitempty"`
	NodeID       string    `json:"node_id,omitempty"`
	From         time.Time `json:"from"`
	To           time.Time `json:"to"`   // the end of the span while it goes on
	Open         bool      `json:"open"` // it goes on
	Seconds      int64     `json:"seconds"`
}

// WaitSum is all waits of one cause.
type WaitSum struct {
	Cause   string `json:"cause"`
	Times   int    `json:"times"`
	Seconds int64  `json:"seconds"`
}

// Within cuts a wait to a span; false when it lies outside.
func (w Wait) Within(since, until time.Time) (Wait, bool) {
	if w.To.IsZero() || w.To.After(until) {
		w.To, w.Open = until, true
	}
	if w.From.Before(since) {
		w.From = since
	}
	w.Seconds = int64(w.To.Sub(w.From) / time.Second)
	return w, w.To.After(w.From)
}

// Arrange puts the report's lists into their order and sums them up.
func (r *Report) Arrange() {
	r.Teams = map[string]int{}
	for _, rows := range [][]ReportRow{r.Done, r.HandedOff, r.Ended, r.Open} {
		slices.SortFunc(rows, func(a, b ReportRow) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.AssignmentID, b.AssignmentID))
		})
		for _, row := range rows {
			r.Teams[row.TeamID]++
		}
	}
	slices.SortFunc(r.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), a.From.Compare(b.From), cmp.Compare(a.AssignmentID, b.AssignmentID), cmp.Compare(a.Cause, b.Cause))
	})
	r.Causes = []WaitSum{}
	for _, w := range r.Waits {
		i := slices.IndexFunc(r.Causes, func(s WaitSum) bool { return s.Cause == w.Cause })
		if i < 0 {
			i = len(r.Causes)
			r.Causes = append(r.Causes, WaitSum{Cause: w.Cause})
		}
		r.Causes[i].Times++
		r.Causes[i].Seconds += w.Seconds
	}
	slices.SortFunc(r.Causes, func(a, b WaitSum) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Cause, b.Cause))
	})
	slices.SortFunc(r.Failures, func(a, b ReportFault) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.AssignmentID, b.AssignmentID))
	})
}
