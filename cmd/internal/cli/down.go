package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"coxswain/models"
	"coxswain/worker"
)

// lock makes this the only `cox up` of its state directory.
func (s *stack) lock() (func(), error) {
	if err := os.MkdirAll(s.stateDir, 0o700); err != nil {
		return nil, models.Errorf(models.CodeLedgerUnavailable, "the state directory %s cannot be made", s.stateDir).Because(err)
	}
	path := filepath.Join(s.stateDir, "up.lock")
	file := flock.New(path, flock.SetPermissions(0o600))
	ok, err := file.TryLock()
	if err != nil {
		return nil, models.Errorf(models.CodeLedgerUnavailable, "the lock %s cannot be used", path).Because(err)
	}
	if !ok {
		pid := upPID(s.stateDir)
		return nil, models.Errorf(models.CodeLeaseConflict, "cox up runs already for %s (process %d)", s.stateDir, pid).
			With("holder_pid", pid).Hint("cox status shows what it does; cox down stops it")
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(models.Errorf(models.CodeLedgerUnavailable, "the lock %s cannot be written", path).Because(err), file.Close())
	}
	return func() { _ = file.Close() }, nil // the lock ends with the process at the latest
}

func upPID(stateDir string) int {
	text, err := os.ReadFile(filepath.Join(stateDir, "up.lock"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

func downLeaf() leaf {
	return leaf{
		name: "down", usage: "stop what cox up or cox worker of this state directory started",
		about:   "Sends the process the same signal as Ctrl-C and waits until it is gone.",
		example: "cox down",
		run:     down,
	}
}

// downWait is how long a stack may take to stop.
const downWait = 60 * time.Second

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

// upRunning tells whether a `cox up` of the state directory runs. It leaves no
// trace.
func upRunning(stateDir string) (int, bool) {
	path := filepath.Join(stateDir, "up.lock")
	if _, err := os.Stat(path); err != nil {
		return 0, false
	}
	probe := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := probe.TryRLock()
	if err != nil {
		return 0, false
	}
	if ok {
		_ = probe.Close() // it was free
		return 0, false
	}
	return upPID(stateDir), true
}
