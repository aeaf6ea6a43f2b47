package appserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"coxswain/activities/codex"
)

// message is any frame of the protocol: a request and a notification have a
// method, an answer has none. The server's requests count their ids apart.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// rpc matches answers to requests over a stream.
type rpc struct {
	stream stream
	broken func(error) // told when a write failed

	mu      sync.Mutex
	next    int64
	pending map[string]*call
	closed  error // set once the host ended
}

// call is a request without an answer yet.
type call struct {
	hook func(json.RawMessage) // runs in the reader before any later message
	done chan answer           // one answer
}

type answer struct {
	result json.RawMessage
	err    error
}

func newRPC(s stream, broken func(error)) *rpc {
	return &rpc{stream: s, broken: broken, pending: map[string]*call{}}
}

// request sends a method and decodes its answer into result, which may be nil.
// hook, if any, sees a good answer before the reader takes the next message.
func (r *rpc) request(ctx context.Context, timeout time.Duration, method string, params, result any, hook func(json.RawMessage)) error {
	data, err := json.Marshal(params)
	if err != nil {
		return &codex.Error{Kind: codex.ErrRefused, Message: method + ": parameters", Cause: err}
	}
	id, c, err := r.register(hook)
	if err != nil {
		return err
	}
	defer r.forget(id)
	if err := r.write(message{ID: json.RawMessage(id), Method: method, Params: data}); err != nil {
		return &codex.Error{Kind: codex.ErrClosed, Message: method, Cause: err}
	}
	raw, err := c.wait(ctx, timeout, method)
	if err != nil || result == nil {
		return err
	}
	if err := decode(raw, result); err != nil {
		return &codex.Error{Kind: codex.ErrTimeout, Message: method + ": answer not understood", Cause: err}
	}
	return nil
}

func (c *call) wait(ctx context.Context, timeout time.Duration, method string) (json.RawMessage, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case a := <-c.done:
		return a.result, classify(method, a.err)
	case <-ctx.Done():
		return nil, &codex.Error{Kind: codex.ErrTimeout, Message: method + " was given up", Cause: context.Cause(ctx)}
	case <-timer.C:
		return nil, &codex.Error{Kind: codex.ErrTimeout, Message: fmt.Sprintf("%s: no answer within %s", method, timeout)}
	}
}

func (r *rpc) register(hook func(json.RawMessage)) (string, *call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed != nil {
		return "", nil, r.closed
	}
	r.next++
	id := strconv.FormatInt(r.next, 10)
	c := &call{hook: hook, done: make(chan answer, 1)}
	r.pending[id] = c
	return id, c, nil
}

func (r *rpc) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, id)
}

// notify sends a method that has no answer.
func (r *rpc) notify(method string) error { return r.write(message{Method: method}) }

// reply answers a request of the server.
func (r *rpc) reply(id json.RawMessage, result any, refusal *rpcError) error {
	m := message{ID: id, Error: refusal}
	if refusal == nil {
		data, err := json.Marshal(result)
		if err != nil {
			return err
		}
		m.Result = data
	}
	return r.write(m)
}

func (r *rpc) write(m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := r.stream.Write(data); err != nil {
		r.broken(fmt.Errorf("writing to codex: %w", err))
		return err
	}
	return nil
}

// settle hands an answer to its request. It tells whether one was waiting.
func (r *rpc) settle(m message) bool {
	r.mu.Lock()
	c := r.pending[string(m.ID)]
	delete(r.pending, string(m.ID))
	r.mu.Unlock()
	if c == nil {
		return false
	}
	if m.Error != nil {
		c.done <- answer{err: m.Error}
		return true
	}
	result := append(json.RawMessage(nil), m.Result...)
	if c.hook != nil {
		c.hook(result)
	}
	c.done <- answer{result: result}
	return true
}

// fail ends every request that is open and every later one.
func (r *rpc) fail(err *codex.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed != nil {
		return
	}
	r.closed = err
	for id, c := range r.pending {
		c.done <- answer{err: err}
		delete(r.pending, id)
	}
}

// Error implements the error interface.
func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }
