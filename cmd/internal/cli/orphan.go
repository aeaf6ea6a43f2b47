package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"coxswain/models"
	"coxswain/worker/pidlock"
)

// engineDB is the database of the embedded Temporal of a state directory.
func engineDB(stateDir string) string { return filepath.Join(stateDir, "temporal.db") }

// engineHolds tells whether an embedded Temporal has the database of a state
// directory, which it does before it names its address to anybody. pid is 0 where its
// lock does not say who it is.
func engineHolds(stateDir string) (pid int, held bool) {
	lock := engineDB(stateDir) + ".lock"
	if _, held = pidlock.Holder(lock); !held {
		return 0, false
	}
	var holder struct {
		PID int `json:"pid"`
	}
	if raw, err := os.ReadFile(lock); err != nil || json.Unmarshal(raw, &holder) != nil {
		return 0, true
	}
	return holder.PID, true
}

// awaitEngine waits for the Temporal of a `cox up` that was killed, which ends by
// itself. It returns its process, 0 where there is none.
func (d *descent) awaitEngine(ctx context.Context) (int, error) {
	if _, err := os.Stat(upFile(d.stateDir)); err != nil {
		return 0, nil //nolint:nilerr // what cannot be told is no orphan
	}
	pid, held := engineHolds(d.stateDir)
	if !held {
		return 0, nil
	}
	d.note("an earlier cox up was killed; waiting for its Temporal (process %d) to end …", pid)
	err := await(ctx, remainsWait, func() (bool, error) {
		_, held := engineHolds(d.stateDir)
		return !held, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return pid, models.Errorf(models.CodeEngineUnavailable, "the Temporal of an earlier cox up (process %d) did not end in %s", pid, remainsWait).
			With("pid", pid).Hint("look at it, then kill %d", pid)
	}
	return pid, err
}
