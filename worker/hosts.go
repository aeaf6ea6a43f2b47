package worker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/fake"
	"coxswain/models"
)

// hosts owns one adapter host per kind.
type hosts struct {
	o     Options
	node  *activities.Node
	watch *observer
	dial  func(ctx context.Context, kind string) (codex.Adapter, error) // opens a host of a kind

	mu     sync.Mutex
	open   map[string]*openHost
	failed map[string]failedOpen
	closed bool
}

type openHost struct {
	codex.Adapter
	cancel func()
}

type failedOpen struct {
	at    time.Time
	count int
	err   error
}

func newHosts(o Options, n *activities.Node, w *observer) *hosts {
	h := &hosts{o: o, node: n, watch: w, open: map[string]*openHost{}, failed: map[string]failedOpen{}}
	h.dial = h.openKind
	return h
}

// Host implements activities.Hosts.
func (h *hosts) Host(ctx context.Context, kind string) (codex.Adapter, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, unavailable(kind, errors.New("the worker stops"))
	}
	if host := h.open[kind]; host != nil {
		select {
		case <-host.Done():
			host.cancel()
			delete(h.open, kind)
		default:
			return host, nil
		}
	}
	if f, ok := h.failed[kind]; ok && time.Since(f.at) < min(time.Duration(f.count)*time.Second, 30*time.Second) {
		return nil, unavailable(kind, f.err)
	}
	host, err := h.start(ctx, kind)
	if err != nil {
		h.failed[kind] = failedOpen{at: time.Now(), count: h.failed[kind].count + 1, err: err}
		return nil, unavailable(kind, err)
	}
	delete(h.failed, kind)
	return host, nil
}

// start opens a host, lets the observer see its events, and attaches the threads
// that the ledger knows before anyone else uses it.
func (h *hosts) start(ctx context.Context, kind string) (codex.Adapter, error) {
	host, err := h.dial(ctx, kind)
	if err != nil {
		return nil, err
	}
	h.open[kind] = &openHost{Adapter: host, cancel: host.Subscribe(h.watch.handler(host))}
	h.o.Log.Info("adapter host is open", "adapter", kind)
	if err := activities.Reattach(ctx, h.node, host); err != nil {
		h.o.Log.Warn("some threads were not attached again", "adapter", kind, "error", err)
	}
	go h.watch.ended(host)
	return host, nil
}

func (h *hosts) openKind(ctx context.Context, kind string) (codex.Adapter, error) {
	switch kind {
	case models.AdapterKindFake:
		return fake.Open(ctx, fake.Options{Dir: filepath.Join(h.o.StateDir, "fake"), Agent: []string{h.o.Cox, "fake-agent"}, Logger: h.o.Log, Pace: h.o.FakePace})
	case models.AdapterKindCodex:
		return appserver.Open(ctx, appserver.Options{Bin: h.o.CodexBin, CodexHome: h.o.CodexHome, Logger: h.o.Log})
	}
	return nil, models.Invalid("adapter", "%q is not a known adapter", kind)
}

func unavailable(kind string, err error) error {
	return models.Errorf(models.CodeAdapterUnavailable, "the adapter %s is not to be had", kind).
		Hint("cox worker --log-level debug shows why; --adapter fake works without Codex").Because(err)
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
	return every(ctx, 5*time.Second, func() { h.reopen(ctx) })
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
