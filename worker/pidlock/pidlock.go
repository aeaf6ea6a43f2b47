// Package pidlock makes one process the only one of its kind for a file, and lets
// the second name the first.
//
// Invariants:
//
//   - The lock ends with the process, however it ends; the file stays.
//   - Asking who holds it leaves no trace.
package pidlock

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// Lock is a held lock.
type Lock struct{ file *flock.Flock }

// HeldError is the error of Acquire when another process holds the lock.
type HeldError struct{ PID int } // 0 where the holder has not written it yet

// Error names the holder.
func (h *HeldError) Error() string { return "held by process " + strconv.Itoa(h.PID) }

// Acquire takes the lock at once or fails with HeldError. The file is made with mode
// 0600.
func Acquire(path string) (*Lock, error) {
	l := &Lock{file: flock.New(path, flock.SetPermissions(0o600))}
	ok, err := l.file.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &HeldError{PID: read(path)}
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// Release gives the lock back.
func (l *Lock) Release() error { return l.file.Close() }

// Holder tells which process holds the lock, if any.
func Holder(path string) (pid int, held bool) {
	if _, err := os.Stat(path); err != nil {
		return 0, false
	}
	probe := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := probe.TryRLock()
	if err != nil {
		return 0, false
	}
	if free {
		_ = probe.Close() // a shared lock that nobody waited for
		return 0, false
	}
	return read(path), true
}

func read(path string) int {
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
