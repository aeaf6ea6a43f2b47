package worker

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"coxswain/models"
)

// nodeLock makes this the only worker process of its state directory.
type nodeLock struct{ file *flock.Flock }

func lockNode(stateDir string) (*nodeLock, error) {
	path := lockPath(stateDir)
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, models.Errorf(models.CodeLedgerUnavailable, "the state directory %s cannot be made", stateDir).Because(err)
	}
	l := &nodeLock{file: flock.New(path, flock.SetPermissions(0o600))}
	ok, err := l.file.TryLock()
	if err != nil {
		return nil, models.Errorf(models.CodeLedgerUnavailable, "the lock file %s cannot be used", path).Because(err)
	}
	if !ok {
		pid := holder(path)
		return nil, models.Errorf(models.CodeLeaseConflict, "a worker of %s runs already (process %d)", stateDir, pid).
			With("holder_pid", pid).Hint("cox status shows what it does; cox down stops it")
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(models.Errorf(models.CodeLedgerUnavailable, "the lock file %s cannot be written", path).Because(err), l.release())
	}
	return l, nil
}

func (l *nodeLock) release() error { return l.file.Close() }

func lockPath(stateDir string) string { return filepath.Join(stateDir, "worker.lock") }

func holder(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// Running tells whether a worker of the state directory runs, and its process id.
// It leaves no trace.
func Running(stateDir string) (pid int, running bool) {
	path := lockPath(stateDir)
	if _, err := os.Stat(path); err != nil {
		return 0, false
	}
	probe := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := probe.TryRLock()
	if err != nil {
		return 0, false
	}
	if ok {
		_ = probe.Close() // the lock was free and this process holds nothing else of it
		return 0, false
	}
	return holder(path), true
}
