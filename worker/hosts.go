package worker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/appserver/managed"
	"coxswain/activities/codex/fake"
	"coxswain/models"
)

// hosts owns one adapter host per kind.
type hosts struct {
	o     Options
	node  *activities.Node
	watch *observer
	dial  func(ctx context.Context, kind string) (codex.Adapter, error) // opens a host of a kind

	// opening is held until the threads of a host are attached, so that nobody uses
	// it before; whoever waits for it gives up with its context.
	opening *semaphore.Weighted

	mu       sync.Mutex // guards what follows
	open     map[string]*openHost
	failed   map[string]failedOpen
	closed   bool
	ends     map[string]int  // how often a host ended soon after it was opened, one time after the other
	partial  map[string]bool // of the open hosts: not all threads are attached
	fallback string          // why Codex is not on its socket, as it was logged

	lost    chan struct{} // a host ended by itself
	current string        // the file of the installed Codex that runs; only upgrade uses it
}

type openHost struct {
	codex.Adapter
	cancel func()
	since  time.Time
}

type failedOpen struct {
	at    time.Time
	count int
	err   error
}

func newHosts(o Options, n *activities.Node, w *observer) *hosts {
	h := &hosts{
		o: o, node: n, watch: w, opening: semaphore.NewWeighted(1), open: map[string]*openHost{}, failed: map[string]failedOpen{},
		ends: map[string]int{}, partial: map[string]bool{}, lost: make(chan struct{}, 1),
	}
	h.dial = h.openKind
	return h
}

// Host implements activities.Hosts. No caller may hold a thread's lock, which
// attaching the threads takes.
func (h *hosts) Host(ctx context.Context, kind string) (codex.Adapter, error) {
	if err := h.opening.Acquire(ctx, 1); err != nil {
		return nil, unavailable(kind, err)
	}
	defer h.opening.Release(1)
	if host, err := h.ready(kind); host != nil || err != nil {
		return host, err
	}
	host, err := h.dial(ctx, kind)
	if err := h.dialled(kind, host, err); err != nil {
		return nil, err
	}
	h.attach(ctx, host)
	return host, nil
}

// ready gives the host that is open, or the reason why none may be opened now.
func (h *hosts) ready(kind string) (codex.Adapter, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, unavailable(kind, errors.New("the worker stops"))
	}
	if host := h.open[kind]; host != nil {
		select {
		case <-host.Done():
			h.gone(kind, host)
		default:
			return host, nil
		}
	}
	if f, ok := h.failed[kind]; ok && time.Since(f.at) < min(time.Duration(f.count)*time.Second, 30*time.Second) {
		return nil, unavailable(kind, f.err)
	}
	return nil, nil
}

// steadyHost is how long a host has to live for its end not to count.
const steadyHost = time.Minute

// gone forgets a host that has ended. One that ends soon after its start again and
// again is opened ever later.
func (h *hosts) gone(kind string, host *openHost) {
	host.cancel()
	delete(h.open, kind)
	err := host.Err()
	if err == nil || time.Since(host.since) >= steadyHost {
		delete(h.ends, kind)
		return
	}
	if h.ends[kind]++; h.ends[kind] > 1 {
		h.failed[kind] = failedOpen{at: time.Now(), count: h.ends[kind] - 1, err: err}
	}
}

// dialled keeps a host that was opened, or why it was not. A host that came up
// while the worker stopped is closed again.
func (h *hosts) dialled(kind string, host codex.Adapter, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && h.closed {
		err = errors.Join(errors.New("the worker stops"), host.Close())
	}
	if err != nil {
		h.failed[kind] = failedOpen{at: time.Now(), count: h.failed[kind].count + 1, err: err}
		return unavailable(kind, err)
	}
	delete(h.failed, kind)
	h.open[kind] = &openHost{Adapter: host, cancel: host.Subscribe(h.watch.handler(host)), since: time.Now()}
	h.o.Log.Info("adapter host is open", "adapter", kind)
	return nil
}

// attach makes a new host hold the threads that the ledger knows.
func (h *hosts) attach(ctx context.Context, host codex.Adapter) {
	h.attachAll(ctx, host)
	go func() {
		h.watch.ended(host)
		select {
		case h.lost <- struct{}{}:
		default: // somebody looks already
		}
	}()
}

// attachAll attaches what the ledger knows; where that fails for a thread, whose turn
// nobody would see end, keep does it again.
func (h *hosts) attachAll(ctx context.Context, host codex.Adapter) {
	err := activities.Reattach(ctx, h.node, host)
	if err != nil && ctx.Err() == nil {
		h.o.Log.Warn("some threads were not attached again", "adapter", host.Kind(), "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.partial[host.Kind()] = err != nil
}

// attachRest attaches the threads that could not be attached before.
func (h *hosts) attachRest(ctx context.Context) {
	for _, kind := range []string{models.AdapterKindCodex, models.AdapterKindFake} {
		h.mu.Lock()
		partial := h.partial[kind]
		h.mu.Unlock()
		if host := h.opened(kind); partial && host != nil {
			h.attachAll(ctx, host)
		}
	}
}

func (h *hosts) openKind(ctx context.Context, kind string) (codex.Adapter, error) {
	switch kind {
	case models.AdapterKindFake:
		return fake.Open(ctx, fake.Options{Dir: filepath.Join(h.o.StateDir, "fake"), Agent: []string{h.o.Cox, "fake-agent"}, Logger: h.o.Log, Pace: h.o.FakePace, Policy: h.o.policy})
	case models.AdapterKindCodex:
		return h.openCodex(ctx, h.codexOptions())
	}
	return nil, models.Invalid("adapter", "%q is not a known adapter", kind)
}

func (h *hosts) codexOptions() appserver.Options {
	return appserver.Options{
		Bin: h.o.CodexBin, CodexHome: h.o.CodexHome, Logger: h.o.Log,
		Policy: h.o.policy,
		Proved: func(ctx context.Context, key string) (string, bool) {
			return h.o.Ledger.StoredProof(ctx, h.node.Config.NodeID, models.AdapterKindCodex, key)
		},
	}
}

func unavailable(kind string, err error) error {
	return models.Errorf(models.CodeAdapterUnavailable, "the adapter %s is not to be had", kind).
		Hint("cox worker --log-level debug; its log says why, and --adapter fake works without Codex").Because(err)
}

// adopt opens the hosts that have threads with something under way, so that their
// turns are watched again without waiting for a first use.
func (h *hosts) adopt(ctx context.Context) error {
	for _, kind := range []string{models.AdapterKindCodex, models.AdapterKindFake} {
		watched, err := h.o.Ledger.WatchedThreads(ctx, h.node.Config.NodeID, kind)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if len(watched) == 0 {
			continue
		}
		if _, err := h.Host(ctx, kind); err != nil && ctx.Err() == nil {
			h.o.Log.Warn("bound threads cannot be watched now", "adapter", kind, "threads", len(watched), "error", err)
		}
	}
	h.keep(ctx)
	return nil
}

// The times between two looks of keep.
const (
	hostLook    = 5 * time.Second
	upgradeLook = time.Minute
)

// keep looks after the open hosts until ctx ends: at once when one has ended, else
// now and then.
func (h *hosts) keep(ctx context.Context) {
	look, upgrades := time.NewTicker(hostLook), time.NewTicker(upgradeLook)
	defer look.Stop()
	defer upgrades.Stop()
	for {
		select {
		case <-h.lost:
			h.reopen(ctx)
		case <-look.C:
			h.reopen(ctx)
			h.attachRest(ctx)
			h.complain(ctx, "the output of the app-server was not trimmed", managed.Trim(h.o.StateDir))
		case <-upgrades.C:
			h.upgrade(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// reopen brings back the hosts that ended by themselves, or could not be opened,
// while threads depend on them. Host spaces the tries.
func (h *hosts) reopen(ctx context.Context) {
	for _, kind := range h.absent() {
		watched, err := h.o.Ledger.WatchedThreads(ctx, h.node.Config.NodeID, kind)
		if err == nil && len(watched) > 0 {
			_, err = h.Host(ctx, kind)
		}
		if err != nil && ctx.Err() == nil {
			h.o.Log.Warn("the adapter host is away and cannot be opened again yet", "adapter", kind, "threads", len(watched), "error", err)
		}
	}
}

// absent are the kinds whose host ended or could not be opened.
func (h *hosts) absent() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for kind := range h.failed {
		out = append(out, kind)
	}
	for kind, host := range h.open {
		select {
		case <-host.Done():
			out = append(out, kind)
		default:
		}
	}
	slices.Sort(out)
	return out
}

func (h *hosts) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	var errs []error
	for _, host := range h.open {
		host.cancel()
		errs = append(errs, host.Close())
	}
	return errors.Join(errs...)
}
