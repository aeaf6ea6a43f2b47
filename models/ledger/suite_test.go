package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"coxswain/models/ledger"
	"coxswain/models/ledger/ledgertest"
	"coxswain/models/ledger/pgtest"
)

func TestMain(m *testing.M) {
	if options := os.Getenv(rivalVar); options != "" {
		os.Exit(playRival(options))
	}
	os.Exit(pgtest.Main(m))
}

func TestSQLite(t *testing.T) { ledgertest.Suite(t, opener(inFile)) }

func TestPostgres(t *testing.T) { ledgertest.Suite(t, opener(onServer)) }

// place says where a fresh ledger is.
type place func(t testing.TB) ledger.Options

func inFile(t testing.TB) ledger.Options {
	t.Helper()
	return ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db")}
}

func onServer(t testing.TB) ledger.Options {
	t.Helper()
	return ledger.Options{Path: pgtest.Address(t), StateDir: t.TempDir()}
}

// onBoth runs a test on every kind of database.
func onBoth(t *testing.T, test func(t *testing.T, at place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, inFile) })
	t.Run("postgres", func(t *testing.T) { test(t, onServer) })
}

func opener(at place) ledgertest.Opener {
	return func(t *testing.T, clock ledger.Clock) *ledger.Ledger {
		t.Helper()
		o := at(t)
		o.Clock = clock
		return open(t, o)
	}
}

// open opens a ledger and closes it when the test ends.
func open(t *testing.T, o ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
