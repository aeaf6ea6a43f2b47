package activities_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"coxswain/activities/codex"
	"coxswain/models"
)

// host is a scripted codex.Adapter in memory. Threads that are started or put are
// loaded; a thread that is stored only is not.
type host struct {
	mu       sync.Mutex
	n        int
	loaded   map[string]bool
	strange  map[string]bool // loaded by another host of the same server
	threads  map[string]*thread
	calls    []string // "StartThread", "StartTurn th-1 msg_…"
	specs    []codex.ThreadSpec
	fails    map[string][]error // what the next calls of a method fail with; nil goes on
	hook     map[string]func()  // runs inside the next call of a method, without the lock
	leftover int                // background commands that CleanBackgroundTerminals still finds
	probe    codex.Probe
	done     chan struct{}
}

type thread struct {
	turns     []codex.Turn // oldest first
	items     []codex.Item
	deaf      int  // interrupts that change nothing
	forgetful bool // StartTurn runs, and its message is never stored
}

func newHost() *host {
	return &host{loaded: map[string]bool{}, threads: map[string]*thread{}, fails: map[string][]error{}, hook: map[string]func(){}, done: make(chan struct{})}
}

// Host implements activities.Hosts.
func (h *host) Host(_ context.Context, kind string) (codex.Adapter, error) {
	if err := h.begin("Host", kind); err != nil {
		return nil, models.Errorf(models.CodeAdapterUnavailable, "the adapter %s is not to be had", kind).Because(err)
	}
	return h, nil
}

func (h *host) begin(method string, args ...string) error {
	h.mu.Lock()
	var call strings.Builder
	call.WriteString(method)
	for _, a := range args {
		call.WriteString(" " + a)
	}
	h.calls = append(h.calls, call.String())
	fn := h.hook[method]
	delete(h.hook, method)
	var err error
	if len(h.fails[method]) > 0 {
		err = h.fails[method][0]
		h.fails[method] = h.fails[method][1:]
	}
	h.mu.Unlock()
	if fn != nil {
		fn()
	}
	return err
}

// put makes the host hold a thread.
func (h *host) put(id string, loaded bool, turns ...codex.Turn) *thread {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &thread{turns: turns}
	h.threads[id], h.loaded[id] = t, loaded
	return t
}

// store writes a user message into a thread's history.
func (t *thread) store(turnID, clientID string) {
	t.items = append(t.items, codex.Item{TurnID: turnID, Type: "userMessage", ClientID: clientID})
}

func (h *host) did(method string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, c := range h.calls {
		if c == method || len(c) > len(method) && c[:len(method)+1] == method+" " {
			out = append(out, c)
		}
	}
	return out
}

func unknownThread() error {
	return &codex.Error{Kind: codex.ErrUnknownID, Message: "no rollout"}
}

func (h *host) find(id string) (*thread, error) {
	if t := h.threads[id]; t != nil {
		return t, nil
	}
	return nil, unknownThread()
}

func (h *host) Kind() string { return models.AdapterKindFake }

func (h *host) Probe(context.Context) (codex.Probe, error) { return h.probe, h.begin("Probe") }

func (h *host) StartThread(_ context.Context, spec codex.ThreadSpec) (codex.Thread, error) {
	if err := h.begin("StartThread"); err != nil {
		return codex.Thread{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	id := fmt.Sprintf("th-%d", h.n)
	h.threads[id], h.loaded[id] = &thread{}, true
	h.specs = append(h.specs, spec)
	return codex.Thread{ID: id, Status: codex.ThreadIdle}, nil
}

func (h *host) ResumeThread(_ context.Context, id string, spec codex.ThreadSpec) (codex.Thread, error) {
	if err := h.begin("ResumeThread", id); err != nil {
		return codex.Thread{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.find(id); err != nil {
		return codex.Thread{}, err
	}
	h.loaded[id] = true
	delete(h.strange, id)
	h.specs = append(h.specs, spec)
	return codex.Thread{ID: id}, nil
}

func (h *host) ReadThread(_ context.Context, id string) (codex.Thread, error) {
	if err := h.begin("ReadThread", id); err != nil {
		return codex.Thread{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.find(id)
	if err != nil {
		return codex.Thread{}, err
	}
	out := codex.Thread{ID: id, Status: codex.ThreadIdle}
	if n := len(t.turns); n > 0 && t.turns[n-1].Status == codex.TurnInProgress {
		out.Status = codex.ThreadActive
	}
	if !h.loaded[id] {
		out.Status = codex.ThreadNotLoaded
	}
	return out, nil
}

func (h *host) ListTurns(_ context.Context, id string, _ int) ([]codex.Turn, error) {
	if err := h.begin("ListTurns", id); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.find(id)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(t.turns)
	slices.Reverse(out)
	return out, nil
}

func (h *host) ListTurnItems(_ context.Context, id, _ string) ([]codex.Item, error) {
	if err := h.begin("ListTurnItems", id); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.find(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.items), nil
}

func (h *host) Waits(codex.RequestRef) bool { return false }

func (h *host) AnswerRequest(_ context.Context, r codex.RequestRef, a codex.Answer) error {
	return h.begin("AnswerRequest", r.ThreadID, r.ID, string(a.Verdict))
}

func (h *host) StartTurn(_ context.Context, id string, in codex.TurnInput) (codex.Turn, error) {
	if err := h.begin("StartTurn", id, in.ClientMessageID); err != nil {
		return codex.Turn{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.find(id)
	if err != nil {
		return codex.Turn{}, err
	}
	h.n++
	turn := codex.Turn{ID: fmt.Sprintf("tu-%d", h.n), Status: codex.TurnInProgress, StartedAt: time.Now()}
	t.turns = append(t.turns, turn)
	if !t.forgetful {
		t.store(turn.ID, in.ClientMessageID)
	}
	return turn, nil
}

func (h *host) SteerTurn(_ context.Context, id, expected string, in codex.TurnInput) error {
	if err := h.begin("SteerTurn", id, expected, in.ClientMessageID); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.find(id)
	if err != nil {
		return err
	}
	if n := len(t.turns); n == 0 || t.turns[n-1].ID != expected || t.turns[n-1].Status != codex.TurnInProgress {
		return &codex.Error{Kind: codex.ErrTurnMismatch, Message: "another turn or none is active"}
	}
	t.store(expected, in.ClientMessageID)
	return nil
}

func (h *host) InterruptTurn(_ context.Context, id, turnID string) error {
	if err := h.begin("InterruptTurn", id, turnID); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.find(id)
	if err != nil {
		return err
	}
	if t.deaf > 0 {
		t.deaf--
		return nil
	}
	for i := range t.turns {
		if t.turns[i].ID == turnID {
			t.turns[i].Status = codex.TurnInterrupted
		}
	}
	return nil
}

func (h *host) ArchiveThread(_ context.Context, id string) error {
	if err := h.begin("ArchiveThread", id); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.threads, id)
	delete(h.loaded, id)
	return nil
}

func (h *host) Unsubscribe(context.Context, string) error { return h.begin("Unsubscribe") }

func (h *host) CleanBackgroundTerminals(_ context.Context, id string) (int, error) {
	if err := h.begin("CleanBackgroundTerminals", id); err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leftover > 0 {
		h.leftover--
	}
	return h.leftover, nil
}

func (h *host) StoredThreads(context.Context, string) ([]string, error) {
	if err := h.begin("StoredThreads"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.threads)), nil
}

func (h *host) LoadedThreads(context.Context) ([]string, error) {
	if err := h.begin("LoadedThreads"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for id, on := range h.loaded {
		if on {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (h *host) Holds(threadID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loaded[threadID] && !h.strange[threadID]
}

func (h *host) Subscribe(func(codex.Event)) func() { return func() {} }
func (h *host) Done() <-chan struct{}              { return h.done }
func (h *host) Err() error                         { return nil }
func (h *host) Close() error                       { return nil }
