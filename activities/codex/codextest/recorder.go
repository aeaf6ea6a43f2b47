package codextest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"coxswain/activities/codex"
)

// Patience is how long the waits of this package last before a test fails.
const Patience = 30 * time.Second

// Recorder collects the events of a host in order.
type Recorder struct {
	mu      sync.Mutex
	events  []codex.Event
	changed chan struct{} // closed and replaced at every new event
}

// Record subscribes to the host until the test ends.
func Record(tb testing.TB, host codex.Adapter) *Recorder {
	tb.Helper()
	r := &Recorder{changed: make(chan struct{})}
	tb.Cleanup(host.Subscribe(r.add))
	return r
}

func (r *Recorder) add(e codex.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	close(r.changed)
	r.changed = make(chan struct{})
}

// Events returns those of a thread so far, all for "".
func (r *Recorder) Events(threadID string) []codex.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []codex.Event
	for _, e := range r.events {
		if threadID == "" || e.ThreadID == threadID {
			out = append(out, e)
		}
	}
	return out
}

// Wait returns the first event that fits. The test fails when none comes within
// Patience.
func (r *Recorder) Wait(tb testing.TB, what string, fits func(codex.Event) bool) codex.Event {
	tb.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		events, changed := r.events, r.changed
		r.mu.Unlock()
		for _, e := range events {
			if fits(e) {
				return e
			}
		}
		select {
		case <-changed:
		case <-deadline.C:
			tb.Fatalf("no event within %s: %s; seen: %s", Patience, what, summary(events))
		}
	}
}

// WaitEnded waits for the end of a turn.
func (r *Recorder) WaitEnded(tb testing.TB, turnID string) codex.Turn {
	tb.Helper()
	return r.Wait(tb, "end of turn "+turnID, func(e codex.Event) bool {
		return e.Type == codex.EventTurnEnded && e.TurnID == turnID
	}).Turn
}

// WaitDelivered waits until the message with the id is in a thread's history.
func (r *Recorder) WaitDelivered(tb testing.TB, messageID string) codex.Event {
	tb.Helper()
	return r.Wait(tb, "user message "+messageID, func(e codex.Event) bool {
		return e.Type == codex.EventItemCompleted && e.Item.ClientID == messageID
	})
}

func summary(events []codex.Event) string {
	var out strings.Builder
	for _, e := range events {
		out.WriteString(string(e.Type) + " " + e.Item.Type + " " + e.Turn.Error + "; ")
	}
	return out.String()
}
