package fake

import (
	"context"
	"errors"
	"time"

	"coxswain/activities/codex"
)

// ArchiveThread implements codex.Adapter: an active turn is interrupted and
// waited for, then the thread is marked and leaves memory. An empty thread is
// forgotten.
func (h *host) ArchiveThread(ctx context.Context, threadID string) error {
	if err := h.check(ctx); err != nil {
		return err
	}
	h.loading.Lock()
	defer h.loading.Unlock()
	t, ok := h.loaded(threadID)
	if !ok {
		return h.archiveStored(threadID)
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	if err := h.unload(t); err != nil {
		return err
	}
	if t.listens() {
		h.hub.emit(codex.Event{Type: codex.EventThreadClosed, ThreadID: t.id, At: time.Now()})
	}
	return nil
}

// archiveStored marks a thread that is not loaded. One that never existed or is
// already archived is no error.
func (h *host) archiveStored(threadID string) error {
	rec, err := h.store.read(threadID)
	if codex.KindOf(err) == codex.ErrUnknownID || err == nil && rec.Archived {
		return nil
	}
	if err != nil {
		return err
	}
	lock, err := h.store.acquire(threadID)
	if err != nil {
		return err
	}
	return errors.Join(h.markStored(threadID), lock.release())
}

func (h *host) markStored(threadID string) error {
	rec, err := h.store.read(threadID) // again, now that nobody else writes it
	if err != nil {
		return err
	}
	rec.loseActive()
	rec.Archived = true
	if err := h.store.write(&rec); err != nil {
		return refused("archiving thread "+threadID, err)
	}
	return nil
}

// settle interrupts the active turn, if any, and waits until its end was
// reported.
func (t *thread) settle(ctx context.Context) error {
	t.mu.Lock()
	active, last := t.active, t.last
	t.mu.Unlock()
	if active != nil {
		active.interrupt()
	}
	select {
	case <-last:
		return nil
	case <-ctx.Done():
		return &codex.Error{Kind: codex.ErrTimeout, Message: "waiting for the end of the active turn", Cause: ctx.Err()}
	}
}

// unload marks the thread as archived and takes it out of the host.
func (h *host) unload(t *thread) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.closed {
		return h.checkLocked(context.Background())
	}
	if t.active != nil {
		return &codex.Error{Kind: codex.ErrTurnMismatch, Message: "a new turn began in thread " + t.id}
	}
	if t.lock != nil {
		if err := t.changeLocked(func(r *record) { r.Archived = true }); err != nil {
			return refused("archiving thread "+t.id, err)
		}
	}
	t.rec.Archived = true // for a turn that is about to begin in an empty thread
	delete(h.threads, t.id)
	return t.lock.release()
}
