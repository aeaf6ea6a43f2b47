package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"coxswain/models"
)

// The modes of what is created. Histories name files and tasks of the user's
// projects, which are nobody else's business.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// File is a database held by this process.
type File struct {
	path  string
	fresh bool
	stamp Stamp
	lock  *lock
}

// Acquire takes the database at path for a server of the given identity. The
// parent folder is created with mode 0700 when absent. The errors are
// LEASE_CONFLICT when another process has it (details pid, address),
// ENGINE_UNAVAILABLE when it belongs to another server version or is no
// database of ours, and INVALID_ARGUMENT for a path that cannot be one.
func Acquire(path string, want Identity) (*File, error) {
	real, err := canonical(path)
	if err != nil {
		return nil, err
	}
	l, err := takeLock(real)
	if err != nil {
		return nil, err
	}
	f := &File{path: real, lock: l}
	if err := f.inspect(want); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return f, nil
}

// Path returns the absolute path of the database with links resolved.
func (f *File) Path() string { return f.path }

// ClusterID returns the cluster id that belongs to this database for good.
func (f *File) ClusterID() string { return f.stamp.ClusterID }

// Fresh tells whether the database does not exist yet and needs Create.
func (f *File) Fresh() bool { return f.fresh }

// Publish records where the holder can be reached, for the next process that
// wants the same database.
func (f *File) Publish(address string) error { return f.lock.publish(address) }

// Release gives the database up. The lock file stays, empty: removing it would
// let two processes lock two files of one name.
func (f *File) Release() error { return f.lock.release() }

// Create makes the database: setup fills an empty file of mode 0600 under a
// temporary name, which gets its real name when complete.
func (f *File) Create(setup func(path string) error) error {
	temporary := f.path + ".new"
	if err := emptyFile(temporary); err != nil {
		return err
	}
	if err := setup(temporary); err != nil {
		return fmt.Errorf("create database %s: %w", f.path, err)
	}
	if err := f.stamp.write(f.path); err != nil {
		return err
	}
	if err := os.Rename(temporary, f.path); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	f.fresh = false
	return nil
}

// inspect finds out whether the database exists and may be used.
func (f *File) inspect(want Identity) error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.fresh, f.stamp = true, newStamp(want)
		return refuseLeftovers(f.path)
	case err != nil:
		return fmt.Errorf("look at database: %w", err)
	case !info.Mode().IsRegular():
		return models.Invalid("db-filename", "%s is not a regular file", f.path)
	}
	if f.stamp, err = readStamp(f.path); err != nil {
		return err
	}
	if err := f.stamp.check(f.path, want); err != nil {
		return err
	}
	return os.Chmod(f.path, fileMode)
}

// refuseLeftovers refuses a write-ahead log without its database: SQLite would
// replay it into the new file of that name.
func refuseLeftovers(path string) error {
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			return models.Errorf(models.CodeEngineUnavailable, "database %s is gone, but its %s is still there", path, filepath.Base(path)+suffix).
				With("path", path+suffix).
				Hint("put the database back, or move %s away and start again", path+suffix)
		}
	}
	return nil
}

// canonical makes the parent folder and resolves links, so that one database
// has one name and thereby one lock.
func canonical(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("database path: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(absolute), dirMode); err != nil {
		return "", models.Invalid("db-filename", "its folder %s cannot be created", filepath.Dir(absolute)).Because(err)
	}
	if real, err := filepath.EvalSymlinks(absolute); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return "", fmt.Errorf("database folder: %w", err)
	}
	return filepath.Join(dir, filepath.Base(absolute)), nil
}

// emptyFile creates an empty private file, in place of what a crash left there.
func emptyFile(path string) error {
	for _, leftover := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		if err := os.Remove(leftover); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove unfinished database: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return f.Close()
}
