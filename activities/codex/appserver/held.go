package appserver

import (
	"context"
	"strings"
	"sync"

	"coxswain/activities/codex"
)

// heldThreads are the threads whose events come to this host. The zero value is
// ready.
type heldThreads struct {
	mu  sync.Mutex
	ids map[string]bool // whether the thread's tool server is gone
}

// add holds a thread. One whose tools are gone gets them back by drop alone, since
// a resume of a thread that is held changes nothing.
func (t *heldThreads) add(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ids == nil {
		t.ids = map[string]bool{}
	}
	if _, ok := t.ids[id]; !ok {
		t.ids[id] = false
	}
}

func (t *heldThreads) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ids, id)
}

// losesTools marks that the tool server of a held thread is gone.
func (t *heldThreads) losesTools(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.ids[id]; ok {
		t.ids[id] = true
	}
}

func (t *heldThreads) toolless(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids[id]
}

// has tells whether a thread is held with its tools.
func (t *heldThreads) has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone, ok := t.ids[id]
	return ok && !gone
}

// toolsGone tells whether an item is a call whose server had ended. Codex starts a
// server with its thread and never again, so that every later call fails as well.
func toolsGone(i wireItem) bool {
	return i.Type == "mcpToolCall" && i.Status == "failed" && i.Error != nil && strings.HasSuffix(i.Error.Message, "Transport closed")
}

// renewTools lets the next resume start the tool server of a thread that lost it,
// which needs a thread without a subscriber and without an active turn.
func (h *Host) renewTools(ctx context.Context, threadID string) error {
	if !h.held.toolless(threadID) {
		return nil
	}
	thread, err := h.ReadThread(ctx, threadID)
	if err != nil || thread.Status == codex.ThreadActive {
		return err
	}
	h.log.Warn("the tool server of a thread ended and is started again", "thread", threadID)
	return h.Unsubscribe(ctx, threadID)
}
