package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"coxswain/models"
)

// Options say how to open a ledger.
type Options struct {
	Path        string        // the database file
	Clock       Clock         // time.Now when nil
	LockTimeout time.Duration // how long a write waits for other writers; 10 s when 0
	MustExist   bool          // refuse to create the file
}

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	path     string
	clock    Clock
	lock     *writeLock
	decided  *gorm.DB // writer, synchronous FULL: decisions, intents, receipts
	progress *gorm.DB // writer, synchronous NORMAL: heartbeats, cursors
	reader   *gorm.DB
	key      []byte
	instance string
	close    sync.Once
}

// Open opens the ledger, creating and migrating it where needed. Errors:
// NOT_FOUND when it must exist and does not, SCHEMA_VERSION_UNSUPPORTED when it
// is newer than this build, LEDGER_BUSY when another process migrates or writes
// for too long, LEDGER_UNAVAILABLE for everything else.
func Open(ctx context.Context, o Options) (*Ledger, error) {
	l := &Ledger{path: o.Path, clock: o.Clock}
	if l.clock == nil {
		l.clock = time.Now
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 10 * time.Second
	}
	if err := prepareFile(o); err != nil {
		return nil, err
	}
	l.lock = newWriteLock(o.Path+".lock", o.LockTimeout)
	if err := l.openHandles(); err != nil {
		return nil, errors.Join(unavailable(o.Path, err), l.Close())
	}
	if err := l.ready(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close releases the database handles.
func (l *Ledger) Close() error {
	var errs []error
	l.close.Do(func() {
		for _, db := range []*gorm.DB{l.decided, l.progress, l.reader} {
			if db == nil {
				continue
			}
			raw, err := db.DB()
			if err == nil {
				err = raw.Close()
			}
			errs = append(errs, err)
		}
		errs = append(errs, l.lock.close())
	})
	return errors.Join(errs...)
}

// Path is the database file.
func (l *Ledger) Path() string { return l.path }

// Instance is the ledger's random id, 32 hex digits.
func (l *Ledger) Instance() string { return l.instance }

// Prefix is what queue names and workflow ids of this ledger begin with.
func (l *Ledger) Prefix() string { return l.instance[:8] }

// Now is one reading of the ledger's clock.
func (l *Ledger) Now() time.Time { return truncate(l.clock()) }

func unavailable(path string, err error) error {
	return models.Errorf(models.CodeLedgerUnavailable, "the ledger %s cannot be opened", path).
		Hint("check the path and its permissions; cox --db FILE or COX_DB chooses another").Because(err)
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
		return unavailable(o.Path, err)
	case o.MustExist:
		return models.Errorf(models.CodeNotFound, "there is no ledger at %s", o.Path).
			Hint("cox workspace add . creates one; cox --db FILE names another")
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return unavailable(o.Path, err)
	}
	f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return unavailable(o.Path, err)
	}
	return f.Close()
}

func (l *Ledger) openHandles() error {
	var err error
	if l.decided, err = openHandle(l.path, 1, "synchronous(2)"); err != nil {
		return err
	}
	if l.progress, err = openHandle(l.path, 1, "synchronous(1)"); err != nil {
		return err
	}
	l.reader, err = openHandle(l.path, 4, "query_only(1)")
	return err
}

// openHandle opens one pool. The _time_format parameter must stay away: with it
// the driver ignores _txlock.
func openHandle(path string, conns int, pragmas ...string) (*gorm.DB, error) {
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

// ready brings the schema up to date and loads what every call needs.
func (l *Ledger) ready(ctx context.Context) error {
	if err := l.migrate(ctx); err != nil {
		return err
	}
	if err := l.reader.WithContext(ctx).Raw("SELECT value FROM meta WHERE key = 'instance'").Scan(&l.instance).Error; err != nil {
		return unavailable(l.path, err)
	}
	if len(l.instance) != 32 {
		return unavailable(l.path, errors.New("the instance id is missing"))
	}
	key, err := loadKey(l.path + ".key")
	if err != nil {
		return unavailable(l.path, err)
	}
	l.key = key
	return nil
}

// loadKey reads the 32-byte key that tokens are derived from, and makes it once.
// The link makes two first openers agree on one key.
func loadKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createKey(path); err != nil {
			return nil, err
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(string(text))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("the key file %s is damaged", path)
	}
	return key, nil
}

func createKey(path string) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // the link below keeps the content; a leftover is harmless
	if _, err := tmp.WriteString(hex.EncodeToString(key)); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
