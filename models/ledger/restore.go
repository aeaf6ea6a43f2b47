package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// Backup copies the ledger, as it stands at this moment, and its key into new files:
// file and file.key. Work goes on meanwhile. INVALID_ARGUMENT for a ledger on a
// database server, which has backups of its own, and for a file that exists.
func (l *Ledger) Backup(ctx context.Context, file string) error {
	s, ok := l.store.(*fileStore)
	if !ok {
		return ofServer("backed up", "pg_dump of the database, and a copy of ledger.key from the state directory")
	}
	for _, name := range []string{file, file + ".key"} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return models.Invalid("file", "%s exists", name).Hint("name a file that does not exist yet").Because(err)
		}
	}
	if err := s.copyTo(ctx, file); err != nil {
		return models.Invalid("file", "the ledger cannot be copied to %s", file).Hint("check the folder and its free space").Because(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return err
	}
	return copyWhole(s.path+".key", file+".key")
}

// copyTo copies the file as it stands, by a connection of its own: it neither writes
// nor keeps writers waiting.
func (s *fileStore) copyTo(ctx context.Context, file string) error {
	db, err := openFile(s.path, 1)
	if err != nil {
		return err
	}
	return errors.Join(db.WithContext(ctx).Exec("VACUUM INTO ?", file).Error, closeHandle(db))
}

// RestoreFile puts a backup in the place of a ledger that nobody uses, keeps what was
// there beside it, and raises the epoch. What was there may be missing or damaged; a
// ledger of another instance is refused with INVALID_ARGUMENT. The returned file keeps
// what was there, "" where nothing was.
func RestoreFile(ctx context.Context, o Options, file string, c *Call) (out Restored, kept string, err error) {
	if IsAddress(o.Path) {
		return out, "", ofServer("restored from a file", "restore the database by its own means, then cox ledger restore without a file")
	}
	if err := checkBackup(ctx, o, file); err != nil {
		return out, "", err
	}
	lock := newWriteLock(o.Path+".lock", 10*time.Second)
	defer lock.close() //nolint:errcheck // the lock ends with its descriptor
	release, err := lock.acquire(ctx)
	if err != nil {
		return out, "", err
	}
	kept, err = exchange(o.Path, file, time.Now().UTC().Format("20060102-150405"))
	release()
	if err != nil {
		return out, kept, err
	}
	o.MustExist = true
	l, err := Open(ctx, o)
	if err != nil {
		return out, kept, err
	}
	out, err = l.RaiseEpoch(ctx, c)
	return out, kept, errors.Join(err, l.Close())
}

func ofServer(what, how string) error {
	return models.Invalid("db", "a ledger on a database server is not %s by cox", what).Hint("%s", how)
}

// checkBackup refuses a file that is no sound ledger, or another one than that in
// whose place it shall go.
func checkBackup(ctx context.Context, o Options, file string) error {
	backup, err := peek(file)
	if err != nil {
		return models.Invalid("file", "%s is no sound ledger", file).Hint("name a file that cox ledger backup wrote").Because(err)
	}
	here, err := peek(o.Path)
	if err == nil && here != backup {
		return models.Invalid("file", "%s is a copy of another ledger than %s", file, o.Path).
			Hint("cox ledger restore --help; with --db FILE it restores into another place")
	}
	return ctx.Err() // what is there may be missing or damaged: that is what a backup is for
}

// peek reads a ledger file's instance, without changing the file.
func peek(file string) (instance string, err error) {
	if _, err := os.Stat(file); err != nil {
		return "", err
	}
	db, err := openFile(file, 1, "query_only(1)")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeHandle(db)) }()
	var found []string
	if err := db.Raw("PRAGMA quick_check(1)").Scan(&found).Error; err != nil {
		return "", err
	}
	if len(found) != 1 || found[0] != "ok" {
		return "", fmt.Errorf("it is damaged: %v", found)
	}
	err = db.Raw("SELECT value FROM meta WHERE key = 'instance'").Scan(&instance).Error
	if err == nil && len(instance) != 32 {
		err = errors.New("it has no instance id")
	}
	return instance, err
}

// exchange puts the backup, and its key where it has one, in the place of what is
// there, which is kept beside it. At each moment one whole ledger is at its place.
func exchange(path, file, now string) (kept string, err error) {
	fresh := path + ".restoring"
	if err := copyWhole(file, fresh); err != nil {
		return "", err
	}
	defer os.Remove(fresh) //nolint:errcheck // renamed by now, or a leftover that the next attempt replaces
	settle(path)
	kept = path + ".replaced-" + now
	if err := os.Link(path, kept); errors.Is(err, fs.ErrNotExist) {
		kept = ""
	} else if err != nil {
		return "", StateUnusable(kept, err)
	}
	for _, suffix := range []string{"-wal", "-shm"} { // they belong to what was there
		if err := os.Rename(path+suffix, path+".replaced-"+now+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, StateUnusable(path+suffix, err)
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return kept, StateUnusable(path, err)
	}
	if _, err := os.Stat(file + ".key"); err != nil {
		return kept, nil // a backup without its key fits the key that is there, or opening refuses
	}
	return kept, copyWhole(file+".key", path+".key")
}

// settle brings what waits in the write-ahead log into the file, where that can still
// be done: a damaged file is kept as it is.
func settle(path string) {
	if _, err := peek(path); err != nil {
		return
	}
	db, err := openFile(path, 1)
	if err != nil {
		return
	}
	_ = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)").Error // what is left is kept with the log
	_ = closeHandle(db)                                  // as above
}

// copyWhole writes a private copy, whole or not at all.
func copyWhole(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return StateUnusable(from, err)
	}
	defer in.Close() //nolint:errcheck // read only
	tmp, err := os.CreateTemp(filepath.Dir(to), ".copy-*")
	if err != nil {
		return StateUnusable(to, err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // renamed by now, or of no use
	_, err = io.Copy(tmp, in)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), to)
	}
	if err != nil {
		return StateUnusable(to, err)
	}
	return nil
}

// RenewedKey is what a ledger's new key made new.
type RenewedKey struct {
	Bindings int `json:"bindings"` // live threads that need their new token
	Tasks    int `json:"tasks"`    // live participants whose fence is another now
}

// RenewKey gives a ledger whose key is lost a new one. Every token of before is
// worthless from then on; live bindings and tasks get new ones, which their threads
// take over when their worker starts. A key file that does not fit is kept beside it.
func RenewKey(ctx context.Context, o Options) (out RenewedKey, err error) {
	o.MustExist = true
	l, err := openPlain(ctx, o)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := errors.Join(l.migrate(ctx), l.readInstance(ctx)); err != nil {
		return out, err
	}
	path := l.store.keyFile()
	if err := moveKey(path, l.clock().UTC().Format("20060102-150405")); err != nil {
		return out, err
	}
	if l.key, err = keepKey(path); err != nil {
		return out, StateUnusable(path, err)
	}
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		out = RenewedKey{}
		return tx.renewKey(&out)
	})
	return out, err
}

// moveKey keeps a key that does not fit out of the way.
func moveKey(path, now string) error {
	err := os.Rename(path, path+".replaced-"+now)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return StateUnusable(path, err)
	}
	return nil
}

func (tx *Tx) renewKey(out *RenewedKey) error {
	if err := tx.db.Exec("UPDATE meta SET value = ? WHERE key = 'key_fingerprint'", fingerprintOf(tx.l.key)).Error; err != nil {
		return err
	}
	var bindings []models.Binding
	if err := tx.db.Where("status = 'active'").Order("id").Find(&bindings).Error; err != nil {
		return err
	}
	for _, b := range bindings {
		if err := tx.renewToken(b); err != nil {
			return err
		}
	}
	var tasks []models.Task
	if err := tx.db.Where("status = 'live'").Order("id").Find(&tasks).Error; err != nil {
		return err
	}
	for _, t := range tasks {
		if _, err := tx.swap(&models.Task{}, map[string]any{"fence_hash": tx.fenceHash(t)}, "id = ?", t.ID); err != nil {
			return err
		}
	}
	out.Bindings, out.Tasks = len(bindings), len(tasks)
	_, err := tx.append(models.Event{Type: models.EventLedgerKeyRenewed, Payload: map[string]any{"bindings": out.Bindings, "tasks": out.Tasks}})
	return err
}

// renewToken gives a binding the token of its next generation; its undelivered
// messages follow.
func (tx *Tx) renewToken(b models.Binding) error {
	if _, err := tx.swap(&models.Binding{}, map[string]any{
		"generation": b.Generation + 1, "token_hash": hashToken(tx.l.BindingToken(b.ID, b.Generation+1)), "updated_at": tx.ms(),
	}, "id = ?", b.ID); err != nil {
		return err
	}
	return tx.db.Model(&models.OutboxItem{}).Where("binding_id = ? AND state IN ('pending','sending')", b.ID).
		Update("generation", b.Generation+1).Error
}

// readEpoch reads how often the ledger was set back.
func readEpoch(db *gorm.DB) (int, error) {
	var epoch int
	err := db.Raw("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch'").Scan(&epoch).Error
	return epoch, err
}
