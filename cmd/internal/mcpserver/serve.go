package mcpserver

import (
	"context"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coxswain/models"
	"coxswain/models/ledger"
)

// protocolVersions are the MCP versions that the server speaks, newest first.
// Later ones know calls without a handshake, which the gate could not refuse in
// their own terms.
func protocolVersions() []string { return []string{"2025-11-25", "2025-06-18"} }

// Options say whom the server serves and over what.
type Options struct {
	Ledger    *ledger.Ledger
	Token     string           // a binding's token; "" serves an unbound caller
	Principal models.Principal // who a person started an unbound server as; ignored with a token
	// Head reads the commit that the workspace's HEAD names, for handoffs. With
	// nil, handoffs of workspaces with Git are refused.
	Head func(ctx context.Context, workspace models.Workspace) (commit string, err error)
	// Place finds the repository that contains an absolute path of this machine,
	// and the node that holds it. With nil, paths are taken as they are given.
	Place   func(ctx context.Context, path string) (ledger.NewWorkspace, error)
	Version string       // of the product, as told to clients
	Logger  *slog.Logger // nil logs nothing
	In      io.ReadCloser
	Out     io.WriteCloser
}

// Serve answers MCP frames until In ends, which is no error, or until ctx does,
// which returns its cause; both are closed then. Errors before the first frame,
// which leave In and Out open for the caller to report them: FORBIDDEN for a
// token that proves no active binding, INVALID_ARGUMENT for a principal that may
// not use the server. INVALID_ARGUMENT after it: a line longer than 16 MiB.
func Serve(ctx context.Context, o Options) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{Options: o}
	who, err := s.identify(ctx, nil)
	if err != nil {
		return err
	}
	g := &gate{}
	err = s.build(faceOf(who), g).Run(ctx, &drainTransport{&frameTransport{in: o.In, out: o.Out, gate: g, log: o.Logger}})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// server is what every tool of one Serve shares.
type server struct{ Options }

func (s *server) build(f face, g *gate) *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "coxswain", Title: "Coxswain ledger", Version: s.Version}, &mcp.ServerOptions{
		Instructions: f.instructions, Logger: s.Logger,
		SupportedProtocolVersions: protocolVersions(),
		Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, e := range f.tools {
		e.add(s, m, f.bound)
	}
	m.AddReceivingMiddleware(g.middleware)
	return m
}
