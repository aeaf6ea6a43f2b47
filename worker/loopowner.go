package worker

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker/pidlock"
)

// LoopOwner is the life of a command that turned loops on: they are on for as long
// as it lives, however it ends.
type LoopOwner struct {
	ID   string // what the loop settings name
	path string
	lock *pidlock.Lock
}

// OwnLoops makes the process an owner of loops on the node of a state directory.
func OwnLoops(stateDir string) (*LoopOwner, error) {
	id := ledger.LocalNodeID(stateDir) + "/" + uuid.NewString()
	path := ownerPath(stateDir, id)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var lock *pidlock.Lock
	if err == nil {
		lock, err = pidlock.Acquire(path)
	}
	if err != nil {
		return nil, ledger.StateUnusable(path, err)
	}
	return &LoopOwner{ID: id, path: path, lock: lock}, nil
}

// Release ends the ownership; the loops that still name it are turned off.
func (o *LoopOwner) Release() error { return errors.Join(os.Remove(o.path), o.lock.Release()) }

// OwnerGone tells whether loop settings name an owner of this node that has ended.
// What an owner of another node does cannot be seen from here.
func OwnerGone(stateDir string, s models.LoopSettings) bool {
	node, _, named := strings.Cut(s.Owner, "/")
	if !named || node != ledger.LocalNodeID(stateDir) {
		return false
	}
	_, alive := pidlock.Holder(ownerPath(stateDir, s.Owner))
	return !alive
}

func ownerPath(stateDir, owner string) string {
	return filepath.Join(stateDir, "loops", filepath.Base(owner)+".lock")
}

// releaseLoops turns off the loops whose owner has ended without doing so.
func releaseLoops(ctx context.Context, l *ledger.Ledger, stateDir string, log *slog.Logger) error {
	teams, err := l.Teams(ctx, "")
	if err != nil {
		return err
	}
	for _, t := range teams {
		if !t.Loop.Enabled || !OwnerGone(stateDir, t.Loop) {
			continue
		}
		off, err := l.ReleaseLoop(ctx, t.ID, t.Loop.Owner)
		if err != nil {
			return err
		}
		if off {
			log.Info("the loop is turned off, since the command that had turned it on has ended", "team", t.ID, "set_by", t.Loop.SetBy)
		}
		if err := os.Remove(ownerPath(stateDir, t.Loop.Owner)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
