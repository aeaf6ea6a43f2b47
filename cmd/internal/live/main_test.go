package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models/ledger/pgtest"
)

// built is the folder of a cox that TestMain's process built for itself.
var built string

func TestMain(m *testing.M) {
	if os.Getenv(relayTo) != "" {
		os.Exit(relayMain())
	}
	if os.Getenv("COX_LIVE") == "1" {
		_ = os.Setenv("CI", "true") // what CI does not skip, make live does not either; a valid name cannot fail
	}
	code := pgtest.Main(m)
	if built != "" {
		_ = os.RemoveAll(built) // a leftover in the temporary folder hides no failure
	}
	os.Exit(code)
}

// binaries are the executables under test.
type binaries struct{ cox, temporal, codex string }

// need skips without the executables, or fails where nothing may be skipped.
func need(t *testing.T) binaries {
	t.Helper()
	b := binaries{codex: codextest.Binary(t)}
	var err error
	if b.cox, err = coxBinary(); err != nil {
		missing(t, err.Error())
	}
	b.temporal = os.Getenv("COX_TEMPORAL_BIN")
	if b.temporal == "" {
		b.temporal = filepath.Join(root(), "bin", "cox-temporal")
	}
	if _, err := os.Stat(b.temporal); err != nil {
		missing(t, fmt.Sprintf("no cox-temporal (%v): run make cox-temporal, or set COX_TEMPORAL_BIN", err))
	}
	return b
}

func missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// coxBinary is COX_BIN, else a cox built once from this checkout.
var coxBinary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("COX_BIN"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "cox-live-")
	if err != nil {
		return "", err
	}
	built = dir
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "cox"), "./cmd/cox")
	cmd.Dir, cmd.Env = root(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/cox: %w: %s", err, out)
	}
	return filepath.Join(dir, "cox"), nil
})

// root is the module's folder; a test's working folder is its package.
func root() string {
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		panic(err) // the working folder is gone
	}
	return dir
}
