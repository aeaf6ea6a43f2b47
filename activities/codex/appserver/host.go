package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"coxswain/activities/codex"
	"coxswain/activities/codex/internal/lastwords"
	"coxswain/models"
)

// The transports of the hosts of this package.
const (
	Auto  = "auto"  // Unix, or Stdio where the socket is not to be had
	Stdio = "stdio" // a child that ends with its host
	Unix  = "unix"  // a server that outlives its hosts, over a Unix socket
)

// link is what a host ends with: its child, or its connection to a server.
type link interface {
	gone() <-chan struct{} // closed when it has ended
	end()                  // ends it and returns when it is gone; again is harmless
	release()              // gives up what is left to read, after the last read
	describe() string      // how it ended, for an error text
}

// Host is one app-server child, or one connection to a server. It implements
// codex.Adapter.
type Host struct {
	opts      Options
	bin       string
	version   string
	transport string
	log       *slog.Logger
	link      link
	rpc       *rpc
	hub       *hub
	turns     turnTable
	held      heldThreads
	requests  requestTable
	patches   patchTable
	calls     callTable
	answers   chan struct{} // a place for each answer being decided

	mu      sync.Mutex
	cause   error // the first reason to end
	closing bool  // Close came before any other reason
	done    chan struct{}

	proofMu sync.Mutex
	proof   *provedSandbox
}

var _ codex.Adapter = (*Host)(nil)

// Open starts a host and returns when it is ready. Its errors are
// codex.ErrNotFound without an executable, and codex.ErrStartup, with the end of
// stderr, when the child ended or refused before it was ready; nothing runs then.
func Open(ctx context.Context, options Options) (*Host, error) {
	opts := options.withDefaults()
	bin, err := opts.bin()
	if err != nil {
		return nil, err
	}
	proc, err := spawn(bin, opts.Arguments(), opts.Env, opts.CloseTimeout)
	if err != nil {
		return nil, err
	}
	return begin(ctx, opts, bin, Stdio, newLineStream(lastwords.From(proc.stdout), proc.stdin, MaxMessage, opts.RequestTimeout), proc)
}

// begin makes a host of a stream and what ends with it, and initializes it.
func begin(ctx context.Context, opts Options, bin, transport string, s stream, l link) (*Host, error) {
	h := &Host{
		opts: opts, bin: bin, transport: transport, log: opts.Logger, link: l, hub: newHub(l.gone()),
		answers: make(chan struct{}, maxAnswers), done: make(chan struct{}),
	}
	h.rpc = newRPC(s, h.abort)
	go h.run()
	if err := h.initialize(ctx); err != nil {
		return nil, h.failStartup(err)
	}
	return h, nil
}

func (h *Host) initialize(ctx context.Context) error {
	var answer struct {
		UserAgent string `json:"userAgent"`
	}
	params := map[string]any{
		"clientInfo":   map[string]any{"name": "cox", "title": "Coxswain", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true},
	}
	if err := h.rpc.request(ctx, h.opts.StartupTimeout, "initialize", params, &answer, nil); err != nil {
		return err
	}
	h.version = agentVersion(answer.UserAgent)
	if h.version == "" {
		return fmt.Errorf("initialize: no version in user agent %q", answer.UserAgent)
	}
	return h.rpc.notify("initialized")
}

// agentVersion reads "0.171.0" out of "cox/0.171.0 (…)".
func agentVersion(userAgent string) string {
	_, rest, _ := strings.Cut(userAgent, "/")
	version, _, _ := strings.Cut(rest, " ")
	return version
}

func (h *Host) failStartup(err error) error {
	h.abort(err)
	<-h.done
	return &codex.Error{Kind: codex.ErrStartup, Message: h.bin + " app-server: " + h.link.describe(), Cause: err}
}

// run reads until the stream ends, then ends everything else.
func (h *Host) run() {
	err := h.read()
	if errors.Is(err, io.EOF) {
		err = errors.New("codex closed its output")
	}
	h.setCause(err)
	h.rpc.fail(&codex.Error{Kind: codex.ErrClosed, Message: "codex app-server", Cause: h.reason()})
	h.link.end()
	h.link.release()
	h.turns.clear()
	h.hub.close()
	h.logEnd()
	close(h.done)
}

func (h *Host) read() error {
	for {
		line, err := h.rpc.stream.Read()
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			h.log.Warn("codex wrote a line that is no message", "bytes", len(line))
			continue
		}
		h.dispatch(m)
	}
}

func (h *Host) dispatch(m message) {
	switch {
	case m.Method != "" && len(m.ID) > 0:
		h.serverRequest(m)
	case m.Method != "":
		h.notification(m.Method, m.Params)
	case !h.rpc.settle(m):
		h.log.Debug("codex answered a request that nobody waits for", "id", string(m.ID))
	}
}

// abort ends the host for a reason; the reader notices the end of the child.
func (h *Host) abort(cause error) {
	h.setCause(cause)
	go h.link.end()
}

func (h *Host) setCause(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil && !h.closing {
		h.cause = err
	}
}

func (h *Host) reason() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return errors.New("the host was closed")
	}
	return h.cause
}

func (h *Host) logEnd() {
	if err := h.Err(); err != nil {
		h.log.Error("codex app-server ended", "error", err)
	}
}

// Kind implements codex.Adapter.
func (h *Host) Kind() string { return models.AdapterKindCodex }

// Version is the running Codex's own, such as "0.171.0".
func (h *Host) Version() string { return h.version }

// PID is the id of the child or the server, which is also its process group.
func (h *Host) PID() int {
	switch l := h.link.(type) {
	case *process:
		return l.pid
	case *socket:
		return l.server.PID
	}
	return 0
}

// Subscribe implements codex.Adapter. Each subscriber has a bounded queue and a
// goroutine of its own, so fn may call the host. Events come in order. When a
// queue is full, progress is dropped and everything else waits, which stops the
// reading from Codex until there is room: nothing is lost and memory is bounded.
// Once the process has ended, a full queue is not waited for any more.
// A call of fn that runs while cancel is called may still finish.
func (h *Host) Subscribe(fn func(codex.Event)) (cancel func()) { return h.hub.subscribe(fn) }

// Done implements codex.Adapter. Events that came before the end may still be
// delivered after it.
func (h *Host) Done() <-chan struct{} { return h.done }

// Err implements codex.Adapter.
func (h *Host) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing || h.cause == nil {
		return nil
	}
	select {
	case <-h.link.gone():
		return &codex.Error{Kind: codex.ErrClosed, Message: h.link.describe(), Cause: h.cause}
	default:
		return &codex.Error{Kind: codex.ErrClosed, Message: "codex is ending", Cause: h.cause}
	}
}

// Close implements codex.Adapter. A child gets the end of its input, SIGTERM and
// SIGKILL, each after Options.CloseTimeout; its turns read as interrupted
// afterwards, and Close returns when it and its group are gone. A server is only
// left: its turns go on. Again is harmless.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.cause == nil {
		h.closing = true
	}
	h.mu.Unlock()
	h.link.end()
	<-h.done
	return nil
}

// call is a request with the usual timeout.
func (h *Host) call(ctx context.Context, method string, params, result any) error {
	return h.rpc.request(ctx, h.opts.RequestTimeout, method, params, result, nil)
}
