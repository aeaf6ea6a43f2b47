package activities

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coxswain/activities/codex"
	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/prompts"
)

// Hosts gives the node's adapter hosts, one per kind, opened at first use.
type Hosts interface {
	// Host returns the open host of an adapter kind, opening it when needed. The
	// error is an ADAPTER_UNAVAILABLE with the reason.
	Host(ctx context.Context, kind string) (codex.Adapter, error)
}

// NodeConfig is what every thread of a node is configured with.
type NodeConfig struct {
	NodeID   string
	StateDir string   // agents may not read it
	Deny     []string // further paths that agents may not read
	Cox      string   // absolute path of the cox executable, for `cox mcp`
	TempRoot string   // parent of the runs' temporary folders; outside the state directory
	// AsksPeople tells whether threads of workers are started with leave to ask; nil
	// never.
	AsksPeople func(context.Context) bool
}

// ThreadSpec builds the whole configuration of a binding's thread. Codex
// remembers none of it.
func (c NodeConfig) ThreadSpec(ctx context.Context, s ledger.Spec, access ledger.Access) (codex.ThreadSpec, error) {
	tmp := c.tempDir(s.Binding.ID)
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return codex.ThreadSpec{}, models.Errorf(models.CodeAdapterUnavailable, "the run's temporary folder %s cannot be made", tmp).Because(err)
	}
	text, err := developerInstructions(s)
	if err != nil {
		return codex.ThreadSpec{}, err
	}
	env := map[string]string{"COX_BINDING_TOKEN": s.Token, "COX_STATE_DIR": c.StateDir}
	maps.Copy(env, access.Env)
	return codex.ThreadSpec{
		CWD: s.Folder(), Model: s.Team.Loop.Model, DeveloperInstructions: text,
		Writable:  s.Binding.Kind == models.BindingWorker,
		AskPerson: s.Binding.Kind == models.BindingWorker && c.AsksPeople != nil && c.AsksPeople(ctx),
		DenyPaths: slices.Concat([]string{c.StateDir}, access.Private, c.Deny, c.others(s)), TempDir: tmp,
		ProjectConfig: trusted(s),
		MCP: codex.MCPServer{
			Name: prompts.ServerName, Command: c.Cox, Args: []string{"mcp"},
			Env: env,
		},
	}, nil
}

// trusted tells whether the workspace's owner lets Codex read the project's own
// configuration.
func trusted(s ledger.Spec) bool {
	return s.Workspace.Settings.ProjectConfig == models.ProjectConfigTrusted
}

// others is the folder of the workspace's worktrees, of which a worker sees its own
// alone. An integrator reviews them all. They do not lie below the state directory,
// since Codex lets nobody read below a denied folder what he may not write.
func (c NodeConfig) others(s ledger.Spec) []string {
	dir := filepath.Join(c.worktreeRoot(s.Workspace), models.SafeName(s.Workspace.ID))
	if info, err := os.Stat(dir); s.Binding.Kind == models.BindingIntegrator || err != nil || !info.IsDir() {
		return nil
	}
	return []string{dir}
}

// worktreeRoot is the folder above all worktrees: beside the state directory, unless
// the workspace names another one.
func (c NodeConfig) worktreeRoot(w models.Workspace) string {
	if w.Settings.WorktreeRoot != "" {
		return w.Settings.WorktreeRoot
	}
	return filepath.Clean(c.StateDir) + "-worktrees"
}

// tempDir is the one writable temporary folder of a binding's thread.
func (c NodeConfig) tempDir(bindingID string) string { return filepath.Join(c.TempRoot, bindingID) }

// projectDocLimit bounds what is read of a project's AGENTS.md; prompts cut it
// to what Codex itself would pass on.
const projectDocLimit = 2 * prompts.MaxProjectDoc

// developerInstructions are the standing instructions, with the project's AGENTS.md
// unless Codex reads it itself, as it does in projects that it trusts.
func developerInstructions(s ledger.Spec) (string, error) {
	in := prompts.DeveloperInput{Role: models.RoleAgent, ActorID: s.Binding.ActorID, WorkspaceID: s.Workspace.ID, TeamID: s.Team.ID}
	if s.Binding.Kind == models.BindingIntegrator {
		in.Role = models.RoleIntegrator
	}
	for _, name := range []string{"AGENTS.override.md", "AGENTS.md"} {
		if trusted(s) {
			break
		}
		text, ok := readBounded(filepath.Join(s.Folder(), name), projectDocLimit)
		if ok {
			in.ProjectDocPath, in.ProjectDoc = name, text
			break
		}
	}
	return prompts.DeveloperInstructions(in)
}

// readBounded reads the start of a regular file; a missing, unreadable or linked
// one counts as absent, as Codex would do.
func readBounded(path string, limit int) (string, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close() //nolint:errcheck // opened for reading
	buf := make([]byte, limit)
	n := 0
	for n < limit {
		k, err := f.Read(buf[n:])
		n += k
		if err != nil {
			break
		}
	}
	return strings.ToValidUTF8(string(buf[:n]), ""), n > 0
}

// Head reads the checked-out commit and branch of a workspace by the repository
// that the ledger names.
func Head(ctx context.Context, w models.Workspace) (commit, branch string, err error) {
	if w.GitCommonDir == "" {
		return "", "", nil
	}
	repo, err := gitscope.Open(w.RepoRoot, w.GitCommonDir)
	if err != nil {
		return "", "", err
	}
	return repo.Head(ctx)
}
