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
	"coxswain/models"
)

// Transport of the hosts of this package.
const Transport = "stdio"

// Host is one app-server child. It implements codex.Adapter.
type Host struct {
	opts    Options
	bin     string
	version string
	log     *slog.Logger
	proc    *process
	rpc     *rpc
	hub     *hub
	turns   turnTable
	answers chan struct{} // a place for each answer being decided

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
	bin := opts.Bin
	if bin == "" {
		var err error
		if bin, err = Find(opts.Env); err != nil {
			return nil, err
		}
	}
	args := []string{"app-server"}
	for _, override := range opts.ConfigOverrides {
		args = append(args, "-c", override)
	}
	proc, err := spawn(bin, args, opts.Env, opts.CloseTimeout)
	if err != nil {
		return nil, err
	}
	h := &Host{
		opts: opts, bin: bin, log: opts.Logger, proc: proc, hub: newHub(proc.exited),
		answers: make(chan struct{}, maxAnswers), done: make(chan struct{}),
	}
	h.rpc = newRPC(newLineStream(proc.stdout, proc.stdin, MaxMessage, opts.RequestTimeout), h.abort)
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
	return &codex.Error{Kind: codex.ErrStartup, Message: h.bin + " app-server: " + h.proc.describe(), Cause: err}
}

// run reads until the stream ends, then ends everything else.
func (h *Host) run() {
	err := h.read()
	if errors.Is(err, io.EOF) {
		err = errors.New("codex closed its output")
	}
	h.setCause(err)
	h.rpc.fail(&codex.Error{Kind: codex.ErrClosed, Message: "codex app-server", Cause: h.reason()})
	h.proc.end()
	_ = h.proc.stdout.Close() // read to its end, or given up
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
	go h.proc.end()
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

// PID is the child's process id, which is also its process group.
func (h *Host) PID() int { return h.proc.pid }

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
	case <-h.proc.exited:
		return &codex.Error{Kind: codex.ErrClosed, Message: h.proc.describe(), Cause: h.cause}
	default:
		return &codex.Error{Kind: codex.ErrClosed, Message: "codex is ending", Cause: h.cause}
	}
}

// Close implements codex.Adapter: end of input, SIGTERM, SIGKILL, each after
// Options.CloseTimeout. Turns that run read as interrupted afterwards. It
// returns when the child and its group are gone; again is harmless.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.cause == nil {
		h.closing = true
	}
	h.mu.Unlock()
	h.proc.end()
	<-h.done
	return nil
}

// call is a request with the usual timeout.
func (h *Host) call(ctx context.Context, method string, params, result any) error {
	return h.rpc.request(ctx, h.opts.RequestTimeout, method, params, result, nil)
}
