package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"coxswain/models/ledger"
)

func TestANodeKeepsItsIDWhereverItsFolderGoes(t *testing.T) {
	root := t.TempDir()
	dir, moved := filepath.Join(root, "state"), filepath.Join(root, "moved")
	derived := ledger.LocalNodeID(dir)
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("asking for the id made the folder")
	}
	kept, err := ledger.KeepNodeID(dir)
	if err != nil || kept != derived {
		t.Fatalf("kept %q (%v), derived %q", kept, err, derived)
	}
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if id, err := ledger.KeepNodeID(moved); err != nil || id != kept {
		t.Fatalf("after the move %q (%v), want %q", id, err, kept)
	}
	if other := ledger.LocalNodeID(dir); other != derived || other == ledger.LocalNodeID(filepath.Join(root, "second")) {
		t.Fatalf("two state directories are one node: %q", other)
	}
}
