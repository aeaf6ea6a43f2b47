package worker

import (
	"context"
	"fmt"
	"os"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/appserver/managed"
	"coxswain/models"
)

// openCodex opens Codex over the transport that is asked for.
func (h *hosts) openCodex(ctx context.Context, o appserver.Options) (codex.Adapter, error) {
	switch h.o.Transport {
	case appserver.Stdio:
		return h.openChild(ctx, o)
	case appserver.Unix:
		return managed.Open(ctx, h.o.StateDir, o)
	}
	host, err := managed.Open(ctx, h.o.StateDir, o)
	if err == nil {
		return host, nil
	}
	if !h.mayFallBack(ctx, err) {
		return nil, err
	}
	o.Fallback = err.Error()
	child, childErr := h.openChild(ctx, o)
	if childErr != nil {
		return nil, childErr // Codex itself does not run
	}
	h.sayFallback(o.Fallback)
	return child, nil
}

// mayFallBack tells whether a child may do what the server was to do: Codex is there,
// and no server that runs has threads of this node.
func (h *hosts) mayFallBack(ctx context.Context, err error) bool {
	_, running := managed.Running(h.o.StateDir)
	return ctx.Err() == nil && !running && codex.KindOf(err) == codex.ErrStartup
}

// sayFallback logs a reason once.
func (h *hosts) sayFallback(reason string) {
	h.mu.Lock()
	said := h.fallback == reason
	h.fallback = reason
	h.mu.Unlock()
	if !said {
		h.o.Log.Warn("the socket to Codex is not to be had: over stdio, running turns are cut off when the worker stops", "reason", reason)
	}
}

// childDrain is how long the turns of a server may go on that gives way to a child.
const childDrain = 2 * time.Second

// openChild starts Codex as a child. A server of before would keep its threads to
// itself, and is ended.
func (h *hosts) openChild(ctx context.Context, o appserver.Options) (codex.Adapter, error) {
	if pid, err := managed.Stop(ctx, h.o.StateDir, childDrain); err != nil {
		return nil, &codex.Error{Kind: codex.ErrStartup, Message: "ending the app-server of before", Cause: err}
	} else if pid != 0 {
		h.o.Log.Warn("the app-server of this node gives way to a child", "pid", pid)
	}
	return appserver.Open(ctx, o)
}

// upgrade ends the server of a Codex that was replaced meanwhile, once it is idle;
// whoever needs a host then opens the installed one.
func (h *hosts) upgrade(ctx context.Context) {
	host := h.opened(models.AdapterKindCodex)
	if host == nil || h.o.Transport == appserver.Stdio {
		return
	}
	file := programOf(h.codexOptions())
	if file != "" && file == h.current {
		return // asking it for its version starts it
	}
	running, installed, outdated, err := managed.Outdated(ctx, h.o.StateDir, h.codexOptions())
	if err != nil || !outdated {
		h.complain(ctx, "the installed Codex could not be compared with the running one", err)
		if err == nil {
			h.current = file
		}
		return
	}
	idle, err := allIdle(ctx, host)
	if err != nil || !idle {
		h.complain(ctx, "the threads of the outdated Codex could not be read", err)
		return
	}
	h.o.Log.Info("Codex was upgraded and its server is idle: it is replaced", "running", running, "installed", installed)
	_, err = managed.Stop(ctx, h.o.StateDir, managed.DrainTime)
	h.complain(ctx, "the outdated app-server was not ended", err)
}

// programOf tells one installed Codex from another by its file; "" is unknown.
func programOf(o appserver.Options) string {
	o, err := o.Resolve()
	if err != nil {
		return ""
	}
	info, err := os.Stat(o.Bin)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %s", o.Bin, info.Size(), info.ModTime())
}

func (h *hosts) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		h.o.Log.Warn("the managed app-server was not looked after", "what", what, "error", err)
	}
}

// opened is the open host of a kind, nil without one that lives.
func (h *hosts) opened(kind string) codex.Adapter {
	h.mu.Lock()
	defer h.mu.Unlock()
	host := h.open[kind]
	if host == nil {
		return nil
	}
	select {
	case <-host.Done():
		return nil
	default:
		return host
	}
}

// allIdle tells whether no thread in the host's memory has an active turn.
func allIdle(ctx context.Context, host codex.Adapter) (bool, error) {
	ids, err := host.LoadedThreads(ctx)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		t, err := host.ReadThread(ctx, id)
		if codex.KindOf(err) == codex.ErrUnknownID {
			continue // unloaded meanwhile
		}
		if err != nil || t.Status == codex.ThreadActive {
			return false, err
		}
	}
	return true, nil
}
