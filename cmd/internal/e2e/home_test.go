package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models/ledger"
)

// home is a user's fresh home, with everything that cox reads or writes below one
// folder.
type home struct {
	t   *testing.T
	dir string
	cwd string // where commands run
	env map[string]string
	led *ledger.Ledger
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{t: t, dir: real(t, t.TempDir()), env: map[string]string{}}
	h.cwd = filepath.Join(h.dir, "home")
	for name, folder := range map[string]string{
		"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state",
		"XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp",
	} {
		h.env[name] = filepath.Join(h.dir, folder)
		if err := os.Mkdir(h.env[name], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(h.env, map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Tester", "GIT_AUTHOR_EMAIL": "tester@example.com", "GIT_COMMITTER_NAME": "Tester", "GIT_COMMITTER_EMAIL": "tester@example.com",
	})
	if built.temporal != "" {
		h.env["COX_TEMPORAL_BIN"] = built.temporal
	}
	t.Cleanup(h.logs)
	t.Cleanup(h.noProcessLeft)
	return h
}

func real(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// state is the default state directory of this home.
func (h *home) state() string { return filepath.Join(h.env["XDG_STATE_HOME"], "cox") }

func (h *home) environ() []string {
	out := make([]string, 0, len(h.env))
	for name, v := range h.env {
		out = append(out, name+"="+v)
	}
	slices.Sort(out)
	return out
}

func (h *home) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = h.cwd, h.environ()
	return cmd
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// failureDoc is the document of a failed command.
type failureDoc struct {
	OK    bool
	Error struct {
		Code, Message, Next string
		Details             map[string]any
	}
}

// runLimit is how long a command that ends by itself may take.
const runLimit = 2 * time.Minute

// cox runs a command to its end.
func (h *home) cox(args ...string) result {
	h.t.Helper()
	return h.wait(h.start(args...), args)
}

func (h *home) wait(p *process, args []string) result {
	h.t.Helper()
	code := p.wait(runLimit)
	r := result{code: code, stdout: p.out.String(), stderr: p.err.String(), took: time.Since(p.began)}
	if code < 0 {
		h.t.Fatalf("cox %s did not end in %s\n%s", strings.Join(args, " "), runLimit, r.stderr)
	}
	return r
}

// ok runs a command that has to succeed and decodes its one document.
func (h *home) ok(doc any, args ...string) {
	h.t.Helper()
	r := h.cox(append([]string{"--json"}, args...)...)
	if r.code != 0 {
		h.t.Fatalf("cox %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	oneDocument(h.t, r.stdout, doc)
}

// fails runs a command that has to fail with an exit code and an error code.
func (h *home) fails(code int, kind string, args ...string) (failureDoc, result) {
	h.t.Helper()
	r := h.cox(append([]string{"--json"}, args...)...)
	var doc failureDoc
	if r.code != code {
		h.t.Fatalf("cox %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	oneDocument(h.t, r.stdout, &doc)
	if doc.OK || doc.Error.Code != kind {
		h.t.Fatalf("cox %s: code %s, want %s: %s", strings.Join(args, " "), doc.Error.Code, kind, r.stdout)
	}
	if doc.Error.Next == "" {
		h.t.Errorf("cox %s: the error names no next step: %s", strings.Join(args, " "), r.stdout)
	}
	return doc, r
}

// oneDocument decodes a text that is one JSON document and nothing else.
func oneDocument(t *testing.T, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("more than one document on stdout: %q", text)
	}
}

// git runs git in a folder.
func (h *home) git(dir string, args ...string) string {
	h.t.Helper()
	cmd := h.command("git", args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("git %v: %v: %s", args, err, errs.String())
	}
	return out.String()
}

// write puts a file below the home's folder, with a mode.
func (h *home) write(name, text string, mode os.FileMode) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// Names of the rows that site makes.
const (
	theSite = "site"
	theTeam = "web"
)

// site makes a repository with one commit, and registers it with a team. Later
// commands run in it.
func (h *home) site(team ...string) {
	h.t.Helper()
	h.cwd = h.repository()
	h.ok(&struct{}{}, "workspace", "add", "--id", theSite, h.cwd)
	h.ok(&struct{}{}, append(append([]string{"team", "create", "--workspace", theSite}, team...), theTeam)...)
}

// repository makes a repository with one commit.
func (h *home) repository() string {
	h.t.Helper()
	repo := filepath.Dir(h.write("repo/README.md", "# Site\n", 0o644))
	h.git(repo, "init", "--quiet", "--initial-branch=main")
	h.git(repo, "add", "--all")
	h.git(repo, "commit", "--quiet", "--message=Start")
	return repo
}

// assign creates an assignment with a path of its own and a behaviour of the fake
// agents, "" for none.
func (h *home) assign(id, behaviour string, more ...string) {
	h.t.Helper()
	args := []string{"assignment", "create", "--id", id, "--title", "Do " + id, "--criterion", "it is done"}
	if !slices.Contains(more, "--team") {
		args = append(args, "--team", theTeam)
	}
	if !slices.Contains(more, "--path") {
		args = append(args, "--path", "work/"+id+"/**")
	}
	if behaviour != "" {
		args = append(args, "--metadata", `{"fake":{"behaviour":"`+behaviour+`"}}`)
	}
	h.ok(&struct{}{}, append(args, more...)...)
}

// ledger opens the ledger of a state directory for reading, once.
func (h *home) ledger(stateDir string) *ledger.Ledger {
	h.t.Helper()
	if h.led != nil {
		return h.led
	}
	path := filepath.Join(stateDir, "ledger.db")
	var l *ledger.Ledger
	within(h.t, time.Minute, "the ledger can be opened", func() bool {
		var err error
		l, err = ledger.Open(context.Background(), ledger.Options{Path: path, MustExist: true})
		return err == nil
	})
	h.led = l
	h.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			h.t.Error(err)
		}
	})
	return l
}

// within waits until a condition holds.
func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	if !until(limit, holds) {
		t.Fatalf("not within %s: %s", limit, what)
	}
}

// until waits for a condition and tells whether it came.
func until(limit time.Duration, holds func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
