package ledger_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

// A lost key is told, never replaced: tokens of another key are nobody's.
func TestALostKeyIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	token := open(t, ledger.Options{Path: path}).BindingToken("b", 1)
	key, err := os.ReadFile(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".key"); err != nil {
		t.Fatal(err)
	}
	_, err = ledger.Open(t.Context(), ledger.Options{Path: path})
	refused(t, models.CodeLedgerUnavailable, err)
	if !strings.Contains(err.Error(), "ledger.db.key is not the key of the ledger") {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".key"); err == nil {
		t.Error("a key was made that fits nothing")
	}
	if err := os.WriteFile(path+".key", slices.Repeat([]byte("0"), 64), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ledger.Open(t.Context(), ledger.Options{Path: path})
	refused(t, models.CodeLedgerUnavailable, err)
	if err := os.WriteFile(path+".key", key, 0o600); err != nil {
		t.Fatal(err)
	}
	if open(t, ledger.Options{Path: path}).BindingToken("b", 1) != token {
		t.Error("with the restored key the tokens differ")
	}
}
