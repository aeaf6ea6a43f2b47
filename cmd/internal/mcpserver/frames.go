package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coxswain/models"
)

// lineLimit is how many bytes one line of input may have.
const lineLimit = 16 << 20

// frameTransport reads and writes one frame a line. The SDK's own transport ends
// at the first line that is no frame; this one answers it and goes on, through
// the same lock that every answer is written under.
type frameTransport struct {
	in   io.ReadCloser
	out  io.WriteCloser
	gate *gate
	log  *slog.Logger // told which lines were no frames, not what they held
}

// Connect implements mcp.Transport.
func (t *frameTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &frameConn{frameTransport: t, lines: make(chan lineRead), closed: make(chan struct{})}
	go c.readLines()
	return c, nil
}

// frameConn reads in a goroutine of its own, which Close does not wait for: a
// read of a terminal cannot be interrupted.
type frameConn struct {
	*frameTransport
	lines   chan lineRead
	closed  chan struct{}
	closing sync.Once
	failed  error // of closing
	writing sync.Mutex
}

type lineRead struct {
	text []byte
	err  error // of reading; text is then empty
}

// SessionID implements mcp.Connection; stdio has one session.
func (c *frameConn) SessionID() string { return "" }

func (c *frameConn) readLines() {
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		text, err := readLine(r)
		if len(text) > 0 && !c.pass(lineRead{text: text}) {
			return
		}
		if err != nil {
			c.pass(lineRead{err: err})
			return
		}
	}
}

func (c *frameConn) pass(l lineRead) bool {
	select {
	case c.lines <- l:
		return true
	case <-c.closed:
		return false
	}
}

// readLine returns the next line without the space around it; the last one need
// not be ended. A line over the limit is an error, and not read to its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(bytes.TrimRight(line, "\r\n")) > lineLimit {
			return nil, errLineTooLong()
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.Trim(line, " \t\r\n"), err
		}
	}
}

func errLineTooLong() *models.Error {
	return models.Invalid("input", "a line is longer than %d MiB", lineLimit>>20).
		Hint("send one frame a line, and point at large documents instead of copying them")
}

// Read implements mcp.Connection: it returns the next frame, having answered
// every line before it that is none.
func (c *frameConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.line(ctx)
		if err != nil {
			return nil, c.lastWord(err)
		}
		msg, refused := parseLine(line)
		if refused == nil {
			return msg, nil
		}
		c.log.DebugContext(ctx, "line refused", "reason", refused.message)
		if refused.code == unanswered {
			continue
		}
		if err := c.refuse(refused); err != nil {
			return nil, err
		}
	}
}

func (c *frameConn) line(ctx context.Context) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	select {
	case l := <-c.lines:
		return l.text, l.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lastWord tells the client why its input is read no further, when it caused it.
func (c *frameConn) lastWord(err error) error {
	known, ok := errors.AsType[*models.Error](err)
	if !ok {
		return err
	}
	return errors.Join(err, c.refuse(&badLine{code: jsonrpc.CodeInvalidRequest, message: known.Message}))
}

// Write implements mcp.Connection.
func (c *frameConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if response, ok := msg.(*jsonrpc.Response); ok && response.Error != nil {
		msg = &jsonrpc.Response{ID: response.ID, Error: c.gate.coded(response.Error)}
	}
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode a frame: %w", err)
	}
	return c.put(text)
}

// refuse answers a line that is no frame.
func (c *frameConn) refuse(b *badLine) error {
	text, err := b.frame()
	if err != nil {
		return err
	}
	return c.put(text)
}

func (c *frameConn) put(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// Close implements mcp.Connection.
func (c *frameConn) Close() error {
	c.closing.Do(func() {
		c.failed = errors.Join(c.in.Close(), c.out.Close())
		close(c.closed)
	})
	return c.failed
}

// unanswered is the code of a line that gets no answer.
const unanswered = 0

// badLine is why a line is no frame.
type badLine struct {
	id      json.RawMessage // of the request that it was meant to be; nil when unknown
	code    int64
	message string
}

// frame encodes the answer; without a known id it is null, which the SDK's
// encoder leaves out (JSON-RPC 2.0, section 5).
func (b *badLine) frame() ([]byte, error) {
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", b.id, jsonrpc.Error{Code: b.code, Message: b.message}})
}

// parseLine reads the frame of a line. Messages never repeat what the line holds.
func parseLine(line []byte) (jsonrpc.Message, *badLine) {
	if !utf8.Valid(line) {
		return nil, &badLine{code: jsonrpc.CodeParseError, message: "the line is not UTF-8"}
	}
	if !json.Valid(line) {
		return nil, &badLine{code: jsonrpc.CodeParseError, message: "the line is not one JSON value: send one frame a line"}
	}
	if line[0] == '[' {
		return nil, &badLine{code: jsonrpc.CodeInvalidRequest, message: "the line is a list: send one frame a line, batches are not spoken"}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		return nil, &badLine{code: jsonrpc.CodeInvalidRequest, message: "the line is not a JSON object"}
	}
	if answersNobody(fields) {
		return nil, &badLine{code: unanswered, message: "an error that names no request"}
	}
	if reason := checkFrame(fields); reason != "" {
		return nil, &badLine{id: knownID(fields["id"]), code: jsonrpc.CodeInvalidRequest, message: reason}
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, &badLine{id: knownID(fields["id"]), code: jsonrpc.CodeInvalidRequest, message: "the line is no frame of JSON-RPC 2.0"}
	}
	return msg, nil
}

// answersNobody tells an error whose sender could not read which request it is
// about. To answer it would let two such peers go on forever.
func answersNobody(fields map[string]json.RawMessage) bool {
	_, asks := fields["method"]
	_, failed := fields["error"]
	return failed && !asks && knownID(fields["id"]) == nil
}

// checkFrame says what keeps an object from being a request, a notification or
// an answer; "" is nothing.
func checkFrame(fields map[string]json.RawMessage) string {
	id, named := fields["id"]
	method, asks := fields["method"]
	_, succeeded := fields["result"]
	_, failed := fields["error"]
	switch {
	case string(fields["jsonrpc"]) != `"2.0"`:
		return `jsonrpc: must be "2.0"`
	case named && knownID(id) == nil:
		return "id: must be a text or a whole number of at most 53 bits"
	case asks && method[0] != '"':
		return "method: must be a text"
	case !asks && !succeeded && !failed:
		return "method: is required"
	case !asks && !named:
		return "id: an answer needs the id of its request"
	}
	return ""
}

// maxID is the largest number that the SDK keeps exactly: it reads ids as floats.
const maxID = 1 << 53

// knownID returns an id that an answer can bear, and nil for any other value.
func knownID(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var number int64
	if raw[0] == '"' || json.Unmarshal(raw, &number) == nil && -maxID <= number && number <= maxID {
		return raw
	}
	return nil
}
