package appserver

import "sync"

// heldThreads are the threads whose events come to this host. The zero value is
// ready.
type heldThreads struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

func (t *heldThreads) add(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ids == nil {
		t.ids = map[string]struct{}{}
	}
	t.ids[id] = struct{}{}
}

func (t *heldThreads) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ids, id)
}

func (t *heldThreads) has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.ids[id]
	return ok
}
