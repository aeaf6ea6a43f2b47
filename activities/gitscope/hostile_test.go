package gitscope

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trap makes an executable script that leaves a marker file, and a check that
// the marker is not there.
func trap(t *testing.T) (script string, unharmed func()) {
	t.Helper()
	dir := tempDir(t)
	script, marker := filepath.Join(dir, "trap"), filepath.Join(dir, "marker")
	write(t, script, "#!/bin/sh\ntouch "+marker+"\ncat\n", 0o755)
	return script, func() {
		t.Helper()
		if _, err := os.Stat(marker); err == nil {
			t.Error("git ran the agent's program")
		}
	}
}

// lookAtAll calls everything that this package offers on a repository.
func lookAtAll(t *testing.T, repo Repo, base string) string {
	t.Helper()
	discover(t, repo.Root)
	if _, _, err := repo.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.DefaultBranch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.DiffStat(t.Context(), base, nil); err != nil {
		t.Fatal(err)
	}
	return strings.Join(dirty(t, repo), "\n") + "\n" + patch(t, repo, base)
}

func set(t *testing.T, root string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		git(t, root, "config", pairs[i], pairs[i+1])
	}
}

// Proves that the trap works at all: the same repository, unprotected, runs it.
func TestTheTrapWorks(t *testing.T) {
	repo, _ := newRepo(t)
	script, _ := trap(t)
	set(t, repo.Root, "core.fsmonitor", script)
	git(t, repo.Root, "status")
	if _, err := os.Stat(filepath.Join(filepath.Dir(script), "marker")); err != nil {
		t.Fatal("an unprotected git did not run the program")
	}
}

func TestNestedRepositoryIsNotEntered(t *testing.T) {
	repo, base := newRepo(t)
	script, unharmed := trap(t)
	nested := filepath.Join(repo.Root, "src", "nested")
	if err := os.MkdirAll(nested, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, nested, "init", "-q", "-b", "main")
	write(t, filepath.Join(nested, "inside.txt"), "secret\n", 0o644)
	commitAll(t, nested)
	set(t, nested, "core.fsmonitor", script, "core.pager", script)
	seen := lookAtAll(t, repo, base)
	unharmed()
	if !strings.Contains(seen, "src/nested/\n") || strings.Contains(seen, "secret") {
		t.Errorf("got %s", seen)
	}
	if got := dirty(t, repo, "src/nested/inside.txt"); len(got) != 1 {
		t.Errorf("a scope inside the nested repository sees %v", got)
	}
}

func TestGitlinkIsNotEntered(t *testing.T) {
	repo, _ := newRepo(t)
	script, unharmed := trap(t)
	nested := filepath.Join(repo.Root, "module")
	git(t, repo.Root, "init", "-q", "-b", "main", "module")
	write(t, filepath.Join(nested, "inside.txt"), "one\n", 0o644)
	commitAll(t, nested)
	base := commitAll(t, repo.Root)
	set(t, nested, "core.fsmonitor", script, "filter.evil.clean", script)
	write(t, filepath.Join(nested, ".gitattributes"), "* filter=evil\n", 0o644)
	write(t, filepath.Join(nested, "inside.txt"), "two\n", 0o644)
	lookAtAll(t, repo, base)
	unharmed()
}

func TestConfiguredProgramsAreNotRun(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, root, script string){
		"file-system monitor": func(t *testing.T, root, script string) { set(t, root, "core.fsmonitor", script) },
		"pager and editor": func(t *testing.T, root, script string) {
			set(t, root, "core.pager", script, "pager.diff", script, "core.editor", script)
		},
		"external diff": func(t *testing.T, root, script string) { set(t, root, "diff.external", script) },
		"diff driver": func(t *testing.T, root, script string) {
			set(t, root, "diff.evil.command", script, "diff.evil.textconv", script)
			write(t, filepath.Join(root, ".gitattributes"), "* diff=evil\n", 0o644)
		},
		"filter": func(t *testing.T, root, script string) {
			set(t, root, "filter.evil.clean", script, "filter.evil.smudge", script, "filter.evil.required", "true")
			write(t, filepath.Join(root, ".gitattributes"), "* filter=evil\n", 0o644)
		},
		"filter process": func(t *testing.T, root, script string) {
			set(t, root, "filter.e=v.il.process", script, "filter.e=v.il.required", "true")
			write(t, filepath.Join(root, ".git/info/attributes"), "* filter=e=v.il\n", 0o644)
		},
		"credential helper and proxies": func(t *testing.T, root, script string) {
			set(t, root, "credential.helper", script, "core.sshCommand", script, "core.gitProxy", script, "protocol.ext.allow", "always")
		},
		"hooks": func(t *testing.T, root, script string) {
			for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction", "post-checkout"} {
				write(t, filepath.Join(root, ".git/hooks", hook), "#!/bin/sh\n"+script+"\n", 0o755)
			}
			set(t, root, "core.hooksPath", filepath.Join(root, ".git/hooks"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo, base := newRepo(t)
			script, unharmed := trap(t)
			prepare(t, repo.Root, script)
			write(t, filepath.Join(repo.Root, "src/a.txt"), "one\nTWO\n", 0o644)
			write(t, filepath.Join(repo.Root, "src/new.txt"), "new\n", 0o644)
			seen := lookAtAll(t, repo, base)
			unharmed()
			if !strings.Contains(seen, "+TWO\n") || !strings.Contains(seen, "+new\n") {
				t.Errorf("the change is not seen:\n%s", seen)
			}
		})
	}
}

// A missing object of a partial clone is not fetched through a helper.
func TestNothingIsFetched(t *testing.T) {
	repo, base := newRepo(t)
	script, unharmed := trap(t)
	blob := git(t, repo.Root, "rev-parse", "HEAD:src/a.txt")
	if err := os.Remove(filepath.Join(repo.GitDir, "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	set(t, repo.Root, "core.repositoryFormatVersion", "1", "extensions.partialClone", "origin", "remote.origin.promisor", "true",
		"remote.origin.url", "ext::"+script, "protocol.ext.allow", "always")
	write(t, filepath.Join(repo.Root, "src/a.txt"), "changed\n", 0o644)
	if p, err := repo.Diff(t.Context(), base, nil, 1<<20); err == nil {
		t.Errorf("a missing object was found:\n%s", p.Text)
	}
	unharmed()
}

func TestEnvironmentIsNotInherited(t *testing.T) {
	repo, _ := newRepo(t)
	other, _ := newRepo(t)
	script, unharmed := trap(t)
	home := tempDir(t)
	write(t, filepath.Join(home, ".gitconfig"), "[core]\n\tfsmonitor = "+script+"\n\texcludesFile = "+home+"/ignore\n[alias]\n\tx = y\n", 0o644)
	write(t, filepath.Join(home, "ignore"), "*\n", 0o644)
	write(t, filepath.Join(home, ".config/git/ignore"), "*\n", 0o644)
	for key, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"),
		"GIT_DIR": other.GitDir, "GIT_WORK_TREE": other.Root, "GIT_INDEX_FILE": filepath.Join(home, "index"),
		"GIT_EXTERNAL_DIFF": script, "GIT_PAGER": script, "GIT_ASKPASS": script, "GIT_SSH_COMMAND": script,
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": script, "GITHUB_TOKEN": "t0ken",
	} {
		t.Setenv(key, value)
	}
	write(t, filepath.Join(repo.Root, "src/new.txt"), "new\n", 0o644)
	if got := dirty(t, repo); len(got) != 1 || got[0] != "src/new.txt" {
		t.Errorf("the caller's environment changed the answer: %v", got)
	}
	unharmed()
	if found := discover(t, repo.Root); found != repo {
		t.Errorf("the caller's environment chose the repository: %+v", found)
	}
	printed, err := repo.command("-c", "alias.env=!env", "env").output(t.Context())
	if err != nil || strings.Contains(printed, "t0ken") || strings.Contains(printed, home) {
		t.Errorf("git sees %s, %v", printed, err)
	}
	config, err := repo.command("config", "--list", "--show-scope").output(t.Context())
	if err != nil || strings.Contains(config, "global") || strings.Contains(config, "system") {
		t.Errorf("git reads %s, %v", config, err)
	}
}
