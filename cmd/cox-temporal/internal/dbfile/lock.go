package dbfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"

	"coxswain/models"
)

// Holder is what the lock file says about the process that has the database.
type Holder struct {
	PID     int    `json:"pid"`
	Address string `json:"address,omitempty"` // host:port of its frontend; empty until it has one
}

// How long a refused process waits for the holder to write who it is. The
// holder does so within microseconds of locking, its address within the time it
// takes to pick ports.
const (
	holderWait = 2 * time.Second
	holderPoll = 20 * time.Millisecond
)

// lock is the exclusive hold on a database.
type lock struct {
	flock *flock.Flock
	path  string
}

// takeLock locks a database without waiting for another holder.
func takeLock(database string) (*lock, error) {
	path := database + ".lock"
	fl := flock.New(path, flock.SetPermissions(fileMode))
	locked, err := fl.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock database: %w", err)
	}
	if !locked {
		return nil, held(database, path)
	}
	l := &lock{flock: fl, path: path}
	if err := l.publish(""); err != nil {
		return nil, errors.Join(err, fl.Unlock())
	}
	return l, nil
}

// publish writes this process and its address into the lock file, in place: a
// file of the same name put over it would not be the locked one.
func (l *lock) publish(address string) error {
	raw, err := json.Marshal(Holder{PID: os.Getpid(), Address: address})
	if err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	_, writeErr := f.WriteAt(append(raw, '\n'), 0)
	truncErr := f.Truncate(int64(len(raw)) + 1)
	if err := errors.Join(writeErr, truncErr, f.Close()); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	return nil
}

// release empties the lock file and unlocks it.
func (l *lock) release() error {
	return errors.Join(os.Truncate(l.path, 0), l.flock.Unlock())
}

// held describes the process that has the database.
func held(database, path string) error {
	h, known := waitForHolder(path)
	if !known {
		return models.Errorf(models.CodeLeaseConflict, "%s is in use by another process", database).With("path", database).
			Hint("find the process that has %s open and stop it, or name another --db-filename", path)
	}
	who := fmt.Sprintf("process %d", h.PID)
	if h.Address != "" {
		who += " at " + h.Address
	}
	return models.Errorf(models.CodeLeaseConflict, "%s is in use by %s", database, who).
		With("path", database).With("pid", h.PID).With("address", h.Address).
		Hint("use that server, stop it first (kill %d), or name another --db-filename", h.PID)
}

// waitForHolder reads the lock file until it names a process with an address,
// or the wait is over.
func waitForHolder(path string) (h Holder, known bool) {
	deadline := time.Now().Add(holderWait)
	for {
		h, known = readHolder(path)
		if h.Address != "" || time.Now().After(deadline) {
			return h, known
		}
		time.Sleep(holderPoll)
	}
}

// readHolder reads the lock file once; an empty or half-written one is unknown.
func readHolder(path string) (Holder, bool) {
	var h Holder
	f, err := os.Open(path)
	if err != nil {
		return h, false
	}
	defer func() { _ = f.Close() }() // opened for reading only
	// A decoder stops after the first document, whatever an overwrite leaves behind it.
	err = json.NewDecoder(f).Decode(&h)
	return h, err == nil && h.PID > 0
}
