package ledger

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"coxswain/models"
)

// writeLock serialises the writers of all processes by a blocking file lock.
// SQLite's own busy handler polls and starves writers under contention.
type writeLock struct {
	file    *flock.Flock
	holder  *os.File // the same file, for the pid that a busy message names; nil where it cannot be opened
	path    string
	timeout time.Duration
	turn    chan struct{} // one slot: the writers of this process
}

func newWriteLock(path string, timeout time.Duration) *writeLock {
	holder, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		holder = nil // acquire meets the same error and reports it
	}
	return &writeLock{file: flock.New(path, flock.SetPermissions(0o600)), holder: holder, path: path, timeout: timeout, turn: make(chan struct{}, 1)}
}

// acquire waits for the lock until the timeout or ctx ends. The release function
// must be called once.
func (w *writeLock) acquire(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, w.busy(ctx)
	}
	// The common case takes the lock without a goroutine.
	if ok, err := w.file.TryLock(); err != nil {
		<-w.turn
		return nil, Unavailable(w.path, err)
	} else if ok {
		return w.held(), nil
	}
	locked := make(chan error, 1)
	go func() { locked <- w.file.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			<-w.turn
			return nil, Unavailable(w.path, err)
		}
		return w.held(), nil
	case <-ctx.Done():
		go w.abandon(locked)
		return nil, w.busy(ctx)
	}
}

// abandon gives the lock back when the blocked call gets it after its caller left.
func (w *writeLock) abandon(locked <-chan error) {
	if err := <-locked; err == nil {
		w.unlock()
	}
	<-w.turn
}

func (w *writeLock) held() func() {
	if w.holder != nil {
		// The pid is advice for a busy message; the transaction does not depend on it.
		_, _ = w.holder.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n          "), 0)
	}
	return func() {
		w.unlock()
		<-w.turn
	}
}

// unlock cannot fail in a way that matters: the lock ends with its descriptor,
// which the library closes.
func (w *writeLock) unlock() { _ = w.file.Unlock() }

func (w *writeLock) busy(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	e := models.Errorf(models.CodeLedgerBusy, "the ledger was busy for %s", w.timeout).
		Hint("try again")
	if text, err := os.ReadFile(w.path); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(string(text), "\n", 2)[0])); err == nil {
			e = e.With("holder_pid", pid).Hint("process %d holds it; try again, or look at that process", pid)
		}
	}
	return e
}

func (w *writeLock) close() error {
	err := w.file.Close()
	if w.holder != nil {
		err = errors.Join(err, w.holder.Close())
	}
	return err
}
