package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"coxswain/models"
)

// beforeRestore owns what was under way when a ledger was set back: no attempt, so
// that the next one looks at the outside world first.
const beforeRestore = "before-restore"

// Epoch counts how often the ledger was set back, from 1. What happened outside since
// then is known to the outside only.
func (l *Ledger) Epoch(ctx context.Context) (int, error) { return readEpoch(l.read(ctx)) }

// Restored is what setting a ledger back did.
type Restored struct {
	Epoch     int `json:"epoch"`
	Commands  int `json:"commands"`  // open ones: whether they were carried out is found out first
	Messages  int `json:"messages"`  // undelivered ones: looked for in their threads first
	Workflows int `json:"workflows"` // woken
}

// RaiseEpoch tells the ledger that it was set back to an earlier state: everything
// that was open may have happened since, and every workflow has to look again.
// FORBIDDEN for agents.
func (l *Ledger) RaiseEpoch(ctx context.Context, c *Call) (Restored, error) {
	return write(ctx, l, c, "raise_epoch", args{}, func(tx *Tx) (Restored, error) {
		if err := tx.needUnbound("restore the ledger", models.RoleHuman, models.RoleNode); err != nil {
			return Restored{}, err
		}
		return tx.raiseEpoch()
	})
}

func (tx *Tx) raiseEpoch() (Restored, error) {
	epoch, err := readEpoch(tx.db)
	if err != nil {
		return Restored{}, err
	}
	out := Restored{Epoch: epoch + 1}
	for _, step := range []struct {
		count *int
		sql   string
		args  []any
	}{
		{nil, "UPDATE meta SET value = ? WHERE key = 'epoch'", []any{strconv.Itoa(out.Epoch)}},
		{&out.Commands, "UPDATE commands SET state = 'unknown', owner = ? WHERE state IN ('intended','unknown')", []any{beforeRestore}},
		{&out.Messages, "UPDATE outbox SET state = 'sending', owner = ?, not_before = NULL WHERE state IN ('pending','sending')", []any{beforeRestore}},
		{&out.Workflows, "UPDATE wakeups SET generation = generation + 1, ended = 0, updated_at = ?", []any{tx.ms()}},
	} {
		res := tx.db.Exec(step.sql, step.args...)
		if res.Error != nil {
			return out, res.Error
		}
		if step.count != nil {
			*step.count = int(res.RowsAffected)
		}
	}
	_, err = tx.append(models.Event{Type: models.EventLedgerRestored, Payload: map[string]any{
		"epoch": out.Epoch, "commands": out.Commands, "messages": out.Messages, "workflows": out.Workflows,
	}})
	return out, errors.Join(err, tx.wakeClock())
}

// DoubtCommand turns a command that the attempt owns to unknown: it was carried out
// before the ledger was set back, so that what it sends is looked for first.
func (l *Ledger) DoubtCommand(ctx context.Context, commandID, owner string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		_, err := tx.swap(&models.Command{}, map[string]any{"state": models.CommandUnknown}, "id = ? AND owner = ? AND state = 'intended'", commandID, owner)
		return err
	})
}

// mark is how far a ledger had come when a worker last saw it. It is kept outside of
// the ledger, so that a copy of the ledger put back in its place is noticed.
type mark struct {
	Instance string `json:"instance"`
	Epoch    int    `json:"epoch"`
	Sequence int64  `json:"sequence"` // of the newest event
}

// WatchForRestore compares the ledger with the mark in a file, and writes the mark
// anew. A ledger that is behind its mark was set back: its epoch is raised, once.
// restored is nil for any other. A mark of another ledger is replaced.
func (l *Ledger) WatchForRestore(ctx context.Context, file string) (restored *Restored, err error) {
	now := mark{Instance: l.instance}
	if now.Epoch, err = l.Epoch(ctx); err != nil {
		return nil, err
	}
	if err := l.read(ctx).Raw("SELECT coalesce(max(sequence), 0) FROM events").Scan(&now.Sequence).Error; err != nil {
		return nil, err
	}
	before, err := readMark(file)
	if err != nil {
		return nil, err
	}
	if before.Instance == now.Instance && before.Epoch >= now.Epoch && before.Sequence > now.Sequence {
		done, err := l.RaiseEpoch(ctx, As(systemPrincipal()))
		if err != nil {
			return nil, err
		}
		restored, now.Epoch = &done, done.Epoch
	}
	if now == before {
		return restored, nil
	}
	return restored, writeMark(file, now)
}

func readMark(file string) (m mark, err error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, StateUnusable(file, err)
	}
	if json.Unmarshal(raw, &m) != nil {
		return mark{}, nil //nolint:nilerr // half written by a power cut; it is written anew
	}
	return m, nil
}

// writeMark replaces the file whole.
func writeMark(file string, m mark) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", raw, 0o600); err != nil {
		return StateUnusable(file, err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return StateUnusable(file, err)
	}
	return nil
}
