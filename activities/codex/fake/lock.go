package fake

import (
	"coxswain/activities/codex"

	"github.com/gofrs/flock"
)

// threadLock keeps other hosts away from a thread. The file stays, because
// removing a locked file would let two hosts lock two files of one name; the
// lock itself ends with the process.
type threadLock struct{ file *flock.Flock }

// acquire takes the lock of a thread, ErrBusy when another host has it.
func (s store) acquire(id string) (*threadLock, error) {
	file := flock.New(s.lockPath(id), flock.SetPermissions(0o600))
	got, err := file.TryLock()
	if err != nil {
		return nil, refused("locking thread "+id, err)
	}
	if !got {
		return nil, &codex.Error{Kind: codex.ErrBusy, Message: "thread " + id + " is loaded by another host"}
	}
	return &threadLock{file: file}, nil
}

// release gives the lock back; a thread without one has nothing to give.
func (l *threadLock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
