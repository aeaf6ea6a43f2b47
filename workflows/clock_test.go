package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

func (r *rig) staleEvents() int {
	r.Helper()
	events, err := r.l.Events(r.Context(), ledger.EventFilter{Types: []string{models.EventRunStale}})
	r.ok(err)
	return len(events)
}

// covered is what a look at the clock covers now.
func (r *rig) covered() activities.Look {
	r.Helper()
	g, err := r.l.Acknowledge(r.Context(), ledger.ClockWorkflow())
	r.ok(err)
	return activities.Look{Generation: g}
}

// claimsOnly switches the clocks of turns off.
func (r *rig) claimsOnly() {
	r.Helper()
	_, err := r.l.ConfigureWorkspace(r.Context(), ledger.As(person), "w", ledger.WorkspaceChange{
		Settings: map[string]string{"stall_timeout": "0", "turn_silence_timeout": "0", "turn_total_timeout": "0"},
	})
	r.ok(err)
}

// The node is away from the start, which gives its claim one minute and one more life
// from its last heartbeat.
func TestTheClockReconcilesAtTheEarliestDeadline(t *testing.T) {
	r := newRig(t, func(s *models.LoopSettings) { s.RunLeaseTTLSeconds = 600 })
	r.claimsOnly()
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	r.quiet(10*time.Minute+59*time.Second, func() {
		if n := r.staleEvents(); n != 0 {
			t.Errorf("%d stale runs before the deadline", n)
		}
	})
	r.quiet(11*time.Minute+time.Second, func() {
		if n := r.staleEvents(); n != 1 {
			t.Errorf("%d stale runs after the deadline", n)
		}
	})
	r.stopAt(24 * time.Hour)
	r.stopped(workflows.Clock, "", ledger.ClockWorkflow())
	if n := r.staleEvents(); n != 1 {
		t.Errorf("%d stale events of one expiry", n)
	}
	if timers := r.timersSet(); len(timers) == 0 || timers[0] != 10*time.Minute || len(timers) > 2 {
		t.Errorf("timers %v", timers)
	}
}

func TestTheClockWithoutDeadlinesSetsNoTimer(t *testing.T) {
	r := newRig(t, nil)
	r.at(time.Hour, func() {})
	r.stopAt(2 * time.Hour)
	r.stopped(workflows.Clock, "", ledger.ClockWorkflow())
	r.wantSteps("Reconcile", "Reconcile")
	r.wantTimers()
}

func TestANewDeadlineWakesTheClock(t *testing.T) {
	r := newRig(t, func(s *models.LoopSettings) { s.RunLeaseTTLSeconds = 60 })
	r.claimsOnly()
	r.at(5*time.Minute, func() { r.create("a"); r.claimed(r.planned(models.CommandStart), "th", "tu") })
	r.stopAt(2 * time.Hour)
	r.stopped(workflows.Clock, "", ledger.ClockWorkflow())
	if timers := r.timersSet(); !slices.Contains(timers, time.Minute) || r.staleEvents() != 1 {
		t.Errorf("timers %v, %d stale events", timers, r.staleEvents())
	}
}

func TestAFarDeadlineIsReachedInSteps(t *testing.T) {
	const day = 24 * time.Hour
	r := newRig(t, nil)
	far := r.env.Now().Add(10 * day)
	r.env.OnActivity("Reconcile", mock.Anything, mock.Anything).Return(activities.ClockLook{Look: r.covered(), Deadline: &far}, nil)
	r.stopAt(8 * day)
	r.stopped(workflows.Clock, "", ledger.ClockWorkflow())
	r.wantTimers(7*day, 3*day)
}

// A turn without progress is noticed at its limit, by one timer, whatever claims say.
func TestTheClockNoticesAStalledTurn(t *testing.T) {
	r := newRig(t, nil)
	r.create("a")
	r.claimed(r.planned(models.CommandStart), "th", "tu")
	limit := models.DefaultWorkspaceSettings().StallTimeout.Duration() + models.ReportDelay
	r.quiet(limit-time.Second, func() {
		if n := r.staleEvents(); n != 0 {
			t.Errorf("%d stale events before the limit", n)
		}
	})
	r.quiet(limit+time.Second, func() {
		if n := r.staleEvents(); n != 1 {
			t.Errorf("%d stale events after the limit", n)
		}
	})
	r.stopAt(10 * time.Minute)
	r.stopped(workflows.Clock, "", ledger.ClockWorkflow())
	if n := r.staleEvents(); n != 1 {
		t.Errorf("%d stale events of one stall", n)
	}
}

// A deadline that has passed already must not make a loop without a pause.
func TestAPassedDeadlineStillSetsATimer(t *testing.T) {
	r := newRig(t, nil)
	past, later := r.env.Now().Add(-time.Hour), r.env.Now().Add(time.Hour)
	r.env.OnActivity("Reconcile", mock.Anything, mock.Anything).Return(activities.ClockLook{Look: r.covered(), Deadline: &past}, nil).Once()
	r.env.OnActivity("Reconcile", mock.Anything, mock.Anything).Return(activities.ClockLook{Look: r.covered(), Deadline: &later}, nil)
	r.stopAt(time.Minute)
	r.stopped(workflows.Clock, "", ledger.ClockWorkflow())
	if timers := r.timersSet(); len(timers) != 2 || timers[0] != time.Millisecond {
		t.Errorf("timers %v", timers)
	}
}
