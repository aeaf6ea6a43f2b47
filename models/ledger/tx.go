package ledger

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"coxswain/models"
)

// Call says who asks for a change and under which request id. A Call is used
// once.
type Call struct {
	By        models.Principal
	RequestID string // "" promises no replay
	Replayed  bool   // set when the answer is that of an earlier call with the same id
}

// As starts a Call for a principal.
func As(by models.Principal) *Call { return &Call{By: by} }

// Request sets the request id and returns the call.
func (c *Call) Request(id string) *Call { c.RequestID = id; return c }

// Tx is one write transaction: one clock reading, one database transaction.
type Tx struct {
	db  *gorm.DB
	l   *Ledger
	By  models.Principal
	Now time.Time // the transaction's one clock reading
}

type durability int

const (
	full   durability = iota // decisions, intents and receipts
	normal                   // heartbeats, progress and cursors
)

// transact is the only door for writes. fn may run more than once; what it assigns
// outside is that of its last run.
func (l *Ledger) transact(ctx context.Context, d durability, by models.Principal, fn func(*Tx) error) error {
	release, err := l.store.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	handle := l.decided
	if d == normal {
		handle = l.progress
	}
	for try := 0; ; try++ {
		undone := true // unless the commit itself was asked for
		err = handle.WithContext(ctx).Transaction(func(db *gorm.DB) error {
			err := l.within(db, by, fn)
			undone = err != nil
			return err
		})
		if err == nil || !l.store.again(ctx, err, undone, try) {
			return l.store.failure(err)
		}
	}
}

func (l *Ledger) within(db *gorm.DB, by models.Principal, fn func(*Tx) error) error {
	if err := l.store.enter(db); err != nil {
		return err
	}
	version, err := l.store.schemaVersion(db)
	if err != nil {
		return err
	}
	if version != SchemaVersion {
		return schemaUnsupported(l.store.name(), version)
	}
	if by, err = recognise(db, by); err != nil {
		return err
	}
	return fn(&Tx{db: db, l: l, By: by, Now: l.Now()})
}

// write runs one operation that a caller asked for: size limits, secret check,
// replay check, change, request record. in are the canonical arguments: everything that
// tells this call from another one, free texts included.
func write[T any](ctx context.Context, l *Ledger, c *Call, operation string, in args, fn func(*Tx) (T, error)) (T, error) {
	return writeAt(ctx, l, full, c, operation, in, fn)
}

// writeAt is write with the durability of what is written.
func writeAt[T any](ctx context.Context, l *Ledger, d durability, c *Call, operation string, in args, fn func(*Tx) (T, error)) (T, error) {
	var out T
	if err := checkLimits(in); err != nil {
		return out, err
	}
	canonical, err := json.Marshal(in)
	if err != nil {
		return out, models.Invalid("arguments", "cannot be encoded").Because(err)
	}
	if err := checkCallSecrets(c, canonical); err != nil {
		return out, l.secretRefused(ctx, c, operation, in, err)
	}
	return commit(ctx, l, d, c, operation, canonical, fn)
}

// commit runs one operation whose arguments have passed their checks: replay check,
// change, request record.
func commit[T any](ctx context.Context, l *Ledger, d durability, c *Call, operation string, canonical []byte, fn func(*Tx) (T, error)) (T, error) {
	var out T
	err := l.transact(ctx, d, c.By, func(tx *Tx) error {
		done, err := tx.replay(c, operation, canonical, &out)
		if done || err != nil {
			return err
		}
		if out, err = fn(tx); err != nil {
			return err
		}
		return tx.record(c, operation, canonical, out)
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// newID makes an id of a kind, such as evt_<32 hex>.
func newID(kind string) string { return kind + "_" + strings.ReplaceAll(uuid.NewString(), "-", "") }

// insert writes one row.
func (tx *Tx) insert(row any) error { return tx.db.Create(row).Error }

// swap updates columns of the row that the condition finds and tells whether
// there was exactly one. Values are columns, never a struct, so that zero values
// are written. The statement is put together here, because gorm's builder costs as
// much as SQLite does.
func (tx *Tx) swap(model any, columns map[string]any, where string, args ...any) (bool, error) {
	parsed := &gorm.Statement{DB: tx.db}
	if err := parsed.Parse(model); err != nil {
		return false, err
	}
	names := slices.Sorted(maps.Keys(columns))
	values := make([]any, 0, len(names)+len(args))
	for _, name := range names {
		if text, ok := columns[name].(string); ok {
			values = append(values, storable(text))
			continue
		}
		values = append(values, columns[name])
	}
	res := tx.db.Exec(`UPDATE "`+parsed.Schema.Table+`" SET "`+strings.Join(names, `"=?,"`)+`"=? WHERE `+where, append(values, args...)...)
	return res.RowsAffected == 1, res.Error
}

// ms is the transaction's time as stored.
func (tx *Tx) ms() int64 { return tx.Now.UnixMilli() }

// find loads one row by a condition; found is false when there is none.
func find[T any](db *gorm.DB, where string, args ...any) (row T, found bool, err error) {
	var rows []T
	err = db.Where(where, args...).Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

// get loads one row by id or fails with NOT_FOUND.
func get[T any](db *gorm.DB, entity, id string) (T, error) {
	row, found, err := find[T](db, "id = ?", id)
	if err == nil && !found {
		err = models.NotFound(entity, id)
	}
	return row, err
}

// jsonText encodes a value for a JSON column that is written by swap.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// read is the handle for queries outside a write transaction.
func (l *Ledger) read(ctx context.Context) *gorm.DB { return l.reader.WithContext(ctx) }
