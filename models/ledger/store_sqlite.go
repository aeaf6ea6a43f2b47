package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/glebarez/sqlite"
	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"coxswain/models"
)

// fileStore is a ledger in a file of SQLite.
type fileStore struct {
	path string
	lock *writeLock
}

func newFileStore(o Options) (*fileStore, error) {
	if err := prepareFile(o); err != nil {
		return nil, err
	}
	return &fileStore{path: o.Path, lock: newWriteLock(o.Path+".lock", o.LockTimeout)}, nil
}

// prepareFile makes the directory and the empty file with private modes, since
// SQLite would create it readable for others.
func prepareFile(o Options) error {
	info, err := os.Stat(o.Path)
	switch {
	case err == nil && info.IsDir():
		return models.Errorf(models.CodeLedgerUnavailable, "the ledger %s cannot be opened: it is a directory", o.Path).
			Hint("name the file, such as %s", filepath.Join(o.Path, "ledger.db"))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return Unavailable(o.Path, err)
	case o.MustExist:
		return noLedger(o.Path)
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return Unavailable(o.Path, err)
	}
	f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Unavailable(o.Path, err)
	}
	return f.Close()
}

func (s *fileStore) name() string { return s.path }
func (s *fileStore) close() error { return s.lock.close() }

func (s *fileStore) access() Access {
	return Access{Env: map[string]string{"COX_DB": s.path}, Private: []string{filepath.Dir(s.path)}}
}

func (s *fileStore) holds(folder string) bool {
	within, err := filepath.Rel(folder, s.path)
	// Another volume has no relative path, and cannot contain the file either.
	return err == nil && within != ".." && !strings.HasPrefix(within, ".."+string(filepath.Separator))
}

func (s *fileStore) open(context.Context) (handles, error) {
	var h handles
	var err error
	if h.decided, err = openFile(s.path, 1, "synchronous(2)"); err != nil {
		return h, err
	}
	if h.progress, err = openFile(s.path, 1, "synchronous(1)"); err != nil {
		return h, err
	}
	h.reader, err = openFile(s.path, 4, "query_only(1)")
	return h, err
}

// openFile opens one pool. The _time_format parameter must stay away: with it the
// driver ignores _txlock.
func openFile(path string, conns int, pragmas ...string) (*gorm.DB, error) {
	q := url.Values{"_txlock": {"immediate"}}
	for _, p := range append([]string{"busy_timeout(5000)", "journal_mode(WAL)", "foreign_keys(1)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	raw, err := sql.Open(sqlite.DriverName, "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	raw.SetMaxOpenConns(conns)
	raw.SetMaxIdleConns(conns)
	return gorm.Open(&sqlite.Dialector{Conn: raw}, &gorm.Config{
		TranslateError: true, SkipDefaultTransaction: true, PrepareStmt: true,
		DisableAutomaticPing: true, Logger: logger.Discard,
	})
}

func (s *fileStore) acquire(ctx context.Context) (func(), error) { return s.lock.acquire(ctx) }

// enter has nothing left to do: the file lock is held and the transaction is
// immediate.
func (s *fileStore) enter(*gorm.DB) error { return nil }

// again: under the lock nothing is left that another attempt would help.
func (s *fileStore) again(context.Context, error, bool, int) bool { return false }

func (s *fileStore) failure(err error) error {
	if err == nil || models.CodeOf(err) != models.CodeInternal {
		return err
	}
	text := err.Error()
	if strings.Contains(text, "SQLITE_BUSY") || strings.Contains(text, "database is locked") {
		return models.Errorf(models.CodeLedgerBusy, "the ledger was busy").Hint("try again").Because(err)
	}
	return err
}

func (s *fileStore) schemaVersion(db *gorm.DB) (int, error) {
	var v int
	err := db.Raw("PRAGMA user_version").Scan(&v).Error
	return v, err
}

func (s *fileStore) setSchemaVersion(db *gorm.DB, version int) error {
	return db.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)).Error
}

// mayCreate: the file is there, and so it may be filled.
func (s *fileStore) mayCreate() error { return nil }

// loadKey keeps the key beside the file.
func (s *fileStore) loadKey(ctx context.Context, h handles) ([]byte, error) {
	path := s.keyFile()
	return knownKey(h.reader.WithContext(ctx), path, s.path, func() error {
		return s.exclusively(ctx, func() error {
			return h.decided.WithContext(ctx).Transaction(func(db *gorm.DB) error { return firstKey(db, path) })
		})
	}, "restore "+filepath.Base(path)+" from the backup, beside the ledger and with mode 0600; without one: cox ledger renew-key")
}

func (s *fileStore) keyFile() string { return s.path + ".key" }

func (s *fileStore) exclusively(ctx context.Context, fn func() error) error {
	release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return fn()
}

// backup copies the file, once per version and day.
func (s *fileStore) backup(db *gorm.DB, version int, day string) error {
	name := fmt.Sprintf("%s.v%d-%s.backup", s.path, version, day)
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return db.Exec("VACUUM INTO ?", name).Error
}

func (s *fileStore) migrations() (goose.Dialect, fs.FS, error) {
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	return goose.DialectSQLite3, dir, err
}

// fileWatch asks SQLite for the number that other connections' commits change. It
// costs a few microseconds.
type fileWatch struct {
	db   *gorm.DB
	last int64
}

func (s *fileStore) watch(ctx context.Context) (watcher, error) {
	db, err := openFile(s.path, 1, "query_only(1)")
	if err != nil {
		return nil, Unavailable(s.path, err)
	}
	w := &fileWatch{db: db}
	_, err = w.changed(ctx)
	return w, err
}

func (w *fileWatch) changed(ctx context.Context) (bool, error) {
	var v int64
	if err := w.db.WithContext(ctx).Raw("PRAGMA data_version").Scan(&v).Error; err != nil {
		return false, err
	}
	changed := v != w.last
	w.last = v
	return changed, nil
}

func (w *fileWatch) close() error { return closeHandle(w.db) }
