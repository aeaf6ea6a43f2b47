package cli

import (
	"context"
	"io"
	"sync/atomic"

	"coxswain/activities/gitscope"
	"coxswain/cmd/internal/mcpserver"
	"coxswain/models"
	"coxswain/models/ledger"
)

func mcpLeaf() leaf {
	return leaf{
		name: "mcp", aliases: []string{"serve"}, usage: "serve the ledger's tools to an agent over stdio",
		about: "With COX_BINDING_TOKEN in the environment the server is bound to that thread's work and offers its\n" +
			"tools alone. Without it --role says who a person starts it as; only integrator and human decide.\n" +
			"The token is never a flag, because other users can read a process's arguments.",
		example: "cox mcp --role agent --actor codex-worker-7",
		options: []*option{{name: "role", fallback: "agent", env: []string{"COX_ROLE"}, oneOf: []string{"agent", "integrator", "human"}, usage: "`ROLE` of an unbound server: agent, integrator or human"}, nodeOption()},
		run:     mcp,
	}
}

func mcp(ctx context.Context, in *call) error {
	token, _ := in.env("COX_BINDING_TOKEN")
	principal := models.Principal{ActorID: in.text("actor"), Role: models.Role(in.text("role"))}
	if token == "" && principal.ActorID == "" {
		if principal.Role != models.RoleHuman {
			return models.Invalid("actor", "an unbound server for role %s needs the actor it serves", principal.Role).
				Hint("cox mcp --role %s --actor ID", principal.Role)
		}
		principal = in.by()
	}
	l, err := in.openForMCP(ctx, token)
	if err != nil {
		return err
	}
	if token == "" {
		if err := inRole(ctx, l, principal); err != nil {
			return err
		}
	}
	out := &frameOut{WriteCloser: writeCloser(in.io.Out)}
	err = mcpserver.Serve(ctx, mcpserver.Options{
		Ledger: l, Token: token, Principal: principal, Head: head, Place: in.place, Version: Version, Logger: in.log(),
		In: readCloser(in.io.In), Out: out,
	})
	in.wrote = out.closed.Load()
	return err
}

// inRole refuses to serve a known actor in another role than its own.
func inRole(ctx context.Context, l *ledger.Ledger, by models.Principal) error {
	known, err := l.Actor(ctx, by.ActorID)
	if models.IsCode(err, models.CodeNotFound) {
		return nil // the person who starts the server names a new one
	}
	if err == nil && known.Role != by.Role {
		err = models.Forbidden("%s is registered as %s, not %s", by.ActorID, known.Role, by.Role).
			With("actor_id", by.ActorID).With("role", string(known.Role)).Hint("cox mcp --role %s --actor %s", known.Role, by.ActorID)
	}
	return err
}

// frameOut tells whether stdout was given to frames. If so, no document of this
// invocation can follow them.
type frameOut struct {
	io.WriteCloser
	closed atomic.Bool // the server closes what it served over, and no other
}

// Close implements io.Closer.
func (o *frameOut) Close() error {
	o.closed.Store(true)
	return o.WriteCloser.Close()
}

// openForMCP opens the ledger; a token can only be of one that exists.
func (in *call) openForMCP(ctx context.Context, token string) (*ledger.Ledger, error) {
	if token != "" {
		return in.ledger(ctx)
	}
	return in.newLedger(ctx)
}

// head reads the commit that a workspace's HEAD names.
func head(ctx context.Context, w models.Workspace) (string, error) {
	repo, err := gitscope.Open(w.RepoRoot, w.GitCommonDir)
	if err != nil {
		return "", err
	}
	commit, _, err := repo.Head(ctx)
	return commit, err
}

// place finds the repository that contains a path, as workspace add does.
func (in *call) place(ctx context.Context, path string) (ledger.NewWorkspace, error) {
	repo, branch, err := in.locate(ctx, path)
	if err != nil {
		return ledger.NewWorkspace{}, err
	}
	node, err := in.node()
	return ledger.NewWorkspace{RepoRoot: repo.Root, GitCommonDir: repo.CommonDir, DefaultBranch: branch, NodeID: node}, err
}

func readCloser(r io.Reader) io.ReadCloser {
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

func writeCloser(w io.Writer) io.WriteCloser {
	if wc, ok := w.(io.WriteCloser); ok {
		return wc
	}
	return nopWriteCloser{w}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
