package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
			With("holder_pid", held.PID).Hint("cox status shows what it does; cox down stops it")
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
		about: "Sends the process the same signal as Ctrl-C and waits until it is gone. A Codex that outlived its worker\n" +
			"(--transport unix) may finish its turns for 30 s, then they are interrupted; Ctrl-C interrupts them at once.",
		example: "cox down",
		run:     down,
	}
}

// downWait is how long a stack may take to stop.
const downWait = 2 * time.Minute

func down(ctx context.Context, in *call) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	stopped := []int{}
	for _, running := range []func(string) (int, bool){upRunning, worker.Running} {
		pid, ok := running(paths.StateDir)
		if !ok {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			return models.Errorf(models.CodeForbidden, "process %d cannot be stopped", pid).Because(err)
		}
		err := await(ctx, downWait, func() (bool, error) { _, alive := running(paths.StateDir); return !alive, nil })
		if err != nil {
			return models.Errorf(models.CodeEngineUnavailable, "process %d did not stop in %s", pid, downWait).Hint("look at it, then kill %d", pid).Because(err)
		}
		stopped = append(stopped, pid)
	}
	pid, err := managed.Stop(ctx, paths.StateDir, managed.DrainTime)
	if err != nil {
		return models.Errorf(models.CodeAdapterUnavailable, "the app-server of %s was not ended", paths.StateDir).Hint("cox down").Because(err)
	}
	if pid != 0 {
		stopped = append(stopped, pid)
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

// upRunning tells whether a `cox up` of the state directory runs.
func upRunning(stateDir string) (int, bool) { return pidlock.Holder(upLock(stateDir)) }
