package ledger

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"gorm.io/gorm"

	"coxswain/models"
)

//go:embed migrations
var migrations embed.FS

// SchemaVersion is the newest schema that this build knows.
const SchemaVersion = 2

// migrate compares the stored schema version and, only where it is older, brings
// it up to date under the write lock, after a backup of a file that has data.
func (l *Ledger) migrate(ctx context.Context) error {
	version, err := schemaVersion(ctx, l.reader)
	if err != nil {
		return unavailable(l.path, err)
	}
	if version == SchemaVersion {
		return nil
	}
	if version > SchemaVersion {
		return schemaUnsupported(l.path, version)
	}
	release, err := l.lock.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return l.migrateLocked(ctx)
}

func (l *Ledger) migrateLocked(ctx context.Context) error {
	version, err := schemaVersion(ctx, l.decided)
	if err != nil {
		return unavailable(l.path, err)
	}
	if version >= SchemaVersion {
		return l.migrate(ctx)
	}
	if version > 0 {
		if err := l.backup(ctx, version); err != nil {
			return unavailable(l.path, err)
		}
	}
	if err := l.applyMigrations(ctx); err != nil {
		return unavailable(l.path, err)
	}
	return nil
}

func (l *Ledger) applyMigrations(ctx context.Context) error {
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	raw, err := l.decided.DB()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, raw, dir)
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
	return db.Exec(fmt.Sprintf("PRAGMA user_version = %d", SchemaVersion)).Error
}

// backup copies the file before a migration, once per version and day.
func (l *Ledger) backup(ctx context.Context, version int) error {
	name := fmt.Sprintf("%s.v%d-%s.backup", l.path, version, l.clock().UTC().Format(time.DateOnly))
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return l.decided.WithContext(ctx).Exec("VACUUM INTO ?", name).Error
}

func schemaVersion(ctx context.Context, db *gorm.DB) (int, error) {
	var v int
	err := db.WithContext(ctx).Raw("PRAGMA user_version").Scan(&v).Error
	return v, err
}

func schemaUnsupported(path string, version int) error {
	return models.Errorf(models.CodeSchemaVersionUnsupported,
		"the ledger %s has schema %d, this cox knows %d", path, version, SchemaVersion).
		Hint("install the cox that wrote it, or a newer one").With("schema", version).With("supported", SchemaVersion)
}
