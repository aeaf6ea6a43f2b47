package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainLimit is how long the end of input waits for answers; it is longer than
// any wait for the ledger's lock.
const drainLimit = 30 * time.Second

// drainTransport keeps the end of its input back until every call that was read
// has been answered. The SDK cancels what is in flight at the end of input, and
// so would lose the last call of a client that writes and hangs up.
type drainTransport struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (t *drainTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainConn{Connection: conn, open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type drainConn struct {
	mcp.Connection
	mu       sync.Mutex
	open     map[jsonrpc.ID]bool
	answered chan struct{} // has a token when open may have shrunk
	closed   chan struct{}
	once     sync.Once
}

// Read implements mcp.Connection.
func (c *drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.drain(ctx)
		return nil, err
	}
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		c.mu.Lock()
		c.open[call.ID] = true
		c.mu.Unlock()
	}
	return msg, nil
}

// Write implements mcp.Connection. A failed write counts as an answer: there is
// nobody left to wait for.
func (c *drainConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if response, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, response.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default: // a token is there already
		}
	}
	return err
}

// Close implements mcp.Connection.
func (c *drainConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

func (c *drainConn) drain(ctx context.Context) {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	for c.pending() {
		select {
		case <-c.answered:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		case <-limit.C:
			return
		}
	}
}

func (c *drainConn) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}
