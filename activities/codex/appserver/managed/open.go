package managed

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/gofrs/flock"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
)

// Open opens a host on the server of a state directory, which is adopted when it is
// provably the one of the wanted Codex and answers, and started otherwise. Its
// errors are those of appserver.Open.
func Open(ctx context.Context, stateDir string, options appserver.Options) (*appserver.Host, error) {
	o, err := options.Resolve()
	if err != nil {
		return nil, err
	}
	p := placeOf(stateDir)
	if err := p.make(); err != nil {
		return nil, startup("the folder of the server", err)
	}
	unlock, err := p.acquire(ctx)
	if err != nil {
		return nil, startup("the lock of the server", err)
	}
	defer unlock()
	version, err := appserver.BinaryVersion(ctx, o.Bin, o.Env)
	if err != nil {
		return nil, err
	}
	host, err := p.adopt(ctx, o, version)
	if host != nil || err != nil {
		return host, err
	}
	if err := p.trim(0); err != nil {
		return nil, startup("the server's output", err)
	}
	r, err := p.start(ctx, o, version)
	if err != nil {
		return nil, err
	}
	o.Logger.Info("codex app-server is started", "pid", r.PID, "version", version)
	host, err = appserver.Connect(ctx, o, p.server(r))
	if err != nil {
		return nil, errors.Join(err, r.kill(), p.cleanUp(r))
	}
	return host, nil
}

func startup(what string, err error) error {
	return &codex.Error{Kind: codex.ErrStartup, Message: what, Cause: err}
}

func (p place) server(r record) appserver.Server {
	return appserver.Server{Socket: r.Socket, PID: r.PID, Log: p.log()}
}

// adopt connects to the recorded server, nil when a new one is to be started. A
// running one that does not fit, or does not answer, is ended: there is one server
// for a node.
func (p place) adopt(ctx context.Context, o appserver.Options, version string) (*appserver.Host, error) {
	r, found, err := p.read()
	if err != nil {
		o.Logger.Warn("the record of an app-server cannot be read; whatever it named is left alone", "error", err)
		return nil, p.forget()
	}
	if !found {
		return nil, nil
	}
	alive, err := r.running()
	if err != nil {
		return nil, startup("the recorded app-server", err)
	}
	if !alive {
		return nil, p.cleanUp(r)
	}
	why := r.misfit(home(o))
	if why == "" {
		host, err := appserver.Connect(ctx, o, p.server(r))
		if err == nil {
			o.Logger.Info("codex app-server is adopted", "pid", r.PID, "version", r.Version, "installed", version)
			return host, nil
		}
		if ctx.Err() != nil {
			return nil, err // the caller gave up, which says nothing of the server
		}
		why = err.Error()
	}
	return nil, p.replace(ctx, r, why, o.Logger)
}

// replaceDrain is how long the turns of a server that is replaced may go on.
const replaceDrain = 2 * time.Second

func (p place) replace(ctx context.Context, r record, why string, log *slog.Logger) error {
	log.Warn("the running app-server of this node is ended and replaced", "pid", r.PID, "reason", why)
	if err := r.end(ctx, replaceDrain); err != nil {
		return startup("ending the app-server of before", err)
	}
	return p.cleanUp(r)
}

// Outdated tells whether the running server of a state directory is of another
// version than the installed Codex. It goes on until it is idle: then Stop, and Open
// starts the installed one.
func Outdated(ctx context.Context, stateDir string, options appserver.Options) (running, installed string, outdated bool, err error) {
	r, found, err := placeOf(stateDir).read()
	if err != nil || !found {
		return "", "", false, err
	}
	alive, err := r.running()
	if err != nil || !alive {
		return "", "", false, err
	}
	o, err := options.Resolve()
	if err != nil {
		return r.Version, "", false, err
	}
	installed, err = appserver.BinaryVersion(ctx, o.Bin, o.Env)
	return r.Version, installed, err == nil && installed != r.Version, err
}

// acquire takes the lock of the folder, waiting for whoever has it.
func (p place) acquire(ctx context.Context) (unlock func(), err error) {
	lock := flock.New(p.lock(), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() { _ = lock.Close() }, nil // the lock ends with the process at the latest
}

// maxOutput is how large the server's output may become before it is begun anew.
const maxOutput = 4 << 20

// Trim keeps the output of a state directory's server below 8 MiB: a file that has
// grown is kept once as a copy and begun anew. It is to be called now and then.
func Trim(stateDir string) error { return placeOf(stateDir).trim(maxOutput) }

// trim moves the output aside when it is longer than the limit. The server appends
// to the same file, so that this is emptied and not replaced; of what it grew to
// unwatched the end is kept.
func (p place) trim(limit int64) error {
	info, err := os.Stat(p.log())
	if err != nil || info.Size() <= limit {
		return absent(err)
	}
	f, err := os.Open(p.log())
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	kept := make([]byte, min(info.Size(), maxOutput))
	n, err := f.ReadAt(kept, info.Size()-int64(len(kept)))
	if n < len(kept) {
		return err
	}
	if err := os.WriteFile(p.oldLog(), kept, 0o600); err != nil {
		return err
	}
	return os.Truncate(p.log(), 0)
}
