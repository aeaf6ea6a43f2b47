package models_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"coxswain/models"
)

var clockStart = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)

func drawAgo(t *rapid.T, name string) time.Time {
	return clockStart.Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, name)) * time.Second)
}

// No clock runs out before its whole limit has passed since the last thing that
// restarts it, and none that is on is forgotten.
func TestAClockRunsOutAfterItsWholeLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string) models.Span {
			return models.Span(time.Duration(rapid.IntRange(0, 600).Draw(t, name)) * time.Second)
		}
		s := models.WorkspaceSettings{StallTimeout: seconds("stall"), TurnSilenceTimeout: seconds("silence"), TurnTotalTimeout: seconds("total")}
		turn := models.TurnTimes{ProgressAt: drawAgo(t, "progress"), SignAt: drawAgo(t, "sign"), WatchedFrom: drawAgo(t, "watched"), TotalFrom: drawAgo(t, "started")}
		o := s.NextOverdue(turn)
		if o.Clock == "" {
			if s.StallTimeout+s.TurnSilenceTimeout+s.TurnTotalTimeout != 0 {
				t.Fatal("a clock that is on is forgotten")
			}
			return
		}
		if o.Limit <= 0 || o.Due.Before(o.Since.Add(o.Limit.Duration())) || o.Due.Before(turn.WatchedFrom) {
			t.Fatalf("%+v runs out too soon for %+v", o, turn)
		}
		later := turn
		later.ProgressAt, later.SignAt, later.TotalFrom = clockStart, clockStart, clockStart
		if next := s.NextOverdue(later); next.Due.Before(o.Due) {
			t.Fatalf("progress brought the end nearer: %s, then %s", o.Due, next.Due)
		}
	})
}

// A claim never ends before its time, nor by the silence of its node alone before one
// more time to live; and it always ends.
func TestAClaimOutlivesTheAbsenceOfItsNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := models.ClaimTimes{
			ExpiresAt: drawAgo(t, "expires"), NodeBeat: drawAgo(t, "beat"), Managed: rapid.Bool().Draw(t, "managed"),
			TTL: time.Duration(rapid.IntRange(1, 3600).Draw(t, "ttl")) * time.Second,
		}
		end := models.ExpiryOf(c)
		there := !c.Managed || !c.NodeBeat.Before(c.ExpiresAt)
		switch {
		case end.Before(c.ExpiresAt):
			t.Fatalf("%+v ends at %s", c, end)
		case there && !end.Equal(c.ExpiresAt):
			t.Fatalf("%+v ends at %s although its node was there", c, end)
		case !there && end.Before(c.NodeBeat.Add(models.NodeTTL+c.TTL)):
			t.Fatalf("%+v ends at %s within one more life", c, end)
		case end.After(clockStart.Add(2 * time.Hour)):
			t.Fatalf("%+v ends never", c)
		}
	})
}

func TestAHoldEndsByItselfWhateverTheResetSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reset := clockStart.Add(time.Duration(rapid.Int64Range(-1_000_000, 10_000_000).Draw(t, "reset")) * time.Second)
		until := models.HoldUntil(clockStart, reset)
		switch {
		case !reset.After(clockStart) && !until.IsZero():
			t.Fatalf("a reset at %s, which has passed, holds until %s", reset, until)
		case until.After(clockStart.Add(models.HoldLongest)):
			t.Fatalf("held until %s", until)
		case reset.After(clockStart) && !reset.After(clockStart.Add(models.HoldLongest)) && !until.Equal(reset):
			t.Fatalf("a reset at %s holds until %s", reset, until)
		}
	})
	if until := models.HoldUntil(clockStart, time.Time{}); !until.Equal(clockStart.Add(models.HoldUnknown)) {
		t.Errorf("without a reset it is held until %s", until)
	}
}

func TestTheResetIsThatOfTheWindowsThatAreUsedUp(t *testing.T) {
	limits := func(text string) (out map[string]any) {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for text, want := range map[string]int64{
		`{"primary":{"usedPercent":100,"resetsAt":1000},"secondary":{"usedPercent":100,"resetsAt":5000}}`: 5000,
		`{"primary":{"usedPercent":100,"resetsAt":1000},"secondary":{"usedPercent":20,"resetsAt":5000}}`:  1000,
		`{"primary":{"usedPercent":99,"resetsAt":1000}}`:                                                  0,
		`{"primary":null,"secondary":{"usedPercent":100}}`:                                                0,
		`{"primary":"x"}`: 0,
	} {
		got := models.ResetOf(limits(text))
		if want == 0 && !got.IsZero() || want != 0 && got.Unix() != want {
			t.Errorf("%s: reset %s", text, got)
		}
	}
}

// The breaker trips once for a row of identical failures, whatever they cost, and
// neither for mixed ones nor for those that are long ago.
func TestTheBreakerTripsOnceForIdenticalFailures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b models.Breaker
		now, row, last, trips := clockStart, 0, "", 0
		for range rapid.IntRange(1, 40).Draw(t, "failures") {
			gap := time.Duration(rapid.SampledFrom([]int{0, 1, 29, 30, 45}).Draw(t, "minutes")) * time.Minute
			print := rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "fingerprint")
			now = now.Add(gap)
			if row++; print != last || gap >= models.BreakerWindow {
				row, trips = 1, 0
			}
			last = print
			next, tripped := b.Failed(now, "x", print)
			if tripped {
				trips++
			}
			if tripped != (row == models.BreakerLimit) || trips > 1 || next.Tripped != (row >= models.BreakerLimit) {
				t.Fatalf("failure %d in a row: tripped %t, %+v", row, tripped, next)
			}
			b = next
		}
	})
}

func TestFingerprintsIgnoreNumbersAndIDs(t *testing.T) {
	a := models.Fingerprint("server", "500 Internal Server Error, request req_81a, at 10:00")
	if b := models.Fingerprint("server", "500 Internal Server Error, request req_99z, at 11:30"); a != b {
		t.Error("the same failure has two fingerprints")
	}
	for _, other := range []string{models.Fingerprint("connection", "500 Internal Server Error, request req_81a, at 10:00"), models.Fingerprint("server", "overloaded")} {
		if a == other {
			t.Error("another failure has the same fingerprint")
		}
	}
}

func TestTheClassOfAFailure(t *testing.T) {
	for kind, want := range map[string]models.RetryClass{
		"connection": models.RetryBackOff, "server": models.RetryBackOff, "rate_limit": models.RetryBackOff, "other": models.RetryBackOff, "": models.RetryBackOff,
		"usage_limit": models.RetryHold, "auth": models.RetryPerson, "context": models.RetryPerson,
	} {
		if got := models.RetryOf(kind); got != want {
			t.Errorf("%q is %s, want %s", kind, got, want)
		}
	}
}

// A cap of 0 never stops; every other one stops exactly when it is reached.
func TestCaps(t *testing.T) {
	s := models.WorkspaceSettings{MaxTurns: 3, MaxAttempts: 2, MaxTokens: 100, MaxTime: models.Span(time.Minute)}
	for want, use := range map[string]models.Use{
		"": {Turns: 2, Runs: 1, Tokens: 99, Time: 59 * time.Second}, "max_turns": {Turns: 3}, "max_attempts": {Runs: 2},
		"max_tokens": {Tokens: 100}, "max_time": {Time: time.Minute},
	} {
		if name, text := s.CapReached(use, true); name != want || (text == "") != (want == "") {
			t.Errorf("%+v reaches %q (%s), want %q", use, name, text, want)
		}
	}
	if name, _ := s.CapReached(models.Use{Runs: 2}, false); name != "" {
		t.Error("a run under way is stopped by the cap on runs")
	}
	if name, _ := (models.WorkspaceSettings{}).CapReached(models.Use{Turns: 1e6, Runs: 1e6, Tokens: 1e12, Time: 1e18}, true); name != "" {
		t.Errorf("%s stops although it is off", name)
	}
}

// What is written of settings is read back the same; what was never written has its
// default.
func TestSettingsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := models.Span(time.Duration(rapid.Int64Range(0, int64(models.MaxSpan)).Draw(t, "span")))
		s, err := models.DefaultWorkspaceSettings().With(map[string]string{"stall_timeout": span.String(), "max_turns": "7"})
		if err != nil || s.StallTimeout != span {
			t.Fatalf("%s became %s: %v", span, s.StallTimeout, err)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back models.WorkspaceSettings
		if err := json.Unmarshal(text, &back); err != nil || len(models.ChangedSettings(s, back)) != 0 {
			t.Fatalf("%s was read as %+v: %v", text, back, err)
		}
	})
	var old models.WorkspaceSettings
	if err := json.Unmarshal([]byte(`{"max_turns":1}`), &old); err != nil || old.MaxTurns != 1 || old.StallTimeout != models.DefaultWorkspaceSettings().StallTimeout {
		t.Errorf("%+v, %v", old, err)
	}
}
