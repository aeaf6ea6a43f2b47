package dbfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/cmd/cox-temporal/internal/dbfile"
	"coxswain/models"
)

var server = dbfile.Identity{ServerVersion: "1.32.0", HistoryShards: 1}

func acquire(t *testing.T, path string, want dbfile.Identity) *dbfile.File {
	t.Helper()
	f, err := dbfile.Acquire(path, want)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// create makes a database of recognisable content and lets go of it.
func create(t *testing.T, path string) (clusterID string) {
	t.Helper()
	f := acquire(t, path, server)
	if !f.Fresh() {
		t.Fatal("an absent database is not fresh")
	}
	if err := f.Create(func(p string) error { return os.WriteFile(p, []byte("content"), 0) }); err != nil {
		t.Fatal(err)
	}
	if err := f.Release(); err != nil {
		t.Fatal(err)
	}
	return f.ClusterID()
}

func wantError(t *testing.T, err error, code models.Code, parts ...string) *models.Error {
	t.Helper()
	var e *models.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error is %v, want code %s", err, code)
	}
	for _, part := range parts {
		if !strings.Contains(e.Error()+" "+e.Next, part) {
			t.Errorf("error %q, next %q: does not say %q", e.Error(), e.Next, part)
		}
	}
	if e.Next == "" && code != models.CodeInvalidArgument {
		t.Error("the error names no next step")
	}
	return e
}

func TestCreatedFilesArePrivateAndKeepTheirClusterID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "temporal.db")
	id := create(t, path)
	for name, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + ".json": 0o600, path + ".lock": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s is %o, want %o", name, got, want)
		}
	}
	f := acquire(t, path, server)
	defer func() { _ = f.Release() }()
	if f.Fresh() || f.ClusterID() != id || id == "" {
		t.Errorf("second start: fresh=%t cluster=%q, want the first cluster %q", f.Fresh(), f.ClusterID(), id)
	}
}

func TestWideModeIsTightened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	create(t, path)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	f := acquire(t, path, server)
	defer func() { _ = f.Release() }()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

func TestSecondHolderIsRefusedUnderAnyName(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "temporal.db"), filepath.Join(dir, "link.db")
	create(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	first := acquire(t, path, server)
	if err := first.Publish("127.0.0.1:7233"); err != nil {
		t.Fatal(err)
	}
	_, err := dbfile.Acquire(link, server)
	e := wantError(t, err, models.CodeLeaseConflict, "127.0.0.1:7233", "in use by process")
	if e.Details["pid"] != os.Getpid() {
		t.Errorf("pid is %v, want %d", e.Details["pid"], os.Getpid())
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := acquire(t, link, server).Release(); err != nil {
		t.Error(err)
	}
}

func TestAnotherVersionOrShardCountIsRefusedUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	create(t, path)
	before := snapshot(t, path)
	for _, other := range []dbfile.Identity{{ServerVersion: "1.33.0", HistoryShards: 1}, {ServerVersion: "1.32.0", HistoryShards: 4}} {
		_, err := dbfile.Acquire(path, other)
		wantError(t, err, models.CodeEngineUnavailable, "1.32.0", other.ServerVersion, "--db-filename")
	}
	if after := snapshot(t, path); after != before {
		t.Errorf("a refused database changed:\n%s\nbefore\n%s", after, before)
	}
	if err := acquire(t, path, server).Release(); err != nil { // and the refusal left no lock
		t.Error(err)
	}
}

func snapshot(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{path, path + ".json"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}

func TestUnknownFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign.db")
	broken := filepath.Join(dir, "broken.db")
	orphan := filepath.Join(dir, "orphan.db")
	for name, content := range map[string]string{foreign: "x", broken: "x", broken + ".json": "{", orphan + "-wal": "x"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{foreign, broken, orphan} {
		_, err := dbfile.Acquire(path, server)
		wantError(t, err, models.CodeEngineUnavailable, path)
	}
	_, err := dbfile.Acquire(dir, server)
	wantError(t, err, models.CodeInvalidArgument, "regular file")
	_, err = dbfile.Acquire(filepath.Join(foreign, "below.db"), server)
	wantError(t, err, models.CodeInvalidArgument, "cannot be created")
}

func TestFailedCreationLeavesNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	f := acquire(t, path, server)
	cause := errors.New("disk full")
	err := f.Create(func(p string) error {
		return errors.Join(os.WriteFile(p, []byte("half"), 0), cause)
	})
	if !errors.Is(err, cause) {
		t.Fatalf("error is %v", err)
	}
	if err := f.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a database is at %s: %v", path, err)
	}
	create(t, path) // and the next start makes a whole one
}
