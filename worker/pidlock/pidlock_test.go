package pidlock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"coxswain/worker/pidlock"
)

func TestTheSecondNamesTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	if _, held := pidlock.Holder(path); held {
		t.Fatal("held before anyone asked for it")
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("asking made the file")
	}
	lock, err := pidlock.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pidlock.Acquire(path)
	if held, ok := errors.AsType[*pidlock.HeldError](err); !ok || held.PID != os.Getpid() {
		t.Fatalf("second: %v", err)
	}
	if pid, held := pidlock.Holder(path); !held || pid != os.Getpid() {
		t.Fatalf("holder %d, %t", pid, held)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, held := pidlock.Holder(path); held {
		t.Fatal("held after its release")
	}
	again, err := pidlock.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}
