package ledger

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"coxswain/models"
)

// withSnapshot reads a ledger in one transaction that sees one moment and may not
// write. The key is not read, and none is made.
func withSnapshot(ctx context.Context, address string, clock Clock, fn func(*Ledger) error) (err error) {
	l, err := openPlain(ctx, Options{Path: address, Clock: clock, MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	version, err := l.store.schemaVersion(l.read(ctx))
	switch {
	case err != nil:
		return coded(err, l.store.name())
	case version == 0:
		return noLedger(l.store.name())
	case version > SchemaVersion:
		return schemaUnsupported(l.store.name(), version)
	case version < SchemaVersion:
		return models.Errorf(models.CodeSchemaVersionUnsupported, "the ledger %s has schema %d, and a dry run may not bring it to %d", l.store.name(), version, SchemaVersion).
			Hint("cox status; it migrates it, then try again").With("schema", version).With("supported", SchemaVersion)
	}
	if err := l.readInstance(ctx); err != nil {
		return err
	}
	return l.reader.WithContext(ctx).Transaction(func(db *gorm.DB) error {
		seen := &Ledger{store: l.store, clock: l.clock, instance: l.instance, handles: handles{decided: db, progress: db, reader: db}}
		return fn(seen)
	}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
}
