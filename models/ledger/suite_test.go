package ledger_test

import (
	"path/filepath"
	"testing"

	"coxswain/models/ledger"
	"coxswain/models/ledger/ledgertest"
)

func TestSQLite(t *testing.T) {
	ledgertest.Suite(t, func(t *testing.T, clock ledger.Clock) *ledger.Ledger {
		t.Helper()
		l, err := ledger.Open(t.Context(), ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	})
}
