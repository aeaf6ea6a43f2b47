package gitscope

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coxswain/models"
)

func TestDiffTakesInUntrackedFiles(t *testing.T) {
	repo, base := newRepo(t)
	root := repo.Root
	write(t, filepath.Join(root, "src/a.txt"), "one\nTWO\n", 0o644)
	write(t, filepath.Join(root, "src/new file.sh"), "#!/bin/sh\necho hi\n", 0o755)
	write(t, filepath.Join(root, "src/bin"), "a\x00b", 0o644)
	write(t, filepath.Join(root, "docs/outside.md"), "x\n", 0o644)
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "src/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "src/b.txt")); err != nil {
		t.Fatal(err)
	}
	stat, err := repo.DiffStat(t.Context(), base, []string{"src"})
	if err != nil {
		t.Fatal(err)
	}
	want := []FileStat{
		{"src/a.txt", 1, 1, false}, {"src/b.txt", 0, 1, false}, {"src/bin", 0, 0, true}, {"src/link", 1, 0, false}, {"src/new file.sh", 2, 0, false},
	}
	if !slices.Equal(stat.Files, want) || stat.Added != 4 || stat.Deleted != 2 || stat.More != 0 {
		t.Errorf("got %+v", stat)
	}
	text := patch(t, repo, base, "src")
	for _, part := range []string{"-two\n+TWO\n", "+echo hi\n", "new file mode 100755", "new file mode 120000", "+/etc/passwd\n", "deleted file mode", "Binary files"} {
		if !strings.Contains(text, part) {
			t.Errorf("the patch lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "root:") || strings.Contains(text, "outside") {
		t.Errorf("the patch shows what lies outside:\n%s", text)
	}
}

func TestDiffSeesCommitsSinceTheBase(t *testing.T) {
	repo, base := newRepo(t)
	write(t, filepath.Join(repo.Root, "src/a.txt"), "committed\n", 0o644)
	commitAll(t, repo.Root)
	if text := patch(t, repo, base[:12]); !strings.Contains(text, "+committed\n") {
		t.Errorf("got %s", text)
	}
}

func TestDiffWithoutACommit(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		root := tempDir(t)
		git(t, root, "init", "-q", "-b", "main", "--object-format="+format)
		write(t, filepath.Join(root, "a"), "1\n", 0o644)
		repo := discover(t, root)
		if text := patch(t, repo, ""); !strings.Contains(text, "+++ b/a\n@@ -0,0 +1 @@\n+1\n") {
			t.Errorf("%s: got %s", format, text)
		}
		base := commitAll(t, root)
		write(t, filepath.Join(root, "b"), "2\n", 0o644)
		if text := patch(t, repo, base); !strings.Contains(text, "+2\n") || strings.Contains(text, "+1\n") {
			t.Errorf("%s: got %s", format, text)
		}
	}
}

func TestDiffIsCutAtALine(t *testing.T) {
	repo, base := newRepo(t)
	write(t, filepath.Join(repo.Root, "big"), strings.Repeat("0123456789é\n", 40_000), 0o644)
	p, err := repo.Diff(t.Context(), base, nil, 1000)
	if err != nil || !p.Truncated || len(p.Text) > 1000 || len(p.Text) < 900 || !strings.HasSuffix(p.Text, "é\n") {
		t.Errorf("%d bytes, truncated %v, %v", len(p.Text), p.Truncated, err)
	}
	whole := patch(t, repo, base)
	exact, err := repo.Diff(t.Context(), base, nil, len(whole))
	if err != nil || exact.Truncated {
		t.Errorf("truncated %v, %v", exact.Truncated, err)
	}
	if _, err := repo.Diff(t.Context(), base, nil, 0); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("got %v", err)
	}
}

func TestDiffOfManyFiles(t *testing.T) {
	repo, base := newRepo(t)
	const count = 1500
	for i := range count {
		write(t, filepath.Join(repo.Root, "many", strings.Repeat("d", 60), strings.Repeat("y", 1+i%100)+"-"+strings.Repeat("z", 1+i/100)), "l\n", 0o644)
	}
	stat, err := repo.DiffStat(t.Context(), base, nil)
	if err != nil || len(stat.Files)+stat.More != count || stat.Added != count {
		t.Fatalf("%d files and %d more, %d lines, %v", len(stat.Files), stat.More, stat.Added, err)
	}
	if got := strings.Count(patch(t, repo, base), "\ndiff --git ") + 1; got != count {
		t.Errorf("the patch has %d files", got)
	}
}

func TestBaseIsChecked(t *testing.T) {
	repo, _ := newRepo(t)
	for base, code := range map[string]models.Code{
		"main":                  models.CodeInvalidArgument,
		"--output=x":            models.CodeInvalidArgument,
		"HEAD":                  models.CodeInvalidArgument,
		strings.Repeat("0", 39): models.CodeNotFound,
		strings.Repeat("1", 40): models.CodeNotFound,
	} {
		if _, err := repo.Diff(t.Context(), base, nil, 10); !models.IsCode(err, code) {
			t.Errorf("%q: got %v", base, err)
		}
	}
}

// Looking changes nothing: the index, the refs and the objects stay as they are.
func TestLookingChangesNothing(t *testing.T) {
	repo, base := newRepo(t)
	write(t, filepath.Join(repo.Root, "src/a.txt"), "changed\n", 0o644)
	write(t, filepath.Join(repo.Root, "new"), "new\n", 0o644)
	before := listing(t, repo.GitDir)
	dirty(t, repo)
	patch(t, repo, base)
	if _, err := repo.DiffStat(t.Context(), base, nil); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, repo.GitDir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			out.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
