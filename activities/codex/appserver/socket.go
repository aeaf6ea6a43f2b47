package appserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coder/websocket"

	"coxswain/activities/codex"
)

// Server is a running app-server that listens on a Unix socket.
type Server struct {
	Socket string // path, or a link to it
	PID    int    // the process that must be behind the socket
	Log    string // the file of its output, for messages
}

// Connect opens a host on a server that somebody else keeps: Close leaves that
// running, with its threads and turns. Its errors are those of Open; a socket that
// another process or another user serves is codex.ErrStartup, and nothing was said
// to it.
func Connect(ctx context.Context, options Options, server Server) (*Host, error) {
	opts := options.withDefaults()
	bin, err := opts.bin()
	if err != nil {
		return nil, err
	}
	dialling, cancel := context.WithTimeout(ctx, opts.StartupTimeout)
	defer cancel()
	s, err := dialSocket(dialling, server, opts.RequestTimeout)
	if err != nil {
		return nil, &codex.Error{Kind: codex.ErrStartup, Message: "connecting to codex app-server " + server.Socket, Cause: err}
	}
	return begin(ctx, opts, bin, Unix, s, s)
}

// socket is a WebSocket over a Unix socket: one message per text frame. It is both
// the stream and the link of a host.
type socket struct {
	conn         *websocket.Conn
	server       Server
	writeTimeout time.Duration
	ended        chan struct{}
	once         sync.Once
}

// dialSocket connects and proves who is behind the socket. The path is resolved
// first: Codex makes it a link to a short one, which the limit on the length of
// socket paths (108 bytes) does not meet.
func dialSocket(ctx context.Context, server Server, writeTimeout time.Duration) (*socket, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, err := filepath.EvalSymlinks(server.Socket)
		if err != nil {
			return nil, err
		}
		c, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		if err := checkPeer(c, server.PID); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return c, nil
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	conn, _, err := websocket.Dial(ctx, "ws://codex/", &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // the connection takes the body over
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(MaxMessage)
	return &socket{conn: conn, server: server, writeTimeout: writeTimeout, ended: make(chan struct{})}, nil
}

func checkPeer(c net.Conn, pid int) error {
	uid, got, known, err := peer(c)
	if err != nil || !known {
		return err
	}
	if uid != os.Geteuid() || got != pid {
		return fmt.Errorf("process %d of user %d serves the socket, not process %d of user %d", got, uid, pid, os.Geteuid())
	}
	return nil
}

// Read implements stream.
func (s *socket) Read() ([]byte, error) {
	_, data, err := s.conn.Read(context.Background())
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, net.ErrClosed), websocket.CloseStatus(err) == websocket.StatusNormalClosure,
		websocket.CloseStatus(err) == websocket.StatusGoingAway:
		return nil, io.EOF
	case errors.Is(err, websocket.ErrMessageTooBig):
		return nil, fmt.Errorf("%w: over %d bytes", errMessageTooLong, MaxMessage)
	}
	return nil, err
}

// Write implements stream. A server that takes nothing for the write timeout
// breaks the stream.
func (s *socket) Write(message []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.writeTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, message)
}

func (s *socket) gone() <-chan struct{} { return s.ended }

// end cuts the connection; the server goes on.
func (s *socket) end() {
	s.once.Do(func() {
		_ = s.conn.CloseNow() // what was not sent reads as unknown, as after any end
		close(s.ended)
	})
}

func (s *socket) release() {}

func (s *socket) describe() string {
	return "the connection to codex app-server ended; its output is in " + s.server.Log
}
