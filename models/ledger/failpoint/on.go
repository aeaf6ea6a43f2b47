//go:build failpoints

package failpoint

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Placed tells whether this build holds the points.
const Placed = true

// Hit passes a point: it tells the controller and goes on when that closes the
// connection, or is gone. A controller that wants this process dead kills it
// meanwhile.
func Hit(p Point) {
	path := socket()
	if path == "" {
		return
	}
	c, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		return // nobody controls this process
	}
	defer c.Close() //nolint:errcheck // it was only asked
	if _, err := fmt.Fprintf(c, "%s %d\n", p, os.Getpid()); err != nil {
		return // as above
	}
	_, _ = io.Copy(io.Discard, c) // ends when the controller lets go
}

func socket() string {
	if path := os.Getenv(Variable); path != "" {
		return path
	}
	if dir := os.Getenv("COX_STATE_DIR"); dir != "" {
		return filepath.Join(dir, SocketName)
	}
	return ""
}
