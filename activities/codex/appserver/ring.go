package appserver

import (
	"io"
	"strings"
	"sync"
)

// ring keeps the last bytes of what is written to it.
type ring struct {
	mu   sync.Mutex
	tail []byte
	size int
}

func newRing(size int) *ring { return &ring{size: size} }

// Write implements io.Writer and never fails.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if over := len(r.tail) + len(p) - r.size; over >= len(r.tail) {
		r.tail = append(r.tail[:0], p[max(0, len(p)-r.size):]...)
	} else {
		if over > 0 {
			r.tail = append(r.tail[:0], r.tail[over:]...)
		}
		r.tail = append(r.tail, p...)
	}
	return len(p), nil
}

// String returns the kept end as one line of valid text.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(r.tail), "?")), " ")
}

// drain copies everything into the ring until the reader ends.
func (r *ring) drain(from io.Reader) {
	// The reader's error is its end: the process has closed the stream.
	_, _ = io.Copy(r, from)
}
