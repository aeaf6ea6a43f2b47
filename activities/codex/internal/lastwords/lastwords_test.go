package lastwords_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"coxswain/activities/codex/internal/lastwords"
)

func TestWhatAPipeHoldsIsReadBehindItsDeadline(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() // opened for reading
	defer w.Close() // held open, as by a process outside the group
	said := strings.Repeat("x", 5000)
	if _, err := io.WriteString(w, said); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, len(said))
	if _, err := io.ReadFull(lastwords.From(r), heard); err != nil || string(heard) != said {
		t.Errorf("%d of %d bytes, %v", len(strings.TrimRight(string(heard), "\x00")), len(said), err)
	}
}

func TestAPipeThatIsHeldOpenIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() // opened for reading
	defer w.Close() // held open, as by a process outside the group
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := lastwords.From(r).Read(make([]byte, 10)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v", n, err)
	}
}
