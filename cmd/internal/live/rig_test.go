package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/activities/codex/codextest"
	"coxswain/cmd/internal/errorwords"
	"coxswain/models/ledger"
)

// patience is how long anything may take before a test gives up; a loaded machine
// runs several stacks at once.
const patience = 4 * time.Minute

// Names of the rig's rows.
const (
	workspaceID = "site"
	teamID      = "crew"
)

// agentsText stands in the repository's AGENTS.md.
const agentsText = "House rule 4711: keep every change small."

// rig is one hermetic world: a home, a Codex home whose provider is the scripted
// model, a repository, and the state directory of one ledger.
type rig struct {
	t      *testing.T
	bin    binaries
	model  *codextest.Server
	dir    string
	home   string
	codex  string // CODEX_HOME
	state  string
	repo   string
	env    []string
	config []byte // the user's config.toml before anything ran
}

// reply keeps the scripts short.
type reply = codextest.Reply

func newRig(t *testing.T, model codextest.Model) *rig {
	t.Helper()
	return rigFor(t, func(*rig) codextest.Model { return model })
}

// rigFor makes a rig whose model names the rig's own folders, which are all that
// it may use of it.
func rigFor(t *testing.T, model func(*rig) codextest.Model) *rig {
	t.Helper()
	bin := need(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	r := &rig{
		t: t, bin: bin, dir: dir, home: filepath.Join(dir, "home"), state: filepath.Join(dir, "state"),
		repo: filepath.Join(dir, "repository"), codex: filepath.Join(dir, "codex-home"),
	}
	r.model = codextest.NewServer(t, model(r))
	if made := codextest.WriteHome(t, dir, r.model.BaseURL()); made != r.codex {
		t.Fatalf("the Codex home is %s, not %s", made, r.codex)
	}
	write(t, filepath.Join(r.codex, "auth.json"), "{\"marker\":\""+authMarker+"\"}\n")
	r.config = read(t, filepath.Join(r.codex, "config.toml"))
	for _, d := range []string{r.home, filepath.Join(dir, "tmp"), r.repo} {
		check(t, os.MkdirAll(d, 0o700))
	}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "SHELL=/bin/bash", "TZ=UTC",
		"COX_STATE_DIR=" + r.state, "COX_TEMPORAL_BIN=" + bin.temporal, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "RUST_LOG=error",
	}
	r.makeRepository()
	return r
}

// makeRepository makes a repository with one commit and a project document.
func (r *rig) makeRepository() {
	r.t.Helper()
	write(r.t, filepath.Join(r.repo, "AGENTS.md"), agentsText+"\n")
	write(r.t, filepath.Join(r.repo, "docs", "plan.md"), "# Purpose\n")
	write(r.t, filepath.Join(r.repo, "src", "keep.txt"), "kept\n")
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("add", "--all")
	r.git("-c", "user.name=Tester", "-c", "user.email=tester@example.com", "commit", "--quiet", "--message=Begin")
}

func (r *rig) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.repo, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// cox runs a command to its end in the repository and returns its document and
// exit code.
func (r *rig) cox(args ...string) (map[string]any, int) {
	r.t.Helper()
	cmd := exec.Command(r.bin.cox, append([]string{"--json"}, args...)...)
	cmd.Dir, cmd.Env = r.repo, r.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("cox %v: %v", args, err)
	}
	if err := errorwords.Check(out, cmd.ProcessState.ExitCode()); err != nil {
		r.t.Errorf("cox %v: %v", args, err)
	}
	doc := map[string]any{}
	if err := json.Unmarshal(out, &doc); err != nil {
		r.t.Fatalf("cox %v: no document (%v)\nstdout: %s\nstderr: %s", args, err, out, stderr.String())
	}
	return doc, cmd.ProcessState.ExitCode()
}

// must runs a command that has to succeed.
func (r *rig) must(args ...string) map[string]any {
	r.t.Helper()
	doc, code := r.cox(args...)
	if code != 0 || doc["ok"] != true {
		r.t.Fatalf("cox %v: exit %d, %v", args, code, doc)
	}
	return doc
}

// team registers the repository and one team.
func (r *rig) team() {
	r.t.Helper()
	r.must("workspace", "add", "--id", workspaceID, r.repo)
	r.must("team", "create", "--workspace", workspaceID, teamID)
}

// assign creates an assignment with a contract that can be recognised in prompts.
func (r *rig) assign(id, title, path string, more ...string) {
	r.t.Helper()
	args := []string{
		"assignment", "create", "--id", id, "--team", teamID, "--title", title, "--path", path,
		"--criterion", criterion(id), "--context-ref", "docs/plan.md#Purpose",
	}
	r.must(append(args, more...)...)
}

func criterion(assignment string) string {
	return "Criterion of " + assignment + ": its file is there."
}

// ledger opens the stack's ledger beside it, to wait for what happens. The stack
// must have made it.
func (r *rig) ledger() *ledger.Ledger {
	r.t.Helper()
	l, err := ledger.Open(r.t.Context(), ledger.Options{Path: filepath.Join(r.state, "ledger.db"), MustExist: true})
	check(r.t, err)
	r.t.Cleanup(func() { check(r.t, l.Close()) })
	return l
}

// until waits for a condition; what names it when the time is over.
func (r *rig) until(what string, fn func(ctx context.Context) (bool, error)) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := fn(ctx)
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.t.Fatalf("not within %s: %s (last error: %v)\n%s", patience, what, err, r.logs())
		}
	}
}

// logs is the end of what the children wrote, for a failure.
func (r *rig) logs() string {
	var out strings.Builder
	found, err := filepath.Glob(filepath.Join(r.state, "*.log"))
	check(r.t, err)
	for _, path := range found {
		text := read(r.t, path)
		out.WriteString("== " + path + "\n" + string(text[max(0, len(text)-6000):]))
	}
	return out.String()
}

// intact fails when Codex's configuration was written or a home of its own was
// made elsewhere.
func (r *rig) intact() {
	r.t.Helper()
	if now := read(r.t, filepath.Join(r.codex, "config.toml")); !bytes.Equal(now, r.config) {
		r.t.Errorf("config.toml was changed:\n%s", now)
	}
	if _, err := os.Stat(filepath.Join(r.home, ".codex")); !errors.Is(err, os.ErrNotExist) {
		r.t.Errorf("%s/.codex was touched: %v", r.home, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	return text
}

func write(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(t, os.WriteFile(path, []byte(text), 0o600))
}
