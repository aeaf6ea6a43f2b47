package mcpserver

import (
	"context"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that would rather speak a later protocol falls back to the handshake.
func TestAClientOfALaterProtocolFallsBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	f := newFixture(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	o := f.agent("worker-1")
	o.In, o.Out = inR, outW
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, o) }()

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	f.check(err)
	if v := session.InitializeResult().ProtocolVersion; v != "2025-11-25" {
		t.Fatalf("negotiated %s", v)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_team_board", Arguments: map[string]any{"team_id": "crew"}})
	f.check(err)
	if result.IsError {
		t.Fatalf("refused: %s", mustJSON(t, result))
	}
	f.check(session.Close())
	f.check(<-done)
}
