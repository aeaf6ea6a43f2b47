package ledger

import (
	"context"
	"io/fs"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
)

// store is what differs between the databases that can hold a ledger. Whatever is
// not in it is said once, in SQL that both understand.
type store interface {
	// name is the database as messages show it, without a password.
	name() string
	// access is what another process needs to open the ledger, too.
	access() Access
	// holds tells whether the ledger is a file below the folder.
	holds(folder string) bool

	// open connects.
	open(ctx context.Context) (handles, error)
	// close ends what open began, the handles apart.
	close() error

	// acquire waits for the turn of one write transaction. release ends it.
	acquire(ctx context.Context) (release func(), err error)
	// enter is the first thing that a write transaction does: from here to its end
	// no other writer of the ledger runs.
	enter(db *gorm.DB) error
	// again tells, perhaps after a while, whether what failed shall be tried once more:
	// undone says that it changed nothing, try counts from 0.
	again(ctx context.Context, err error, undone bool, try int) bool
	// failure turns what the driver reports into the ledger's codes; errors that have
	// a code already pass.
	failure(err error) error
	// damage looks for damaged pages.
	damage(db *gorm.DB) ([]string, error)
	// watch opens a connection of its own that sees the commits of every other one.
	watch(ctx context.Context) (watcher, error)

	migrator
}

// migrator is the part of a store that is used when a ledger is opened.
type migrator interface {
	// schemaVersion is the version of the stored schema, 0 where there is none yet.
	schemaVersion(db *gorm.DB) (int, error)
	// setSchemaVersion records it.
	setSchemaVersion(db *gorm.DB, version int) error
	// mayCreate is an error where a schema may not be made from nothing.
	mayCreate() error
	// exclusively runs fn while no other process migrates or writes.
	exclusively(ctx context.Context, fn func() error) error
	// backup keeps what is stored before it is migrated from a version.
	backup(db *gorm.DB, version int, day string) error
	// migrations are the numbered files and their dialect.
	migrations() (goose.Dialect, fs.FS, error)
	// loadKey reads the 32-byte key that tokens are derived from, and makes it once.
	loadKey(ctx context.Context, h handles) ([]byte, error)
	// keyFile is where that key is kept.
	keyFile() string
}

// handles are the connections of an open ledger.
type handles struct {
	decided  *gorm.DB // writer, durable at the commit: decisions, intents, receipts
	progress *gorm.DB // writer, durable soon after: heartbeats, cursors
	reader   *gorm.DB
}

// each calls fn for the handles that are open.
func (h handles) each(fn func(*gorm.DB)) {
	for _, db := range []*gorm.DB{h.decided, h.progress, h.reader} {
		if db != nil {
			fn(db)
		}
	}
}

// Access is what another process needs to open a ledger.
type Access struct {
	// Env are the variables of its environment. They may hold a password.
	Env map[string]string
	// Private are the paths of the database and of passwords for it, which no agent
	// may reach.
	Private []string
}

// watcher notices commits.
type watcher interface {
	changed(ctx context.Context) (bool, error)
	close() error
}
