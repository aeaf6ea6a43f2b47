package appserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"coxswain/activities/codex"
)

// pageSize is the most that the server returns of one list.
const pageSize = 100

// defaultTurns is how many turns ListTurns returns when no limit is given.
const defaultTurns = 25

// startedThread is the answer to thread/start and thread/resume.
type startedThread struct {
	Thread  wireThread `json:"thread"`
	Profile struct {
		ID string `json:"id"`
	} `json:"activePermissionProfile"`
}

// StartThread implements codex.Adapter. A thread that did not take the
// permission profile is archived again and refused.
func (h *Host) StartThread(ctx context.Context, spec codex.ThreadSpec) (codex.Thread, error) {
	if err := checkSpec(spec); err != nil {
		return codex.Thread{}, err
	}
	if err := makeMountpoints(spec); err != nil {
		return codex.Thread{}, err
	}
	params := h.threadParams(spec)
	if !spec.AskPerson { // the only way to see what Codex then denies by itself; a resume cannot have it
		params["experimentalRawEvents"] = true
	}
	return h.openThread(ctx, "thread/start", params)
}

// ResumeThread implements codex.Adapter.
func (h *Host) ResumeThread(ctx context.Context, threadID string, spec codex.ThreadSpec) (codex.Thread, error) {
	if err := checkSpec(spec); err != nil {
		return codex.Thread{}, err
	}
	if err := makeMountpoints(spec); err != nil {
		return codex.Thread{}, err
	}
	if err := h.renewTools(ctx, threadID); err != nil {
		return codex.Thread{}, err
	}
	before, unread := h.ReadThread(ctx, threadID) // where it cannot be read, the resume says why
	thread, err := h.resume(ctx, threadID, spec)
	if err != nil || unread != nil || before.Status != codex.ThreadActive || h.turns.of(threadID) != "" {
		return thread, err
	}
	// Its turn ended right now. Codex tells the token totals of a thread that is idle
	// when it is resumed, and those of a turn as it goes, but none in between.
	if err := h.Unsubscribe(ctx, threadID); err != nil {
		return codex.Thread{}, err
	}
	return h.resume(ctx, threadID, spec)
}

func (h *Host) resume(ctx context.Context, threadID string, spec codex.ThreadSpec) (codex.Thread, error) {
	params := h.threadParams(spec)
	params["threadId"], params["excludeTurns"] = threadID, true
	return h.openThread(ctx, "thread/resume", params)
}

func (h *Host) openThread(ctx context.Context, method string, params map[string]any) (codex.Thread, error) {
	var answer startedThread
	timeout := h.opts.RequestTimeout + h.opts.MCPStartTimeout
	if err := h.rpc.request(ctx, timeout, method, params, &answer, nil); err != nil {
		return codex.Thread{}, err
	}
	h.held.add(answer.Thread.ID)
	if answer.Profile.ID == profileName {
		thread := answer.Thread.thread()
		return thread, h.findActive(ctx, thread)
	}
	err := &codex.Error{Kind: codex.ErrRefused, Message: fmt.Sprintf(
		"%s: thread %s runs under permission profile %q instead of %q", method, answer.Thread.ID, answer.Profile.ID, profileName)}
	if method == "thread/start" {
		if archive := h.ArchiveThread(ctx, answer.Thread.ID); archive != nil {
			err.Cause = archive
		}
	}
	return codex.Thread{}, err
}

// findActive enters the turn that a resumed thread is in the middle of, so that its
// progress is reported although this host never saw it begin.
func (h *Host) findActive(ctx context.Context, thread codex.Thread) error {
	if thread.Status != codex.ThreadActive {
		return nil
	}
	turns, err := h.ListTurns(ctx, thread.ID, 1)
	if err != nil {
		return err
	}
	if len(turns) == 1 && turns[0].Status == codex.TurnInProgress {
		h.turns.start(thread.ID, turns[0].ID)
	}
	return nil
}

// ReadThread implements codex.Adapter.
func (h *Host) ReadThread(ctx context.Context, threadID string) (codex.Thread, error) {
	var answer struct {
		Thread wireThread `json:"thread"`
	}
	err := h.call(ctx, "thread/read", map[string]any{"threadId": threadID}, &answer)
	if err != nil {
		return codex.Thread{}, err
	}
	return answer.Thread.thread(), nil
}

// ListTurns implements codex.Adapter.
func (h *Host) ListTurns(ctx context.Context, threadID string, limit int) ([]codex.Turn, error) {
	if limit <= 0 {
		limit = defaultTurns
	}
	var turns []codex.Turn
	params := map[string]any{"threadId": threadID, "limit": min(limit, pageSize), "sortDirection": "desc"}
	err := h.pages(ctx, "thread/turns/list", params, func(raw json.RawMessage) (more bool, err error) {
		var turn wireTurn
		if err := decode(raw, &turn); err != nil {
			return false, err
		}
		turns = append(turns, turn.turn())
		return len(turns) < limit, nil
	})
	if err != nil {
		return nil, h.emptyHistory(ctx, threadID, err)
	}
	return turns, nil
}

// ListTurnItems implements codex.Adapter.
func (h *Host) ListTurnItems(ctx context.Context, threadID, turnID string) ([]codex.Item, error) {
	params := map[string]any{"threadId": threadID, "limit": pageSize, "sortDirection": "asc"}
	if turnID != "" {
		params["turnId"] = turnID
	}
	var items []codex.Item
	err := h.pages(ctx, "thread/items/list", params, func(raw json.RawMessage) (more bool, err error) {
		var entry struct {
			TurnID string   `json:"turnId"`
			Item   wireItem `json:"item"`
		}
		if err := decode(raw, &entry); err != nil {
			return false, err
		}
		items = append(items, entry.Item.item(entry.TurnID))
		return true, nil
	})
	if err != nil {
		return nil, h.emptyHistory(ctx, threadID, err)
	}
	return items, nil
}

// emptyHistory turns the refusal to list a thread without a turn into an empty
// list, and keeps the error for a thread that does not exist: some methods
// refuse both alike.
func (h *Host) emptyHistory(ctx context.Context, threadID string, err error) error {
	if !noHistory(err) {
		return err
	}
	_, err = h.ReadThread(ctx, threadID)
	return err
}

// pages walks a paged list until each says that it needs no more.
func (h *Host) pages(ctx context.Context, method string, params map[string]any, each func(json.RawMessage) (bool, error)) error {
	for {
		var page struct {
			Data []json.RawMessage `json:"data"`
			Next string            `json:"nextCursor"`
		}
		if err := h.call(ctx, method, params, &page); err != nil {
			return err
		}
		for _, raw := range page.Data {
			if more, err := each(raw); err != nil || !more {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		params["cursor"] = page.Next
	}
}

// LoadedThreads implements codex.Adapter.
func (h *Host) LoadedThreads(ctx context.Context) ([]string, error) {
	var ids []string
	err := h.pages(ctx, "thread/loaded/list", map[string]any{}, func(raw json.RawMessage) (bool, error) {
		var id string
		err := json.Unmarshal(raw, &id)
		ids = append(ids, id)
		return true, err
	})
	return ids, err
}

// StoredThreads implements codex.Adapter.
func (h *Host) StoredThreads(ctx context.Context, folder string) ([]string, error) {
	var ids []string
	params := map[string]any{"cwd": folder, "limit": 100}
	err := h.pages(ctx, "thread/list", params, func(raw json.RawMessage) (bool, error) {
		var thread struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(raw, &thread)
		ids = append(ids, thread.ID)
		return true, err
	})
	return ids, err
}

// Holds implements codex.Adapter.
func (h *Host) Holds(threadID string) bool { return h.held.has(threadID) }

// ArchiveThread implements codex.Adapter. A turn that runs is interrupted first.
func (h *Host) ArchiveThread(ctx context.Context, threadID string) error {
	err := h.call(ctx, "thread/archive", map[string]any{"threadId": threadID}, nil)
	if codex.KindOf(err) == codex.ErrUnknownID {
		return nil // archived already, never used, or never there
	}
	return err
}

// Unsubscribe implements codex.Adapter.
func (h *Host) Unsubscribe(ctx context.Context, threadID string) error {
	err := h.call(ctx, "thread/unsubscribe", map[string]any{"threadId": threadID}, nil)
	if err == nil {
		h.turns.drop(threadID)
		h.held.drop(threadID)
		h.requests.drop(func(r *waitingRequest) bool { return r.threadID == threadID })
	}
	return err
}

// cleanWait bounds the wait for terminals to end, which the server does in the
// background, usually within half a second.
const cleanWait = 3 * time.Second

// CleanBackgroundTerminals implements codex.Adapter. A thread that is not loaded
// has none.
func (h *Host) CleanBackgroundTerminals(ctx context.Context, threadID string) (int, error) {
	err := h.call(ctx, "thread/backgroundTerminals/clean", map[string]any{"threadId": threadID}, nil)
	if codex.KindOf(err) == codex.ErrUnknownID {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	limit := time.NewTimer(cleanWait)
	defer limit.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		left, err := h.terminals(ctx, threadID)
		if err != nil || left == 0 {
			return left, err
		}
		select {
		case <-again.C:
		case <-limit.C:
			return left, nil
		case <-ctx.Done():
			return left, &codex.Error{Kind: codex.ErrTimeout, Message: "waiting for background terminals", Cause: context.Cause(ctx)}
		}
	}
}

func (h *Host) terminals(ctx context.Context, threadID string) (int, error) {
	left := 0
	err := h.pages(ctx, "thread/backgroundTerminals/list", map[string]any{"threadId": threadID},
		func(json.RawMessage) (bool, error) { left++; return true, nil })
	return left, err
}
