package worker_test

import (
	"os"
	"path/filepath"
	"testing"

	"coxswain/models"
	"coxswain/worker"
)

func TestAnOwnerOfLoopsIsGoneOnceItsProcessIs(t *testing.T) {
	dir := t.TempDir()
	owner, err := worker.OwnLoops(dir)
	if err != nil {
		t.Fatal(err)
	}
	gone := func(id string) bool { return worker.OwnerGone(dir, models.LoopSettings{Enabled: true, Owner: id}) }
	if gone(owner.ID) {
		t.Error("a living owner counts as gone")
	}
	if gone("") || gone("another-node/"+filepath.Base(owner.ID)) || gone("nameless") {
		t.Error("what cannot be judged here counts as gone")
	}
	if err := owner.Release(); err != nil {
		t.Fatal(err)
	}
	if !gone(owner.ID) {
		t.Error("an owner that has ended does not count as gone")
	}
	if left, err := os.ReadDir(filepath.Join(dir, "loops")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	// A killed process leaves its file behind, which nobody locks.
	if err := os.WriteFile(filepath.Join(dir, "loops", filepath.Base(owner.ID)+".lock"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !gone(owner.ID) {
		t.Error("an owner whose lock nobody holds does not count as gone")
	}
}
