package models

import (
	"fmt"
	"time"
)

// TurnClock names one of the clocks of a turn. They stay apart: what proves one of
// them says nothing of the others (design section 5, three clocks).
type TurnClock string

// The clocks of a turn, and the two caps that a turn may pass while it runs.
const (
	ClockStall   TurnClock = "stall"   // no progress: no item event and no changed token total of the turn
	ClockSilence TurnClock = "silence" // no sign of the turn at all
	ClockTotal   TurnClock = "total"   // the turn as a whole
	ClockTokens  TurnClock = "max_tokens"
	ClockTime    TurnClock = "max_time"
)

// ReportDelay is how much later than it happened the progress of a turn may stand in
// the ledger: twice the interval at which its observer writes.
const ReportDelay = 10 * time.Second

// NodeTTL is how old a node's last heartbeat may be before the node counts as away.
const NodeTTL = time.Minute

// TurnTimes are what the clocks of an active turn go by.
type TurnTimes struct {
	ProgressAt  time.Time // the last progress
	SignAt      time.Time // the last sign of any kind
	WatchedFrom time.Time // since when somebody watches without a gap; an answer restarts it, too
	TotalFrom   time.Time // the start of the turn, or the last answer about it
}

// Overdue is a clock of a turn that runs out.
type Overdue struct {
	Clock TurnClock
	Since time.Time // what it counts from
	Limit Span
	Due   time.Time // when the turn counts as stalled
}

// Passed tells whether the clock has run out.
func (o Overdue) Passed(now time.Time) bool { return o.Clock != "" && !o.Due.After(now) }

// NextOverdue is the clock of a turn that runs out first, zero when all are off. Of
// two at the same time the earlier named one counts.
func (s WorkspaceSettings) NextOverdue(t TurnTimes) Overdue {
	var first Overdue
	for _, c := range []struct {
		clock TurnClock
		since time.Time
		limit Span
	}{
		{ClockStall, latest(t.ProgressAt, t.WatchedFrom), s.StallTimeout},
		{ClockSilence, latest(t.SignAt, t.WatchedFrom), s.TurnSilenceTimeout},
		{ClockTotal, t.TotalFrom, s.TurnTotalTimeout},
	} {
		if c.limit <= 0 {
			continue
		}
		due := c.since.Add(c.limit.Duration() + ReportDelay)
		if c.clock == ClockTotal {
			// a turn that ended while nobody watched is given the time to say so
			due = latest(c.since.Add(c.limit.Duration()), t.WatchedFrom.Add(ReportDelay))
		}
		if first.Clock == "" || due.Before(first.Due) {
			first = Overdue{Clock: c.clock, Since: c.since, Limit: c.limit, Due: due}
		}
	}
	return first
}

// ShortestClock is the shortest clock of the settings that is on, 0 when none is. A
// reader that looks at least so often is never late for a turn that began meanwhile.
func (s WorkspaceSettings) ShortestClock() time.Duration {
	shortest := time.Duration(0)
	for _, limit := range []Span{s.StallTimeout, s.TurnSilenceTimeout, s.TurnTotalTimeout} {
		if d := limit.Duration(); d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

// Text says for a person what ran out.
func (o Overdue) Text() string {
	since := o.Since.UTC().Format("15:04:05Z")
	switch o.Clock {
	case ClockStall:
		return fmt.Sprintf("no progress since %s, for longer than stall_timeout=%s", since, o.Limit)
	case ClockSilence:
		return fmt.Sprintf("no sign of life since %s, for longer than turn_silence_timeout=%s", since, o.Limit)
	case ClockTotal:
		return fmt.Sprintf("it runs since %s, for longer than turn_total_timeout=%s", since, o.Limit)
	case ClockTokens, ClockTime:
		return fmt.Sprintf("the assignment passed %s", o.Clock)
	}
	return string(o.Clock)
}

// ClaimTimes are what the expiry of a run's claim goes by.
type ClaimTimes struct {
	ExpiresAt time.Time
	Managed   bool          // a node renews it
	NodeBeat  time.Time     // the node's last heartbeat
	TTL       time.Duration // the claim's time to live
}

// ExpiryOf is when a claim counts as expired. A run that a node manages does not
// expire by the silence of its node, which is no fault of the run's: only when the
// node was there after the claim ended and did not renew it, or when it stayed away
// for one more time to live (design section 2, times to live).
func ExpiryOf(c ClaimTimes) time.Time {
	if !c.Managed || !c.NodeBeat.Before(c.ExpiresAt) {
		return c.ExpiresAt
	}
	return latest(c.ExpiresAt, c.NodeBeat.Add(NodeTTL+c.TTL))
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
