package worker

import (
	"errors"
	"os"
	"path/filepath"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker/pidlock"
)

// lockNode makes this the only worker process of its state directory.
func lockNode(stateDir string) (*pidlock.Lock, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, ledger.StateUnusable(stateDir, err)
	}
	lock, err := pidlock.Acquire(lockPath(stateDir))
	if held, ok := errors.AsType[*pidlock.HeldError](err); ok {
		return nil, models.Errorf(models.CodeLeaseConflict, "a worker of %s runs already (process %d)", stateDir, held.PID).
			With("holder_pid", held.PID).Hint("cox status; cox down stops it")
	}
	if err != nil {
		return nil, ledger.StateUnusable(lockPath(stateDir), err)
	}
	return lock, nil
}

func lockPath(stateDir string) string { return filepath.Join(stateDir, "worker.lock") }

// Running tells whether a worker of the state directory runs, and its process id.
// It leaves no trace.
func Running(stateDir string) (pid int, running bool) { return pidlock.Holder(lockPath(stateDir)) }
