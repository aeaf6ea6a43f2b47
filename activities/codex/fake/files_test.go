package fake

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func workspace(t *testing.T, files ...string) *agent {
	t.Helper()
	a := &agent{req: Request{CWD: t.TempDir(), Writable: true}}
	for _, name := range files {
		path := filepath.Join(a.req.CWD, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestWorkFileLiesWithinTheFirstAllowedPath(t *testing.T) {
	a := workspace(t, "docs/a.md", "src/b/c.go", "README.md")
	for allowed, want := range map[string]string{
		"":                 "T.md",
		"docs/**":          "docs/T.md",
		"./docs/**":        "docs/T.md",
		"docs":             "docs/T.md",
		"new/":             "new/T.md",
		"**":               "T.md",
		"README.md":        "README.md",
		"new/file.txt":     "new/file.txt",
		"src/**/*.go":      "src/b/c.go",
		"src/**/*.py":      "src/T.py",
		"src/{x,y}/*.rs":   "",
		"docs/guide-*.txt": "docs/guide-T.txt",
	} {
		var paths []string
		if allowed != "" {
			paths = []string{allowed, "elsewhere/**"}
		}
		got, err := a.workFile(paths, "T")
		if got != want || (err != nil) != (want == "") {
			t.Errorf("allowed %q: file %q (%v), want %q", allowed, got, err, want)
		}
	}
}

func TestChangesStayInside(t *testing.T) {
	a := workspace(t, "secret/key")
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(a.req.CWD, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret", filepath.Join(a.req.CWD, "alias")); err != nil {
		t.Fatal(err)
	}
	a.req.DenyPaths = []string{filepath.Join(a.req.CWD, "secret"), filepath.Join(a.req.CWD, "absent")}
	for _, name := range []string{"../x", "/tmp/x", "out/x", "out/new/x", "secret/new", "alias/key", "alias/new/x", "absent/x"} {
		if err := a.write(name, "x"); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) != 0 {
		t.Errorf("outside: %v %v", files, err)
	}
	if data, err := os.ReadFile(filepath.Join(a.req.CWD, "secret", "key")); err != nil || string(data) != "old" {
		t.Errorf("denied file holds %q %v", data, err)
	}
}

func TestAppendLineAddsOnce(t *testing.T) {
	a := workspace(t, "old.go")
	for i, want := range []bool{true, false} {
		if added, err := a.appendLine("old.go", "// line"); err != nil || added != want {
			t.Errorf("call %d: added %v %v", i, added, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(a.req.CWD, "old.go")); err != nil || string(data) != "old\n// line\n" {
		t.Errorf("file holds %q %v", data, err)
	}
}

// A cut text is a beginning of the text, valid and within the limit, and loses
// no more than the rune at the edge.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "n")
		got := cut(text, n)
		if !strings.HasPrefix(text, got) || !utf8.ValidString(got) || len(got) > n || len(text) > n && len(got) < n-3 {
			t.Fatalf("cut(%q, %d) = %q", text, n, got)
		}
	})
}

func TestTailKeepsTheEnd(t *testing.T) {
	var kept tail
	for _, part := range []string{strings.Repeat("a", 3*stderrKept), strings.Repeat("b", stderrKept-1), "c d\n"} {
		if n, err := kept.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("write: %d %v", n, err)
		}
	}
	if got := kept.String(); !strings.HasSuffix(got, "bc d") || strings.Contains(got, "a") || len(got) > stderrKept {
		t.Errorf("kept %d bytes ending in %q", len(got), got[max(0, len(got)-10):])
	}
}
