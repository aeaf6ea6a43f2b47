package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"coxswain/models"
)

// serverStore is a ledger in a schema of a Postgres database: the one that the
// address names by search_path, else the user's own.
//
// Writers are serialised as on SQLite, by one advisory lock per schema that every
// write transaction takes before its first read, under READ COMMITTED. What a rule
// reads (capacity over all runs, the graph of dependencies, who holds a path) is
// then what the last writer left, and a sequence of events never commits behind a
// later one. One lock leaves no order of locks to keep, and so no deadlock.
type serverStore struct {
	address  string
	config   *pgx.ConnConfig
	stateDir string
	create   bool
	timeout  time.Duration
	turn     chan struct{} // one slot: the writers of this process
	reader   *gorm.DB      // for the holder of the lock
	lock     int64         // the key of the writers' lock
	channel  string        // of the notifications
	opened   atomic.Bool   // the ledger was open: from then on an absent server is waited for
}

const (
	serverReaders = 4
	// serverIdle is how long a writer may do nothing inside its transaction before
	// the server ends it: a stopped process or a vanished host holds the lock no
	// longer than that.
	serverIdle = time.Minute
	// serverDial is how long one attempt to connect may take where the address sets no
	// connect_timeout.
	serverDial = 10 * time.Second
)

func newServerStore(o Options) (*serverStore, error) {
	if err := checkAddress(o.Path); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(o.Path)
	if err != nil {
		// The cause may repeat the address.
		return nil, models.Invalid("db", "the address or a PG* variable of the environment cannot be used").
			Hint("write postgres://USER@HOST:PORT/DATABASE; look at PGSSLMODE, PGSERVICE, PGPASSFILE and their like")
	}
	s := &serverStore{address: o.Path, config: config, stateDir: o.StateDir, create: !o.MustExist, timeout: o.LockTimeout, turn: make(chan struct{}, 1)}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = serverDial
	}
	s.parameter("application_name", processName())
	s.parameter("lock_timeout", milliseconds(o.LockTimeout))
	s.parameter("idle_in_transaction_session_timeout", milliseconds(serverIdle))
	s.parameter("default_transaction_isolation", "read committed")
	return s, nil
}

// parameter sets a parameter of the server that the address left open.
func (s *serverStore) parameter(name, value string) {
	if s.config.RuntimeParams[name] == "" {
		s.config.RuntimeParams[name] = value
	}
}

// processName is how the server's views show this process, such as "cox 4711 on node-1".
func processName() string {
	name := "cox " + strconv.Itoa(os.Getpid())
	if host, err := os.Hostname(); err == nil {
		name += " on " + host
	}
	return name
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

func (s *serverStore) name() string      { return ShownAddress(s.address) }
func (s *serverStore) close() error      { return nil }
func (s *serverStore) holds(string) bool { return false }

// access carries the variables of Postgres' own clients along, because the address
// may leave the user, the password or the certificates to them.
func (s *serverStore) access() Access {
	a := Access{Env: map[string]string{"COX_DB": s.address}}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "PG") {
			a.Env[name] = value
		}
	}
	for _, path := range []string{os.Getenv("PGPASSFILE"), homeFile(".pgpass"), os.Getenv("PGSERVICEFILE"), homeFile(".pg_service.conf")} {
		if _, err := os.Stat(path); err == nil && filepath.IsAbs(path) { //nolint:gosec // the user's own files are only looked for
			a.Private = append(a.Private, path)
		}
	}
	return a
}

func homeFile(name string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return "" // without a home there is no such file
	}
	return filepath.Join(home, name)
}

func (s *serverStore) open(ctx context.Context) (handles, error) {
	var h handles
	var err error
	if h.decided, err = s.openPool(1, "synchronous_commit", "on"); err != nil {
		return h, err
	}
	if h.progress, err = s.openPool(1, "synchronous_commit", "off"); err != nil {
		return h, err
	}
	if h.reader, err = s.openPool(serverReaders, "default_transaction_read_only", "on"); err != nil {
		return h, err
	}
	s.reader = h.reader
	return h, s.findSchema(h.reader.WithContext(ctx))
}

// findSchema learns the schema's lock and channel. The lock's key is the one that
// the trigger on events takes.
func (s *serverStore) findSchema(db *gorm.DB) error {
	var at struct {
		Schema *string
		Key    *int64
	}
	err := db.Raw("SELECT current_schema() AS schema, hashtextextended('cox ledger ' || current_schema(), 0) AS key").Scan(&at).Error
	if err != nil {
		return err
	}
	if at.Schema == nil {
		return models.Errorf(models.CodeLedgerUnavailable, "the ledger %s names a schema that is not there", s.name()).
			Hint("create the schema of search_path, or leave search_path out")
	}
	s.lock, s.channel = *at.Key, "cox_"+strconv.FormatUint(uint64(*at.Key), 16) //nolint:gosec // the bits are a name
	return nil
}

// openPool opens one pool, with one more parameter of the server.
func (s *serverStore) openPool(conns int, parameter, value string) (*gorm.DB, error) {
	config := s.config.Copy()
	config.RuntimeParams[parameter] = value
	raw := stdlib.OpenDB(*config)
	raw.SetMaxOpenConns(conns)
	raw.SetMaxIdleConns(conns)
	raw.SetConnMaxIdleTime(time.Minute)
	dialect := serverDialect{Dialector: postgres.Dialector{Config: &postgres.Config{Conn: steadyPool{DB: raw, store: s}}}, store: s}
	return gorm.Open(dialect, &gorm.Config{
		TranslateError: true, SkipDefaultTransaction: true,
		DisableAutomaticPing: true, Logger: logger.Discard,
	})
}

// acquire waits for the turn inside this process, so that its writers wait for the
// server's lock on one connection.
func (s *serverStore) acquire(ctx context.Context) (func(), error) {
	wait, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-wait.Done():
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, models.Errorf(models.CodeLedgerBusy, "the ledger was busy for %s", s.timeout).Hint("try again; this process itself writes")
}

// enter takes the writers' lock and announces the commit to the watches.
func (s *serverStore) enter(db *gorm.DB) error {
	return db.Exec("SELECT pg_advisory_xact_lock(?), pg_notify(?, '')", s.lock, s.channel).Error
}

// exclusively holds the writers' lock on a connection of its own, over the many
// transactions of a migration.
func (s *serverStore) exclusively(ctx context.Context, fn func() error) (err error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return s.failure(err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }() // ends the lock, too
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", s.lock); err != nil {
		return s.failure(err)
	}
	return fn()
}

// schemaVersion is the one in meta, which goose's own table does not know before
// everything of the migration is done.
func (s *serverStore) schemaVersion(db *gorm.DB) (int, error) {
	var text string
	err := db.Raw("SELECT value FROM meta WHERE key = 'schema'").Scan(&text).Error
	if isState(err, stateNoTable) {
		return 0, nil
	}
	if err != nil || text == "" {
		return 0, err
	}
	version, err := strconv.Atoi(text)
	return version, err
}

func (s *serverStore) setSchemaVersion(db *gorm.DB, version int) error {
	return db.Exec("INSERT INTO meta (key, value) VALUES ('schema', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", strconv.Itoa(version)).Error
}

func (s *serverStore) mayCreate() error {
	if s.create {
		return nil
	}
	return noLedger(s.name())
}

// backup: a database server has its own, and one transaction per migration keeps
// a failed one from leaving half of it.
func (s *serverStore) backup(*gorm.DB, int, string) error { return nil }

func (s *serverStore) migrations() (goose.Dialect, fs.FS, error) {
	dir, err := fs.Sub(migrations, "migrations/postgres")
	return goose.DialectPostgres, dir, err
}

// loadKey keeps the key in the state directory.
func (s *serverStore) loadKey(ctx context.Context, h handles) ([]byte, error) {
	if s.stateDir == "" {
		return nil, models.Invalid("state-dir", "a ledger with an address needs a folder for its key")
	}
	path := s.keyFile()
	key, err := knownKey(h.reader.WithContext(ctx), path, s.name(), func() error {
		err := h.decided.WithContext(ctx).Transaction(func(db *gorm.DB) error {
			return errors.Join(s.enter(db), firstKey(db, path))
		})
		return s.failure(err)
	}, "copy ledger.key from the state directory of the machine that made this ledger, with mode 0600; without any: cox ledger renew-key")
	s.opened.Store(err == nil) // this is the last thing that opening needs
	return key, err
}

func (s *serverStore) keyFile() string { return filepath.Join(s.stateDir, "ledger.key") }
