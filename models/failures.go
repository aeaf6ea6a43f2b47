package models

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// The kinds of failed turns, as adapters report them.
const (
	FailureConnection = "connection"
	FailureServer     = "server"
	FailureRateLimit  = "rate_limit"
	FailureUsageLimit = "usage_limit"
	FailureAuth       = "auth"
	FailureContext    = "context"
	FailureOther      = "other"
)

// RetryClass is what a failed turn leads to.
type RetryClass string

// The classes of failures.
const (
	RetryBackOff RetryClass = "back_off" // tried again, each time later
	RetryHold    RetryClass = "hold"     // held until the account's limit is reset
	RetryPerson  RetryClass = "person"   // a person at once
)

// RetryOf classifies the kind of a failed turn. A kind that is not known is tried
// again.
func RetryOf(kind string) RetryClass {
	switch kind {
	case FailureUsageLimit:
		return RetryHold
	case FailureAuth, FailureContext:
		return RetryPerson
	default:
		return RetryBackOff
	}
}

// The bounds of a usage limit's hold.
const (
	HoldUnknown = 15 * time.Minute   // when no reset was told
	HoldLongest = 8 * 24 * time.Hour // a reset further ahead is not believed; weekly limits exist
)

// HoldUntil is until when an account is held after a usage limit. reset is what the
// host told, zero for nothing. A reset that has passed holds nothing (zero); one
// that cannot be believed counts as none.
func HoldUntil(now, reset time.Time) time.Time {
	switch {
	case reset.IsZero() || reset.After(now.Add(HoldLongest)):
		return now.Add(HoldUnknown)
	case !reset.After(now):
		return time.Time{}
	}
	return reset
}

// ResetOf reads the reset time of the windows that are used up from what a host said
// of its rate limits, the latest of them; zero when it says none. Windows are the
// members named primary and secondary, with usedPercent and resetsAt in seconds
// since the epoch (Codex app-server, account/rateLimits/updated).
func ResetOf(limits map[string]any) time.Time {
	var reset time.Time
	for _, name := range []string{"primary", "secondary"} {
		window, _ := limits[name].(map[string]any)
		used, _ := number(window, "usedPercent", "used_percent")
		at, told := number(window, "resetsAt", "resets_at")
		if told && used >= 100 {
			reset = latest(reset, time.Unix(int64(at), 0).UTC())
		}
	}
	return reset
}

func number(in map[string]any, names ...string) (float64, bool) {
	for _, name := range names {
		switch v := in[name].(type) {
		case float64:
			return v, true
		case int64:
			return float64(v), true
		case int:
			return float64(v), true
		}
	}
	return 0, false
}

// Fingerprint tells failures apart by kind and message. Numbers, ids and whatever
// else holds a digit do not count, so that the same failure of two threads, or at
// two times, is the same.
func Fingerprint(kind, message string) string {
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'(),;`, r) })
	kept := make([]string, 0, len(words))
	for _, w := range words {
		if !strings.ContainsFunc(w, unicode.IsDigit) {
			kept = append(kept, w)
		}
	}
	return kind + ":" + ShortHash(strings.Join(kept, " "), 16)
}

// The breaker's numbers.
const (
	BreakerLimit  = 5                // identical failures
	BreakerWindow = 30 * time.Minute // without a failure, after which they are forgotten
)

// Breaker counts identical failures of one assignment, or of a team across its
// assignments. The zero value has counted none.
type Breaker struct {
	Fingerprint string
	Count       int
	Spread      bool      // the failures are of more than one assignment
	LastSubject string    // the assignment of the last one
	LastAt      time.Time `gorm:"serializer:ms"` // of the last one
	Tripped     bool
}

// Failed counts a failure; trips is true for the one that makes the breaker trip.
// Zero-cost failures count like every other.
func (b Breaker) Failed(now time.Time, assignmentID, fingerprint string) (next Breaker, trips bool) {
	if b.Fingerprint != fingerprint || b.Healthy(now) {
		b = Breaker{Fingerprint: fingerprint}
	}
	b.Spread = b.Spread || b.LastSubject != "" && b.LastSubject != assignmentID
	b.Count, b.LastSubject, b.LastAt = b.Count+1, assignmentID, now
	trips = !b.Tripped && b.Count >= BreakerLimit
	b.Tripped = b.Tripped || trips
	return b, trips
}

// Healthy tells whether the failures are long enough ago to be forgotten.
func (b Breaker) Healthy(now time.Time) bool {
	return b.Count > 0 && !b.LastAt.Add(BreakerWindow).After(now)
}

// Use is what an assignment's runs have used up since a person last let it go on.
type Use struct {
	Turns  int
	Runs   int
	Tokens int64
	Time   time.Duration // that its ended turns took
}

// CapReached names the first cap of the settings that the use has reached, with a
// sentence for a person; "" is none. starting tells that one more run is to begin.
func (s WorkspaceSettings) CapReached(u Use, starting bool) (name, text string) {
	switch {
	case s.MaxTurns > 0 && u.Turns >= s.MaxTurns:
		return "max_turns", fmt.Sprintf("its runs took %d turns, and max_turns is %d", u.Turns, s.MaxTurns)
	case starting && s.MaxAttempts > 0 && u.Runs >= s.MaxAttempts:
		return "max_attempts", fmt.Sprintf("it had %d runs, and max_attempts is %d", u.Runs, s.MaxAttempts)
	case s.MaxTokens > 0 && u.Tokens >= s.MaxTokens:
		return "max_tokens", fmt.Sprintf("its runs used %d tokens, and max_tokens is %d", u.Tokens, s.MaxTokens)
	case s.MaxTime > 0 && u.Time >= s.MaxTime.Duration():
		return "max_time", fmt.Sprintf("its turns took %s, and max_time is %s", u.Time.Round(time.Second), s.MaxTime)
	}
	return "", ""
}
