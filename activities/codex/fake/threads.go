package fake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"coxswain/activities/codex"
)

// defaultTurns is the length of a list of turns when none is asked for.
const defaultTurns = 25

// StartThread implements codex.Adapter.
func (h *host) StartThread(ctx context.Context, spec codex.ThreadSpec) (codex.Thread, error) {
	if err := checkSpec(spec); err != nil {
		return codex.Thread{}, err
	}
	t := newThread(newID(), h.store, spec)
	if err := h.add(ctx, t); err != nil {
		return codex.Thread{}, err
	}
	return t.view(), nil
}

// checkSpec refuses what Codex refuses at the start of a thread: a folder that
// is not there, and a required server that cannot be started.
func checkSpec(spec codex.ThreadSpec) error {
	if !filepath.IsAbs(spec.CWD) {
		return refused(fmt.Sprintf("cwd %q is not absolute", spec.CWD), nil)
	}
	if info, err := os.Stat(spec.CWD); err != nil {
		return refused("cwd", err)
	} else if !info.IsDir() {
		return refused("cwd "+spec.CWD+" is no folder", nil)
	}
	if spec.MCP.Command == "" {
		return nil
	}
	if _, err := exec.LookPath(spec.MCP.Command); err != nil {
		return refused("the server "+spec.MCP.Name+" cannot be started", err)
	}
	return nil
}

// ResumeThread implements codex.Adapter. A turn that its former host left
// active is stored as interrupted.
func (h *host) ResumeThread(ctx context.Context, threadID string, spec codex.ThreadSpec) (codex.Thread, error) {
	if err := h.check(ctx); err != nil {
		return codex.Thread{}, err
	}
	if err := checkSpec(spec); err != nil {
		return codex.Thread{}, err
	}
	h.loading.Lock()
	defer h.loading.Unlock()
	if t, ok := h.loaded(threadID); ok {
		t.reconfigure(spec)
		return t.view(), nil
	}
	t, err := h.load(threadID, spec)
	if err != nil {
		return codex.Thread{}, err
	}
	if err := h.add(ctx, t); err != nil {
		return codex.Thread{}, errors.Join(err, t.lock.release())
	}
	h.tellTokens(t)
	return t.view(), nil
}

// tellTokens reports the totals of a thread that was loaded from its history, in
// the name of its last turn, as Codex does.
func (h *host) tellTokens(t *thread) {
	t.mu.Lock()
	total, turns := t.rec.Tokens, t.rec.Turns
	t.mu.Unlock()
	if total.Total > 0 && len(turns) > 0 {
		h.hub.emit(codex.Event{Type: codex.EventTokens, ThreadID: t.id, TurnID: turns[len(turns)-1].ID, At: time.Now().UTC(), Tokens: codex.Tokens(total)})
	}
}

// load locks a stored thread and reads it.
func (h *host) load(threadID string, spec codex.ThreadSpec) (*thread, error) {
	if _, err := h.store.read(threadID); err != nil {
		return nil, err // before a lock file is made for what does not exist
	}
	lock, err := h.store.acquire(threadID)
	if err != nil {
		return nil, err
	}
	t := newThread(threadID, h.store, spec)
	t.lock = lock
	if err := t.restore(); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return t, nil
}

func (t *thread) restore() error {
	rec, err := t.store.read(t.id)
	if err != nil {
		return err
	}
	if rec.Archived {
		return refused("thread "+t.id+" is archived", nil)
	}
	rec.CWD = t.spec.CWD
	if rec.loseActive() {
		if err := t.store.write(&rec); err != nil {
			return refused("storing the lost turn of thread "+t.id, err)
		}
	}
	t.rec = rec
	return nil
}

// ReadThread implements codex.Adapter.
func (h *host) ReadThread(ctx context.Context, threadID string) (codex.Thread, error) {
	if err := h.check(ctx); err != nil {
		return codex.Thread{}, err
	}
	if t, ok := h.loaded(threadID); ok {
		return t.view(), nil
	}
	rec, err := h.store.read(threadID)
	if err != nil {
		return codex.Thread{}, err
	}
	return codex.Thread{ID: rec.ID, CWD: rec.CWD, Status: codex.ThreadNotLoaded}, nil
}

// history reads a thread, loaded or not. What another host plays at this moment
// reads as interrupted, as with Codex; ResumeThread tells that it is in use.
func (h *host) history(ctx context.Context, threadID string) (record, error) {
	if err := h.check(ctx); err != nil {
		return record{}, err
	}
	if t, ok := h.loaded(threadID); ok {
		return t.snapshot(), nil
	}
	rec, err := h.store.read(threadID)
	if err != nil {
		return record{}, err
	}
	rec.loseActive()
	return rec, nil
}

// ListTurns implements codex.Adapter.
func (h *host) ListTurns(ctx context.Context, threadID string, limit int) ([]codex.Turn, error) {
	rec, err := h.history(ctx, threadID)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = defaultTurns
	}
	slices.Reverse(rec.Turns)
	var out []codex.Turn
	for _, turn := range rec.Turns[:min(limit, len(rec.Turns))] {
		out = append(out, codex.Turn(turn))
	}
	return out, nil
}

// ListTurnItems implements codex.Adapter.
func (h *host) ListTurnItems(ctx context.Context, threadID, turnID string) ([]codex.Item, error) {
	rec, err := h.history(ctx, threadID)
	if err != nil {
		return nil, err
	}
	var out []codex.Item
	for _, item := range rec.Items {
		if turnID == "" || item.TurnID == turnID {
			out = append(out, codex.Item(item))
		}
	}
	return out, nil
}

// Unsubscribe implements codex.Adapter. A thread that is not loaded has no
// events to stop.
func (h *host) Unsubscribe(ctx context.Context, threadID string) error {
	if err := h.check(ctx); err != nil {
		return err
	}
	if t, ok := h.loaded(threadID); ok {
		t.unsubscribe()
	}
	return nil
}

// CleanBackgroundTerminals implements codex.Adapter. The end of a turn kills
// whatever its agent started, so none is ever left.
func (h *host) CleanBackgroundTerminals(ctx context.Context, _ string) (int, error) {
	return 0, h.check(ctx)
}
