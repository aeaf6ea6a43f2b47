package codextest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Model answers one request of Codex. It must not keep state: the request holds
// the whole history.
type Model func(Request) Reply

// Request is one call of the Responses API, as Codex made it.
type Request struct {
	ThreadID string         // of the thread-id header
	User     string         // the newest user message
	Outputs  []string       // results of tool calls after it, oldest first
	Body     map[string]any // the whole body
	At       time.Time
}

// Server is a scripted Responses API on loopback. It logs every request.
type Server struct {
	model Model
	http  *httptest.Server
	quit  chan struct{}

	mu      sync.Mutex
	log     []Request
	changed chan struct{} // closed and replaced at every new request
}

// NewServer starts a server that ends with the test. Requests that a model
// leaves hanging end when Codex hangs up or the server closes.
func NewServer(tb testing.TB, model Model) *Server {
	tb.Helper()
	s := Start(model)
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server that ends with Close.
func Start(model Model) *Server {
	s := &Server{model: model, quit: make(chan struct{}), changed: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close ends the server and the requests that hang.
func (s *Server) Close() {
	close(s.quit)
	s.http.CloseClientConnections()
	s.http.Close()
}

// BaseURL is the provider's base_url in Codex's configuration.
func (s *Server) BaseURL() string { return s.http.URL + "/v1" }

// Requests returns the log so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// Wait returns the first logged request that fits, waiting for it until the
// deadline of Patience, when the test fails.
func (s *Server) Wait(tb testing.TB, what string, fits func(Request) bool) Request {
	tb.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		log, changed := s.log, s.changed
		s.mu.Unlock()
		for _, r := range log {
			if fits(r) {
				return r
			}
		}
		select {
		case <-changed:
		case <-deadline.C:
			tb.Fatalf("no model request within %s: %s (%d others)", Patience, what, len(log))
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		http.Error(w, `{"error":{"message":"not scripted: `+r.URL.Path+`"}}`, http.StatusNotFound)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, `{"error":{"message":"body is no JSON"}}`, http.StatusBadRequest)
		return
	}
	req := Request{ThreadID: r.Header.Get("thread-id"), Body: body, At: time.Now()}
	req.User, req.Outputs = readInput(body)
	s.record(req)
	s.answer(w, r, s.model(req))
}

func (s *Server) record(req Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, req)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, reply Reply) {
	if reply.Hang {
		s.block(r, nil)
		return
	}
	if reply.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		for name, value := range reply.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(reply.Status)
		fmt.Fprint(w, reply.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := stream{w: w}
	out.send(map[string]any{"type": "response.created", "response": map[string]any{"id": "r"}})
	if reply.Pause {
		s.block(r, nil)
		return
	}
	for i, item := range reply.Items {
		out.send(map[string]any{"type": "response.output_item.added", "output_index": i, "item": opened(item)})
		out.deltas(item)
		if reply.Release != nil && !s.block(r, reply.Release) {
			return
		}
		if reply.Cut {
			cut(w)
			return
		}
		out.send(map[string]any{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	usage := map[string]any{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
	out.send(map[string]any{"type": "response.completed", "response": map[string]any{"id": "r", "usage": usage}})
}

// block waits for the release and tells whether it came before the end of the
// connection or of the server.
func (s *Server) block(r *http.Request, release <-chan struct{}) bool {
	select {
	case <-release:
		return true
	case <-r.Context().Done():
	case <-s.quit:
	}
	return false
}

// stream writes server-sent events. Write errors mean that Codex hung up, which
// the request's context shows as well.
type stream struct{ w http.ResponseWriter }

func (s stream) send(event map[string]any) {
	data, err := json.Marshal(event)
	if err != nil {
		panic(err) // items are maps of plain values
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event["type"], data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (s stream) deltas(item map[string]any) {
	if text := messageText(item); text != "" {
		s.send(map[string]any{"type": "response.output_text.delta", "delta": text})
	}
}

// cut ends the connection in the middle of the stream.
func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset rather than an orderly end; failing, it is an early end
	}
	_ = conn.Close() // cutting it off is the purpose
}
