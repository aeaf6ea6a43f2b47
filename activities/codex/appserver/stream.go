package appserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// stream carries whole JSON messages in both directions. Lines over standard
// streams are one; a WebSocket over a Unix socket is another.
type stream interface {
	// Read returns the next message; it is valid until the next Read. io.EOF is
	// the orderly end. Only one goroutine reads.
	Read() ([]byte, error)
	// Write sends one message. Concurrent writes do not mix. It fails rather
	// than block for longer than the stream's own limit; the stream is then
	// broken.
	Write(message []byte) error
}

var errMessageTooLong = errors.New("message too long")

// lineStream frames messages as lines.
type lineStream struct {
	in   *bufio.Reader
	line []byte
	max  int

	mu           sync.Mutex
	out          *os.File
	writeTimeout time.Duration
}

func newLineStream(in io.Reader, out *os.File, max int, writeTimeout time.Duration) *lineStream {
	return &lineStream{in: bufio.NewReaderSize(in, 64<<10), out: out, max: max, writeTimeout: writeTimeout}
}

// Read returns the next non-empty line.
func (s *lineStream) Read() ([]byte, error) {
	for {
		line, err := s.readLine()
		if line = bytes.TrimSpace(line); len(line) > 0 || err != nil {
			return line, err
		}
	}
}

func (s *lineStream) readLine() ([]byte, error) {
	if cap(s.line) > 1<<20 {
		s.line = nil // give the memory of a rare big line back
	}
	s.line = s.line[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		if len(s.line)+len(part) > s.max {
			return nil, fmt.Errorf("%w: over %d bytes", errMessageTooLong, s.max)
		}
		s.line = append(s.line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(s.line)) > 0:
			return nil, io.ErrUnexpectedEOF // a message was cut off
		default:
			return s.line, err
		}
	}
}

// Write implements stream. A child that does not read its stdin for the write
// timeout breaks the stream.
func (s *lineStream) Write(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.SetWriteDeadline(time.Now().Add(s.writeTimeout)); err != nil {
		return err
	}
	_, err := s.out.Write(append(message, '\n'))
	return err
}
