package fake

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"sync"

	"coxswain/activities/codex"
	"coxswain/models"
)

// Version is what Probe reports; it rises when agents behave differently.
const Version = "fake-1"

const transport = "process"

// host keeps the loaded threads. Locks are taken in the order loading, mu,
// thread.mu, and none is held while an event is delivered.
type host struct {
	opts  Options
	store store
	log   *slog.Logger
	hub   hub

	ending  context.Context // done when Close begins
	end     context.CancelFunc
	closing sync.Once
	done    chan struct{}

	loading sync.Mutex // one load, archive or unload at a time
	mu      sync.Mutex
	threads map[string]*thread
	closed  bool
	running sync.WaitGroup // one for each turn
}

func newHost(opts Options) *host {
	h := &host{
		opts: opts, store: store{dir: opts.Dir}, log: opts.Logger,
		done: make(chan struct{}), threads: map[string]*thread{},
	}
	h.ending, h.end = context.WithCancel(context.Background())
	return h
}

// Kind implements codex.Adapter.
func (h *host) Kind() string { return models.AdapterKindFake }

// Probe implements codex.Adapter. The error kind is codex_not_found when the
// agent's command is not to be had.
func (h *host) Probe(ctx context.Context) (codex.Probe, error) {
	if err := h.check(ctx); err != nil {
		return codex.Probe{}, err
	}
	if _, err := exec.LookPath(h.opts.Agent[0]); err != nil {
		return codex.Probe{}, &codex.Error{Kind: codex.ErrNotFound, Message: "the agent's command", Cause: err}
	}
	can := map[string]bool{"can_archive_thread": true, "can_clean_terminals": true}
	for _, name := range models.RequiredCapabilities() {
		can[name] = true
	}
	return codex.Probe{
		Version: Version, Transport: transport, Capabilities: can,
		SandboxDetail: "no sandbox: agents are scripted and keep to the writable folder by themselves; their commands are held by nothing",
	}, nil
}

// Holds implements codex.Adapter. What is loaded is held.
func (h *host) Holds(threadID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.threads[threadID] != nil
}

// Subscribe implements codex.Adapter.
func (h *host) Subscribe(fn func(codex.Event)) func() { return h.hub.subscribe(fn) }

// Done implements codex.Adapter.
func (h *host) Done() <-chan struct{} { return h.done }

// Err implements codex.Adapter. A fake host ends by Close alone.
func (h *host) Err() error { return nil }

// Close implements codex.Adapter: active turns end as interrupted with all
// their processes, without an event, and the threads' locks are released.
func (h *host) Close() error {
	var err error
	h.closing.Do(func() {
		h.hub.mute()
		h.mu.Lock()
		h.closed = true
		h.mu.Unlock()
		h.end()
		h.running.Wait()
		err = h.unloadAll()
		close(h.done)
	})
	<-h.done
	return err
}

func (h *host) unloadAll() error {
	h.loading.Lock()
	defer h.loading.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for id, t := range h.threads {
		errs = append(errs, t.lock.release())
		delete(h.threads, id)
	}
	return errors.Join(errs...)
}

// check refuses a call of a closed host or an ended context; nothing happened.
func (h *host) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.checkLocked(ctx)
}

func (h *host) checkLocked(ctx context.Context) error {
	if h.closed {
		return &codex.Error{Kind: codex.ErrClosed, Message: "the fake host is closed"}
	}
	if err := ctx.Err(); err != nil {
		return refused("the call ended before it began", err)
	}
	return nil
}

// track announces a turn to Close. The caller calls running.Done.
func (h *host) track(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.checkLocked(ctx); err != nil {
		return err
	}
	h.running.Add(1)
	return nil
}

func (h *host) loaded(id string) (*thread, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.threads[id]
	return t, ok
}

// needLoaded finds a thread that can take a turn.
func (h *host) needLoaded(ctx context.Context, id string) (*thread, error) {
	if err := h.check(ctx); err != nil {
		return nil, err
	}
	if t, ok := h.loaded(id); ok {
		return t, nil
	}
	return nil, unknownThread(id, "is not loaded here")
}

// add puts a loaded thread into the host, refused after Close.
func (h *host) add(ctx context.Context, t *thread) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.checkLocked(ctx); err != nil {
		return err
	}
	h.threads[t.id] = t
	return nil
}

// LoadedThreads implements codex.Adapter, in the order of their ids.
func (h *host) LoadedThreads(ctx context.Context) ([]string, error) {
	if err := h.check(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]string, 0, len(h.threads))
	for id := range h.threads {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// StoredThreads implements codex.Adapter.
func (h *host) StoredThreads(ctx context.Context, folder string) ([]string, error) {
	if err := h.check(ctx); err != nil {
		return nil, err
	}
	ids, err := h.store.ids()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		rec, err := h.store.read(id)
		if err != nil {
			return nil, err
		}
		if rec.CWD == folder && !rec.Archived && len(rec.Turns) > 0 {
			out = append(out, id)
		}
	}
	return out, nil
}

func unknownThread(id, why string) error {
	return &codex.Error{Kind: codex.ErrUnknownID, Message: "thread " + id + " " + why}
}

func refused(message string, cause error) error {
	return &codex.Error{Kind: codex.ErrRefused, Message: message, Cause: cause}
}
