package crash

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/fake"
	"coxswain/cmd/internal/crash/audit"
)

// Evidence reads everything that is left of an ended world.
func (w *World) Evidence(ctx context.Context) (audit.Evidence, error) {
	e, err := ledgerRows(ctx, ledgerPath(w.state()), w.parts)
	if err != nil {
		return e, err
	}
	e.Unread = w.unread // cox up turned its loop off at its end, which nobody was there to read
	if e.Left, err = left(w.Dir); err != nil {
		return e, err
	}
	if w.control != nil {
		e.Marks, _, _, _ = w.control.result()
	}
	if w.model != nil {
		e.Requests, e.Excusing = requestLog(w.model), []string{string(AppServer)}
	}
	if w.Transport == Stdio { // there the app-server is the worker's child
		e.Excusing = append(e.Excusing, string(Worker))
	}
	e.Threads, err = w.threads(ctx)
	return e, err
}

// threads reads the histories through the adapter that made them.
func (w *World) threads(ctx context.Context) (out []audit.Thread, err error) {
	ids, err := w.threadIDs()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	host, err := w.host(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	return histories(ctx, host, ids)
}

// threadIDs are the ids of all histories, also of those that nobody knows.
func (w *World) threadIDs() ([]string, error) {
	if w.Transport == Fake {
		return threadIDs(filepath.Join(w.state(), "fake", "*.json"))
	}
	home := filepath.Join(w.Dir, "codex-home")
	return threadIDs(filepath.Join(home, "sessions", "*", "*", "*", "*.jsonl"), filepath.Join(home, "archived_sessions", "*.jsonl"))
}

// host opens the adapter over what the world's own hosts left.
func (w *World) host(ctx context.Context) (codex.Adapter, error) {
	if w.Transport == Fake {
		return fake.Open(ctx, fake.Options{Dir: filepath.Join(w.state(), "fake"), Agent: []string{w.Cox, "fake-agent"}, Env: w.env()})
	}
	return appserver.Open(ctx, appserver.Options{
		Bin: w.Codex, CodexHome: filepath.Join(w.Dir, "codex-home"), Env: w.env(), Logger: slog.New(slog.DiscardHandler),
	})
}
