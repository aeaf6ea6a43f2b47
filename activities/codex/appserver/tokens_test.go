package appserver

import (
	"encoding/json"
	"log/slog"
	"testing"

	"coxswain/activities/codex"
)

// Totals of the thread are what counts, whatever else a notification holds: what the
// last response used is no total, and is never taken or added for one.
func TestTokensAreTheTotalsOfTheThread(t *testing.T) {
	gone := make(chan struct{})
	h := &Host{hub: newHub(gone), log: slog.New(slog.DiscardHandler)}
	got := make(chan codex.Event, 10)
	cancel := h.hub.subscribe(func(e codex.Event) { got <- e })
	defer cancel()
	for _, c := range []struct {
		usage string
		want  codex.Tokens
	}{
		{`{"total":{"inputTokens":10,"outputTokens":2,"totalTokens":12},"last":{"inputTokens":10,"outputTokens":2,"totalTokens":12}}`, codex.Tokens{Input: 10, Output: 2, Total: 12}},
		{`{"last":{"inputTokens":7,"outputTokens":1,"totalTokens":8},"total":{"inputTokens":17,"outputTokens":3,"totalTokens":20},"modelContextWindow":272000}`, codex.Tokens{Input: 17, Output: 3, Total: 20}},
		{`{"last":{"inputTokens":5,"outputTokens":5,"totalTokens":10}}`, codex.Tokens{}},
		{`{"inputTokens":5,"outputTokens":5,"totalTokens":10}`, codex.Tokens{}},
		{`{"total":{"inputTokens":20,"outputTokens":5,"totalTokens":25,"cachedInputTokens":4}}`, codex.Tokens{Input: 20, Output: 5, Total: 25}},
	} {
		h.notification("thread/tokenUsage/updated", json.RawMessage(`{"threadId":"t","turnId":"u","tokenUsage":`+c.usage+`}`))
		if e := <-got; e.Type != codex.EventTokens || e.ThreadID != "t" || e.TurnID != "u" || e.Tokens != c.want {
			t.Errorf("%s is told as %+v", c.usage, e)
		}
	}
}

// A text that is cut does not keep the megabytes behind it in memory.
func TestACutTextIsACopy(t *testing.T) {
	long := make([]byte, 4*maxItemText)
	for i := range long {
		long[i] = 'x'
	}
	allocated := testing.AllocsPerRun(10, func() { _ = cut(string(long), maxItemText) })
	if allocated < 2 || len(cut(string(long), maxItemText)) != maxItemText {
		t.Errorf("cutting made %v allocations, want one of the short text beside that of the long one", allocated)
	}
}
