//go:build failpoints

package failpoint_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"coxswain/models/ledger/failpoint"
)

// With the tag a point tells who passes it and waits until the controller lets go.
func TestHitWaitsForItsController(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv(failpoint.Variable, path)
	passed := make(chan struct{})
	go func() {
		failpoint.Hit(failpoint.TurnSending)
		close(passed)
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if want := fmt.Sprintf("turn_sending %d\n", os.Getpid()); err != nil || line != want {
		t.Fatalf("told %q (%v), want %q", line, err, want)
	}
	select {
	case <-passed:
		t.Fatal("passed before the controller let go")
	default:
	}
	c.Close()
	<-passed
	t.Setenv(failpoint.Variable, filepath.Join(t.TempDir(), "absent"))
	failpoint.Hit(failpoint.TurnSending) // nobody controls: goes on
}
