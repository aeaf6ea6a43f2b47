//go:build !failpoints

package failpoint_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"coxswain/models/ledger/failpoint"
)

// Without the build tag the variable does nothing: a controller that listens is
// never asked, so that a point cannot hold or end a released program.
func TestReleaseAsksNoController(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv(failpoint.Variable, path)
	for _, p := range failpoint.Table() {
		failpoint.Hit(p.Point)
	}
	if err := l.SetDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Fatal("a point asked the controller in a build without the tag")
	}
	if failpoint.Placed {
		t.Fatal("this build says that it holds the points")
	}
}
