package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"coxswain/activities/codex/appserver/managed"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
	"coxswain/worker/pidlock"
)

// lock makes this the only `cox up` of its state directory.
func (s *stack) lock() (func(), error) {
	if err := os.MkdirAll(s.stateDir, 0o700); err != nil {
		return nil, ledger.StateUnusable(s.stateDir, err)
	}
	lock, err := pidlock.Acquire(upLock(s.stateDir))
	if held, ok := errors.AsType[*pidlock.HeldError](err); ok {
		return nil, models.Errorf(models.CodeLeaseConflict, "cox up runs already for %s (process %d)", s.stateDir, held.PID).
			With("holder_pid", held.PID).Hint("cox status; cox down stops it")
	}
	if err != nil {
		return nil, ledger.StateUnusable(upLock(s.stateDir), err)
	}
	return func() { _ = lock.Release() }, nil // the lock ends with the process at the latest
}

func upLock(stateDir string) string { return filepath.Join(stateDir, "up.lock") }

func downLeaf() leaf {
	return leaf{
		name: "down", usage: "stop what cox up or cox worker of this state directory started",
		about: "Sends the process the same signal as Ctrl-C, shows which turns are waited for, and returns when all is gone:\n" +
			"nothing new begins, and the turns that run may end within 30 s. --now, or Ctrl-C, interrupts them at once.",
		example: "cox down",
		options: []*option{{name: "now", kind: truthKind, usage: "interrupt the turns at once"}},
		run:     down, file: brakes,
	}
}

// downWait is how long a stack may take to stop.
const downWait = 2 * time.Minute

func down(ctx context.Context, in *call) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	d := &descent{call: in, stateDir: paths.StateDir, now: in.on("now")}
	if err := d.openLedger(ctx, paths); err != nil {
		return err
	}
	stopped := []int{}
	for _, running := range []func(string) (int, bool){upRunning, worker.Running} {
		pid, ok := running(paths.StateDir)
		if !ok {
			continue
		}
		if err := d.stop(ctx, pid, func() bool { _, alive := running(paths.StateDir); return alive }); err != nil {
			return err
		}
		stopped = append(stopped, pid)
	}
	for _, end := range []func(context.Context) (int, error){d.awaitEngine, d.stopServer} {
		pid, err := end(ctx)
		if err != nil {
			return err
		}
		if pid != 0 {
			stopped = append(stopped, pid)
		}
	}
	return in.answer(fields{"stopped": stopped}, func(p *printer) {
		if len(stopped) == 0 {
			p.line("nothing runs for %s", paths.StateDir)
			return
		}
		for _, pid := range stopped {
			p.line("stopped process %d", pid)
		}
	})
}

// descent is one `cox down`.
type descent struct {
	*call
	stateDir string
	now      bool // nobody waits for turns
	watch    *turnWatch
}

// openLedger reads which turns are waited for. Without a ledger there are none, and
// one that cannot be read keeps nobody from stopping.
func (d *descent) openLedger(ctx context.Context, paths ledger.Paths) error {
	if !paths.Exists() {
		return nil
	}
	l, err := d.ledger(ctx)
	if err != nil {
		d.log().Warn("the turns that are waited for cannot be named", "error", err)
		return ctx.Err()
	}
	d.watch = &turnWatch{call: d.call, ledger: l, node: ledger.LocalNodeID(d.stateDir)}
	return nil
}

// stop ends a process as Ctrl-C does, and waits until it is gone.
func (d *descent) stop(ctx context.Context, pid int, alive func() bool) error {
	if err := d.signal(pid, syscall.SIGTERM); err != nil {
		return err
	}
	hurried := false
	limit, t := time.NewTimer(downWait), time.NewTicker(50*time.Millisecond)
	defer limit.Stop()
	defer t.Stop()
	for alive() {
		if d.now = d.now || ctx.Err() != nil; d.now && !hurried {
			hurried = true
			if err := d.signal(pid, syscall.SIGINT); err != nil { // another signal than before, since two of a kind may merge into one
				return err
			}
		}
		d.tell(ctx, pid)
		select {
		case <-t.C:
		case <-limit.C:
			return models.Errorf(models.CodeEngineUnavailable, "process %d did not stop in %s", pid, downWait).Hint("look at it, then kill %d", pid)
		}
	}
	return nil
}

func (d *descent) signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return models.Errorf(models.CodeForbidden, "process %d cannot be stopped", pid).Because(err)
	}
	return nil
}

func (d *descent) tell(ctx context.Context, pid int) {
	if d.watch == nil || d.now {
		return
	}
	if _, err := d.watch.tell(ctx, "stopping process "+strconv.Itoa(pid)+": the turns of %s may end; Ctrl-C interrupts them"); err != nil {
		d.watch = nil // it can only tell less
	}
}

// stopServer ends an app-server that nobody looks after any more.
func (d *descent) stopServer(ctx context.Context) (pid int, err error) {
	patience := managed.DrainTime
	if d.now = d.now || ctx.Err() != nil; d.now {
		patience = 0
	}
	if pid, running := managed.Running(d.stateDir); running {
		d.tell(ctx, pid)
	}
	pid, err = managed.Stop(ctx, d.stateDir, patience)
	if err != nil {
		return pid, models.Errorf(models.CodeAdapterUnavailable, "the app-server of %s was not ended", d.stateDir).Hint("cox down").Because(err)
	}
	return pid, nil
}

// upRunning tells whether a `cox up` of the state directory runs.
func upRunning(stateDir string) (int, bool) { return pidlock.Holder(upLock(stateDir)) }
