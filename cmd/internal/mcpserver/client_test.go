package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"coxswain/cmd/internal/errorwords"
)

// deadline bounds every wait of a test; nothing waits for it when all is well.
const deadline = 20 * time.Second

// client writes frames to a server and reads the frames it answers with.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error
	logs  *logBuffer
	stop  context.CancelFunc
	next  int
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a server with debug logging and ends it with the test.
func serve(t *testing.T, o Options) *client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, lines: make(chan string, 64), done: make(chan error, 1), logs: &logBuffer{}, stop: stop}
	o.In, o.Out, o.Version = inR, outW, "test"
	o.Logger = slog.New(slog.NewJSONHandler(c.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	go func() {
		err := Serve(ctx, o)
		outW.Close() // a refused server leaves it open; a pipe's Close returns nil
		c.done <- err
	}()
	go func() {
		defer close(c.lines)
		for lines := bufio.NewReader(outR); ; {
			line, err := lines.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		inW.Close() // a pipe's Close returns nil
		for range c.lines {
		}
	})
	return c
}

// connected starts a server and completes the handshake.
func connected(t *testing.T, o Options) *client {
	t.Helper()
	c := serve(t, o)
	c.initialize("2025-11-25")
	c.notify("notifications/initialized")
	return c
}

func (c *client) send(frame string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, frame+"\n"); err != nil {
		c.t.Fatalf("send %s: %v", frame, err)
	}
}

// frame is any frame that a server may write.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (c *client) read() frame {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server ended its output")
		}
		return parseFrame(c.t, line)
	case <-time.After(deadline):
		c.t.Fatal("no frame came")
	}
	return frame{}
}

func parseFrame(t *testing.T, line string) frame {
	t.Helper()
	var f frame
	if err := json.Unmarshal([]byte(line), &f); err != nil || f.Version != "2.0" {
		t.Fatalf("not a frame: %q (%v)", line, err)
	}
	return f
}

// ask sends a request and reads its answer.
func (c *client) ask(method string, params any) frame {
	c.t.Helper()
	id := c.request(method, params)
	answer := c.read()
	if answer.ID == nil || *answer.ID != id {
		c.t.Fatalf("want the answer to request %d, have %+v", id, answer)
	}
	return answer
}

func (c *client) request(method string, params any) int {
	c.t.Helper()
	c.next++
	message := map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method}
	if params != nil {
		message["params"] = params
	}
	c.send(string(mustJSON(c.t, message)))
	return c.next
}

func (c *client) notify(method string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method))
}

func (c *client) initialize(version string) string {
	c.t.Helper()
	answer := c.ask("initialize", map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
		Instructions    string `json:"instructions"`
	}
	mustDecode(c.t, answer.Result, &result)
	if result.Instructions == "" {
		c.t.Fatal("the server gave no instructions")
	}
	return result.ProtocolVersion
}

// outcome is the document of a tool's result.
type outcome struct {
	OK       bool `json:"ok"`
	Replayed bool `json:"replayed"`
	Error    struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Next    string         `json:"next"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	raw json.RawMessage
}

// tool calls a tool and checks that its result says the same in both forms.
func (c *client) tool(name string, arguments map[string]any, meta ...map[string]any) outcome {
	c.t.Helper()
	params := map[string]any{"name": name, "arguments": arguments}
	if len(meta) > 0 {
		params["_meta"] = meta[0]
	}
	answer := c.ask("tools/call", params)
	if answer.Error != nil {
		c.t.Fatalf("%s: protocol error %+v", name, answer.Error)
	}
	return parseOutcome(c.t, answer.Result)
}

func parseOutcome(t *testing.T, text json.RawMessage) outcome {
	t.Helper()
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	mustDecode(t, text, &result)
	var out outcome
	mustDecode(t, result.Structured, &out)
	out.raw = result.Structured
	if len(result.Content) != 1 || result.Content[0].Type != "text" {
		t.Fatalf("want one text, have %s", text)
	}
	var a, b any
	mustDecode(t, result.Structured, &a)
	mustDecode(t, []byte(result.Content[0].Text), &b)
	if !bytes.Equal(mustJSON(t, a), mustJSON(t, b)) {
		t.Fatalf("text and structured content differ: %s", text)
	}
	if err := errorwords.Check(result.Structured, errorwords.Unknown); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if out.OK == result.IsError || out.OK != (out.Error.Code == "") {
		t.Fatalf("ok, isError and error disagree: %s", text)
	}
	return out
}

// must calls a tool that has to succeed and decodes its answer.
func (c *client) must(into any, name string, arguments map[string]any) {
	c.t.Helper()
	out := c.tool(name, arguments)
	if !out.OK {
		c.t.Fatalf("%s: %s", name, out.raw)
	}
	mustDecode(c.t, out.raw, into)
}

// refused calls a tool that has to be refused with the code.
func (c *client) refused(code, name string, arguments map[string]any, meta ...map[string]any) outcome {
	c.t.Helper()
	out := c.tool(name, arguments, meta...)
	if out.OK || out.Error.Code != code {
		c.t.Fatalf("%s: want %s, have %s", name, code, out.raw)
	}
	return out
}

// end closes the input and waits for the server.
func (c *client) end() error {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Fatal(err)
	}
	return c.wait()
}

func (c *client) wait() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(deadline):
		c.t.Fatal("the server did not end")
	}
	return nil
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustDecode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
}
