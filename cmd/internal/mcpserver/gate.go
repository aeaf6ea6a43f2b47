package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodPing        = "ping"
)

// The states of a gate, see the package's diagram.
const (
	gateNew int32 = iota
	gateGreeted
	gateReady
)

// gate holds back everything but the handshake until the handshake is complete.
// The SDK itself runs calls between initialize and notifications/initialized,
// and calls without any initialize when their _meta names a later protocol.
type gate struct{ state atomic.Int32 }

func (g *gate) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if err := g.check(method, req); err != nil {
			return nil, err
		}
		result, err := next(ctx, method, req)
		if err == nil {
			g.advance(method)
		}
		return result, err
	}
}

func (g *gate) check(method string, req mcp.Request) error {
	if err := checkVersion(req); err != nil {
		return err
	}
	if method == methodInitialize || method == methodPing || strings.HasPrefix(method, "notifications/") {
		return nil
	}
	if g.state.Load() == gateReady {
		return nil
	}
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: fmt.Sprintf("%s came before the handshake was complete: send %s, then %s", method, methodInitialize, methodInitialized),
	}
}

// advance moves on after a step that the SDK accepted; notifications and
// initialize are handled one after the other, in the order of their frames.
func (g *gate) advance(method string) {
	switch method {
	case methodInitialize:
		g.state.CompareAndSwap(gateNew, gateGreeted)
	case methodInitialized:
		g.state.CompareAndSwap(gateGreeted, gateReady)
	}
}

// coded gives an error of the SDK that has no code one of JSON-RPC: the SDK
// writes 0 for those, as when a request comes before initialize.
func (g *gate) coded(err error) error {
	if known, ok := errors.AsType[*jsonrpc.Error](err); ok && known.Code != 0 {
		return err
	}
	code := int64(jsonrpc.CodeInternalError)
	if g.state.Load() == gateNew {
		code = jsonrpc.CodeInvalidRequest
	}
	return &jsonrpc.Error{Code: code, Message: err.Error()}
}

// checkVersion refuses a frame that names a protocol the server does not speak.
func checkVersion(req mcp.Request) error {
	params := req.GetParams()
	if params == nil || reflect.ValueOf(params).IsNil() { // params may be left out, and are a typed nil then
		return nil
	}
	named, present := params.GetMeta()[mcp.MetaKeyProtocolVersion]
	if !present {
		return nil
	}
	version, _ := named.(string)
	if slices.Contains(protocolVersions(), version) {
		return nil
	}
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: protocolVersions(), Requested: version})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}
