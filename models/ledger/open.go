package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// Options say how to open a ledger.
type Options struct {
	Path        string        // the database file, or the postgres:// address of a database
	StateDir    string        // folder of the key of a ledger with an address; needed for that only
	Clock       Clock         // time.Now when nil
	LockTimeout time.Duration // how long a write waits for other writers; 10 s when 0
	MustExist   bool          // refuse to create the ledger
}

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	handles

	store    store
	clock    Clock
	key      []byte
	instance string
	close    sync.Once
}

// Open opens the ledger, creating and migrating it where needed. Errors:
// NOT_FOUND when it must exist and does not, SCHEMA_VERSION_UNSUPPORTED when it
// is newer than this build, LEDGER_BUSY when another process migrates or writes
// for too long, INVALID_ARGUMENT for an address that is none, LEDGER_UNAVAILABLE
// for everything else.
func Open(ctx context.Context, o Options) (*Ledger, error) {
	l, err := openPlain(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := l.ready(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// openPlain connects and looks at nothing yet.
func openPlain(ctx context.Context, o Options) (*Ledger, error) {
	if o.LockTimeout == 0 {
		o.LockTimeout = 10 * time.Second
	}
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	l := &Ledger{store: s, clock: o.Clock}
	if l.clock == nil {
		l.clock = time.Now
	}
	if l.handles, err = s.open(ctx); err != nil {
		return nil, errors.Join(coded(s.failure(err), s.name()), l.Close())
	}
	return l, nil
}

func newStore(o Options) (store, error) {
	if IsAddress(o.Path) {
		return newServerStore(o)
	}
	return newFileStore(o)
}

// Close releases the database handles.
func (l *Ledger) Close() error {
	var errs []error
	l.close.Do(func() {
		l.each(func(db *gorm.DB) { errs = append(errs, closeHandle(db)) })
		errs = append(errs, l.store.close())
	})
	return errors.Join(errs...)
}

func closeHandle(db *gorm.DB) error {
	raw, err := db.DB()
	if err != nil {
		return err
	}
	return raw.Close()
}

// Path is the database file, or the address of the database without its password.
func (l *Ledger) Path() string { return l.store.name() }

// Access is what another process needs to open this ledger, and what agents must
// not reach.
func (l *Ledger) Access() Access { return l.store.access() }

// Instance is the ledger's random id, 32 hex digits.
func (l *Ledger) Instance() string { return l.instance }

// Prefix is what queue names and workflow ids of this ledger begin with.
func (l *Ledger) Prefix() string { return l.instance[:8] }

// Now is one reading of the ledger's clock.
func (l *Ledger) Now() time.Time { return truncate(l.clock()) }

// Unavailable is LEDGER_UNAVAILABLE about a ledger, a file or an address, that cannot
// be opened.
func Unavailable(name string, err error) error {
	next := "check the path and its permissions; cox --db FILE or COX_DB chooses another"
	if IsAddress(name) {
		next = "check that the database server runs and lets this user in; COX_DB names another"
	}
	return models.Errorf(models.CodeLedgerUnavailable, "the ledger %s cannot be opened", name).Hint("%s", next).Because(plainError{err})
}

// StateUnusable is LEDGER_UNAVAILABLE about the state directory or a file in it.
func StateUnusable(path string, err error) error {
	return models.Errorf(models.CodeLedgerUnavailable, "the state directory is of no use: %s cannot be made or opened", path).
		Hint("check its permissions; cox --state-dir DIR or COX_STATE_DIR chooses another").Because(err)
}

// plainError says its error in one line and nothing of it twice: drivers list each
// attempt to connect on a line of its own.
type plainError struct{ error }

func (p plainError) Unwrap() error { return p.error }

func (p plainError) Error() string {
	var said []string
	for line := range strings.Lines(p.error.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.ReplaceAll(strings.Join(said, "; "), ":; ", ": ")
}

// coded is LEDGER_UNAVAILABLE for an error without a code.
func coded(err error, name string) error {
	if models.CodeOf(err) == models.CodeInternal {
		return Unavailable(name, err)
	}
	return err
}

func noLedger(name string) error {
	return models.Errorf(models.CodeNotFound, "there is no ledger at %s", name).
		Hint("cox workspace add .; or name another with --db FILE")
}

// ready brings the schema up to date and loads what every call needs.
func (l *Ledger) ready(ctx context.Context) error {
	if err := l.migrate(ctx); err != nil {
		return err
	}
	if err := l.readInstance(ctx); err != nil {
		return err
	}
	key, err := l.store.loadKey(ctx, l.handles)
	if err != nil {
		return coded(err, l.store.name())
	}
	l.key = key
	return nil
}

func (l *Ledger) readInstance(ctx context.Context) error {
	if err := l.read(ctx).Raw("SELECT value FROM meta WHERE key = 'instance'").Scan(&l.instance).Error; err != nil {
		return coded(err, l.store.name())
	}
	if len(l.instance) != 32 {
		return Unavailable(l.store.name(), errors.New("the instance id is missing"))
	}
	return nil
}
