package ledger

import (
	"context"
	"embed"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"coxswain/models"
)

//go:embed migrations
var migrations embed.FS

// SchemaVersion is the newest schema that this build knows.
const SchemaVersion = 8

// migrate compares the stored schema version and, only where it is older, brings
// it up to date while nobody else writes, after a backup of what is there.
func (l *Ledger) migrate(ctx context.Context) error {
	version, err := l.store.schemaVersion(l.read(ctx))
	if err != nil {
		return coded(err, l.store.name())
	}
	if version == SchemaVersion {
		return nil
	}
	if version > SchemaVersion {
		return schemaUnsupported(l.store.name(), version)
	}
	if version == 0 {
		if err := l.store.mayCreate(); err != nil {
			return err
		}
	}
	return l.store.exclusively(ctx, func() error { return l.migrateLocked(ctx) })
}

func (l *Ledger) migrateLocked(ctx context.Context) error {
	db := l.decided.WithContext(ctx)
	version, err := l.store.schemaVersion(db)
	if err != nil {
		return coded(err, l.store.name())
	}
	if version >= SchemaVersion {
		return l.migrate(ctx)
	}
	if version > 0 {
		if err := l.store.backup(db, version, l.clock().UTC().Format(time.DateOnly)); err != nil {
			return coded(err, l.store.name())
		}
	}
	if err := l.applyMigrations(ctx); err != nil {
		return coded(l.store.failure(err), l.store.name())
	}
	return nil
}

func (l *Ledger) applyMigrations(ctx context.Context) error {
	dialect, dir, err := l.store.migrations()
	if err != nil {
		return err
	}
	raw, err := l.decided.DB()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, raw, dir)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return err
	}
	instance := strings.ReplaceAll(uuid.NewString(), "-", "")
	db := l.decided.WithContext(ctx)
	if err := db.Exec("INSERT INTO meta (key, value) VALUES ('instance', ?), ('epoch', '1') ON CONFLICT DO NOTHING", instance).Error; err != nil {
		return err
	}
	return l.store.setSchemaVersion(db, SchemaVersion)
}

func schemaUnsupported(name string, version int) error {
	return models.Errorf(models.CodeSchemaVersionUnsupported,
		"the ledger %s has schema %d, this cox knows %d", name, version, SchemaVersion).
		Hint("install the version that wrote it, or a newer one").With("schema", version).With("supported", SchemaVersion)
}
