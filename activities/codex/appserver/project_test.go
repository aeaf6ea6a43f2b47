package appserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coxswain/activities/codex"
	"coxswain/activities/codex/codextest"
)

// laidTraps writes what a repository may ship for Codex: a server and hooks, each of
// which leaves a marker when it runs. It returns a function that lists the markers.
func laidTraps(t *testing.T, w *world, repo string) func() []string {
	t.Helper()
	markers := filepath.Join(w.root, "markers")
	for _, dir := range []string{markers, filepath.Join(repo, ".codex"), filepath.Join(repo, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		".codex/config.toml": "[mcp_servers.trap]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"touch " + markers + "/server; cat\"]\nstartup_timeout_sec = 1\n",
		".codex/hooks.json":  `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"touch ` + markers + `/hook"}]}]}}`,
		"AGENTS.md":          "The project says: be brief.\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func() []string {
		entries, err := os.ReadDir(markers)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
}

// A project's own configuration, hooks and servers run only where the owner opted in,
// and neither way writes into the user's Codex home.
func TestProjectConfigIsOffUnlessTrusted(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string]bool{"off": false, "trusted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, codextest.Directives(nil))
			ran := laidTraps(t, w, w.spec.CWD)
			w.spec.ProjectConfig = trusted
			before := userConfig(t, w)
			host := w.open(t)
			if _, turn := w.run(t, host, "@say hello"); turn.Status != codex.TurnCompleted {
				t.Fatalf("turn %+v", turn)
			}
			got := strings.Join(ran(), " ")
			want := map[bool]string{false: "", true: "hook server"}[trusted]
			if got != want {
				t.Errorf("of the project's own programs ran %q, want %q", got, want)
			}
			if after := userConfig(t, w); after != before {
				t.Errorf("the user's configuration was\n%s\nand is\n%s", before, after)
			}
			requests := w.server.Requests()
			if told := strings.Contains(fmt.Sprint(requests[0].Body), "be brief"); told != trusted {
				t.Errorf("Codex itself passed AGENTS.md on: %t, want %t", told, trusted)
			}
		})
	}
}

// The same in a linked worktree below a denied folder, whose main checkout ships it.
func TestProjectConfigOfAWorktreesRepositoryIsOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	ran := laidTraps(t, w, filepath.Join(w.root, "repo"))
	admin := filepath.Join(w.root, "repo/.git/worktrees/one")
	tree := filepath.Join(w.root, "trees/site/one")
	other := filepath.Join(w.root, "trees/site/two")
	for _, dir := range []string{admin, tree, other, filepath.Join(tree, ".codex")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(tree, ".git"):          "gitdir: " + admin + "\n",
		filepath.Join(admin, "gitdir"):       filepath.Join(tree, ".git") + "\n",
		filepath.Join(admin, "commondir"):    "../..\n",
		filepath.Join(other, "theirs"):       "other-work-4711\n",
		filepath.Join(w.root, "state/inner"): "state-secret-4711\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	denied := w.spec.DenyPaths
	w.spec.CWD, w.spec.DenyPaths = tree, append(slices.Clone(denied), filepath.Dir(tree))
	before := userConfig(t, w)
	host := w.open(t)
	_, turn := w.run(t, host, "@run echo mine > made; cat "+other+"/theirs "+w.root+"/state/inner; echo read-done")
	if turn.Status != codex.TurnCompleted {
		t.Fatalf("turn %+v", turn)
	}
	if got := ran(); len(got) != 0 {
		t.Errorf("of the repository's own programs ran %v", got)
	}
	out := w.outputs()
	if !strings.Contains(out, "read-done") || strings.Contains(out, "4711") {
		t.Errorf("the agent saw %s", out)
	}
	if _, err := os.Stat(filepath.Join(tree, "made")); err != nil {
		t.Errorf("the agent could not write its worktree: %v", err)
	}
	if after := userConfig(t, w); after != before {
		t.Errorf("the user's configuration is now\n%s", after)
	}

	w.spec.CWD, w.spec.Writable, w.spec.DenyPaths = filepath.Join(w.root, "repo"), false, denied
	_, turn = w.run(t, host, "@run cat "+tree+"/made "+other+"/theirs; cat "+w.root+"/state/inner; echo x > "+tree+"/integrator; echo read-done")
	if turn.Status != codex.TurnCompleted {
		t.Fatalf("turn %+v", turn)
	}
	out = w.outputs()
	if !strings.Contains(out, "mine") || !strings.Contains(out, "other-work-4711") || strings.Contains(out, "state-secret") {
		t.Errorf("a reviewer saw %s", out)
	}
	if _, err := os.Stat(filepath.Join(tree, "integrator")); err == nil {
		t.Error("a reviewer wrote into the worktree")
	}
}

func userConfig(t *testing.T, w *world) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.options.CodexHome, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
