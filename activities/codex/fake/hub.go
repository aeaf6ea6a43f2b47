package fake

import (
	"slices"
	"sync"

	"coxswain/activities/codex"
)

// hub delivers events to subscribers, one event at a time.
type hub struct {
	delivering sync.Mutex // held for one event, so that all see one order
	mu         sync.Mutex
	subs       []*subscription
	muted      bool
}

type subscription struct{ fn func(codex.Event) }

func (b *hub) subscribe(fn func(codex.Event)) (cancel func()) {
	s := &subscription{fn: fn}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = append(slices.Clone(b.subs), s)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.subs = slices.DeleteFunc(slices.Clone(b.subs), func(o *subscription) bool { return o == s })
	}
}

// mute ends all reports. An event under way may still arrive.
func (b *hub) mute() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.muted = true
}

func (b *hub) emit(e codex.Event) {
	b.delivering.Lock()
	defer b.delivering.Unlock()
	b.mu.Lock()
	subs := b.subs
	if b.muted {
		subs = nil
	}
	b.mu.Unlock()
	for _, s := range subs {
		s.fn(e)
	}
}
