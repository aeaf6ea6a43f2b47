package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Password is in every address, so that a test can look for it where it must not
// be. The cluster itself trusts its socket.
const Password = "open-sesame"

// User is the user of every address.
const User = "cox"

var (
	start   sync.Once
	cluster *server
	failed  error
	schemas atomic.Int64
)

// Main runs the tests of a package and stops the cluster, if one was started. It is
// the whole of a TestMain: os.Exit(pgtest.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	Stop()
	return code
}

// Stop ends the cluster, if one was started, and removes its folder.
func Stop() {
	if cluster != nil {
		cluster.stop()
	}
}

// Available tells whether Postgres is installed. Under CI it has to be.
func Available(t testing.TB) bool {
	t.Helper()
	if _, err := binaries(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI must have Postgres: %v", err)
		}
		return false
	}
	return true
}

// Address is the address of a fresh, empty schema, which is dropped when the test
// ends. Without Postgres the test is skipped, under CI it fails.
func Address(t testing.TB) string {
	t.Helper()
	if !Available(t) {
		t.Skip("Postgres is not installed: apt-get install postgresql, or name its folder of programs by PG_BIN")
	}
	start.Do(func() { cluster, failed = launch() })
	if failed != nil {
		t.Fatalf("no cluster of Postgres: %v", failed)
	}
	schema := fmt.Sprintf("t%d", schemas.Add(1))
	execute(t, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { execute(t, "DROP SCHEMA "+schema+" CASCADE") })
	return cluster.address(schema)
}

func execute(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, cluster.address("public"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // the statement below is what counts
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

// binaries finds the folder of initdb and postgres: that of PG_BIN, of the PATH, or
// of Debian's newest package.
func binaries() (string, error) {
	if dir := os.Getenv("PG_BIN"); dir != "" {
		return dir, nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no initdb on the PATH or below /usr/lib/postgresql (%w)", exec.ErrNotFound)
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func (s *server) address(schema string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(User, Password), Path: "/postgres"}
	u.RawQuery = url.Values{"host": {s.dir}, "search_path": {schema}, "sslmode": {"disable"}}.Encode()
	return u.String()
}
