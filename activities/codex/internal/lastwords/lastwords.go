// Package lastwords reads what a process wrote before its end. Who takes it may be
// slower than the process: a pipe's read deadline ends the waiting for more, and not
// what is there already.
package lastwords

import (
	"errors"
	"os"
	"time"
)

// pipeHolds is how many bytes a process may have written and nobody read when it
// ended: as much as a pipe holds.
const pipeHolds = 64 << 10

// patience is how long each late read may wait: a process outside the group that
// holds the pipe open is not waited for.
const patience = time.Second

// Reader is a pipe from a process. Once its deadline has passed, what the pipe still
// holds is read all the same. Only one goroutine reads.
type Reader struct {
	pipe *os.File
	late int // bytes that may still be read
}

// From reads a pipe, which must know deadlines.
func From(pipe *os.File) *Reader { return &Reader{pipe: pipe, late: pipeHolds} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.pipe.Read(p)
	if r.late <= 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if err := r.pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	n, err = r.pipe.Read(p)
	r.late -= n
	return n, err
}
