package gitscope

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
)

// git runs the tests' own git, as a person in the repository would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(environment(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "GIT_ALLOW_PROTOCOL=") })
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newRepo makes a repository with src/a.txt, src/b.txt and docs/c.md in one
// commit on main.
func newRepo(t *testing.T) (Repo, string) {
	t.Helper()
	root := tempDir(t)
	git(t, root, "init", "-q", "-b", "main")
	write(t, filepath.Join(root, "src/a.txt"), "one\ntwo\n", 0o644)
	write(t, filepath.Join(root, "src/b.txt"), "b\n", 0o644)
	write(t, filepath.Join(root, "docs/c.md"), "c\n", 0o644)
	return discover(t, root), commitAll(t, root)
}

func commitAll(t *testing.T, root string) string {
	t.Helper()
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "--allow-empty", "-m", "work")
	return git(t, root, "rev-parse", "HEAD")
}

func discover(t *testing.T, path string) Repo {
	t.Helper()
	repo, err := Discover(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func dirty(t *testing.T, repo Repo, patterns ...string) []string {
	t.Helper()
	files, more, err := repo.Dirty(t.Context(), patterns)
	if err != nil || more != 0 {
		t.Fatalf("%d more, %v", more, err)
	}
	return files
}

func patch(t *testing.T, repo Repo, base string, patterns ...string) string {
	t.Helper()
	p, err := repo.Diff(t.Context(), base, patterns, 1<<20)
	if err != nil || p.Truncated {
		t.Fatalf("truncated %v, %v", p.Truncated, err)
	}
	return p.Text
}

func TestDiscover(t *testing.T) {
	repo, _ := newRepo(t)
	root := repo.Root
	link := filepath.Join(tempDir(t), "link")
	if err := os.Symlink(filepath.Join(root, "src"), link); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(tempDir(t), "tree")
	git(t, root, "worktree", "add", "-q", "-b", "side", tree)
	plain := filepath.Join(tempDir(t), "plain")
	write(t, filepath.Join(plain, ".git", ".keep"), "", 0o644) // what a sandbox leaves behind
	gitDir := filepath.Join(root, ".git")
	for name, c := range map[string]struct {
		path string
		want Repo
	}{
		"root":            {root, Repo{root, gitDir, gitDir}},
		"folder below":    {filepath.Join(root, "src"), Repo{root, gitDir, gitDir}},
		"symbolic link":   {link, Repo{root, gitDir, gitDir}},
		"linked worktree": {tree, Repo{tree, filepath.Join(gitDir, "worktrees", "tree"), gitDir}},
		"no repository":   {plain, Repo{Root: plain}},
	} {
		got, err := Discover(t.Context(), c.path)
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		opened, err := Open(c.want.Root, c.want.CommonDir)
		if err != nil || opened != c.want {
			t.Errorf("%s: opened from the ledger as %+v, %v", name, opened, err)
		}
	}
}

func TestDiscoverRefuses(t *testing.T) {
	repo, _ := newRepo(t)
	bare := tempDir(t)
	git(t, bare, "init", "-q", "--bare")
	elsewhere, _ := newRepo(t)
	git(t, elsewhere.Root, "config", "core.worktree", tempDir(t))
	for name, path := range map[string]string{
		"nothing there":          filepath.Join(repo.Root, "missing"),
		"a file":                 filepath.Join(repo.Root, "src/a.txt"),
		"bare":                   bare,
		"the Git directory":      repo.GitDir,
		"working tree elsewhere": elsewhere.Root,
	} {
		if got, err := Discover(t.Context(), path); !models.IsCode(err, models.CodeInvalidArgument) || got != (Repo{}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestOpenRefusesAnotherTree(t *testing.T) {
	repo, _ := newRepo(t)
	other, _ := newRepo(t)
	if got, err := Open(other.Root, repo.CommonDir); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("got %+v, %v", got, err)
	}
	// A .git file that an agent wrote into a folder does not choose the repository.
	fake := tempDir(t)
	write(t, filepath.Join(fake, ".git"), "gitdir: "+other.GitDir+"\n", 0o644)
	if got, err := Open(fake, repo.CommonDir); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestHead(t *testing.T) {
	repo, commit := newRepo(t)
	unborn := tempDir(t)
	git(t, unborn, "init", "-q", "-b", "trunk")
	detached, detachedCommit := newRepo(t)
	git(t, detached.Root, "checkout", "-q", "--detach")
	for name, c := range map[string]struct {
		repo           Repo
		commit, branch string
	}{
		"branch":   {repo, commit, "main"},
		"unborn":   {discover(t, unborn), "", "trunk"},
		"detached": {detached, detachedCommit, ""},
		"no git":   {Repo{Root: tempDir(t)}, "", ""},
	} {
		gotCommit, gotBranch, err := c.repo.Head(t.Context())
		if err != nil || gotCommit != c.commit || gotBranch != c.branch {
			t.Errorf("%s: got %q, %q, %v", name, gotCommit, gotBranch, err)
		}
	}
}

func TestDefaultBranch(t *testing.T) {
	repo, _ := newRepo(t)
	git(t, repo.Root, "checkout", "-q", "-b", "feature/x")
	clone := tempDir(t)
	git(t, repo.Root, "branch", "-q", "trunk")
	git(t, repo.Root, "checkout", "-q", "trunk")
	git(t, clone, "clone", "-q", repo.Root, "copy")
	odd := tempDir(t)
	git(t, odd, "init", "-q", "-b", "odd")
	for name, c := range map[string]struct {
		repo Repo
		want string
	}{
		"main exists":     {repo, "main"},
		"the remote says": {discover(t, filepath.Join(clone, "copy")), "trunk"},
		"only one":        {discover(t, odd), "odd"},
		"no git":          {Repo{Root: odd}, ""},
	} {
		if got, err := c.repo.DefaultBranch(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestDirty(t *testing.T) {
	repo, _ := newRepo(t)
	if got := dirty(t, repo); got != nil {
		t.Fatalf("a clean tree has %v", got)
	}
	write(t, filepath.Join(repo.Root, ".gitignore"), "ignored\n", 0o644)
	write(t, filepath.Join(repo.Root, "ignored"), "x", 0o644)
	write(t, filepath.Join(repo.Root, "src/a.txt"), "changed\n", 0o644)
	write(t, filepath.Join(repo.Root, "src/deep/new\nname é.txt"), "x", 0o644)
	git(t, repo.Root, "mv", "docs/c.md", "docs/d.md")
	git(t, repo.Root, "rm", "-q", "src/b.txt")
	for _, c := range []struct {
		patterns []string
		want     []string
	}{
		{nil, []string{".gitignore", "docs/c.md", "docs/d.md", "src/a.txt", "src/b.txt", "src/deep/new\nname é.txt"}},
		{[]string{"docs"}, []string{"docs/c.md", "docs/d.md"}},
		{[]string{"./docs/"}, []string{"docs/c.md", "docs/d.md"}},
		{[]string{"src/*.txt"}, []string{"src/a.txt", "src/b.txt"}},
		{[]string{"src/{a,b}.txt"}, []string{"src/a.txt", "src/b.txt"}},
		{[]string{"**/*.md", "src/deep"}, []string{"docs/c.md", "docs/d.md", "src/deep/new\nname é.txt"}},
		{[]string{"doc"}, nil},
		{[]string{"src/[ab].txt", `src/\*`}, []string{"src/a.txt", "src/b.txt"}},
		{[]string{"docs", ""}, []string{".gitignore", "docs/c.md", "docs/d.md", "src/a.txt", "src/b.txt", "src/deep/new\nname é.txt"}},
	} {
		got := dirty(t, repo, c.patterns...)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: got %q", c.patterns, got)
		}
	}
}

func TestDirtyIsBounded(t *testing.T) {
	repo, _ := newRepo(t)
	for i := range MaxNames + 5 {
		write(t, filepath.Join(repo.Root, "many", strings.Repeat("x", i+1)), "", 0o644)
	}
	files, more, err := repo.Dirty(t.Context(), nil)
	if err != nil || len(files) != MaxNames || more != 5 {
		t.Errorf("%d files and %d more, %v", len(files), more, err)
	}
	stat, err := repo.DiffStat(t.Context(), "", []string{"many"})
	if err != nil || len(stat.Files) != MaxNames || stat.More != 5 {
		t.Errorf("%d files and %d more, %v", len(stat.Files), stat.More, err)
	}
}

func TestPatternsAreChecked(t *testing.T) {
	repo, _ := newRepo(t)
	for _, pattern := range []string{"/etc", "..", "../x", "src/../../x", "src/[", "{a"} {
		if _, _, err := repo.Dirty(t.Context(), []string{"src", pattern}); !models.IsCode(err, models.CodeInvalidArgument) || !strings.HasPrefix(err.Error(), "allowed_paths[1]") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestWithoutGit(t *testing.T) {
	repo := Repo{Root: tempDir(t)}
	_, _, err := repo.Dirty(t.Context(), nil)
	_, statErr := repo.DiffStat(t.Context(), "", nil)
	_, diffErr := repo.Diff(t.Context(), "", nil, 10)
	for _, err := range []error{err, statErr, diffErr} {
		if !models.IsCode(err, models.CodeInvalidArgument) {
			t.Errorf("got %v", err)
		}
	}
}

func TestGivingUp(t *testing.T) {
	repo, _ := newRepo(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := repo.Dirty(ctx, nil); !models.IsCode(err, models.CodeInterrupted) {
		t.Errorf("got %v", err)
	}
}

func TestStreamEndsAtTheDeadline(t *testing.T) {
	repo, _ := newRepo(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	in, out, err := os.Pipe() // never written: git waits for its input
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	waiting := repo.command("cat-file", "--batch")
	waiting.input = in
	if _, err := waiting.output(ctx); !models.IsCode(err, models.CodeInterrupted) {
		t.Errorf("got %v", err)
	}
}

func TestGitIsMissing(t *testing.T) {
	repo, _ := newRepo(t)
	t.Setenv("PATH", t.TempDir())
	if _, _, err := repo.Head(t.Context()); !models.IsCode(err, models.CodeAdapterUnavailable) {
		t.Errorf("got %v", err)
	}
}
