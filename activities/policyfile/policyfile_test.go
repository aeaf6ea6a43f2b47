package policyfile_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"coxswain/activities/policyfile"
	"coxswain/models"
)

const good = `# what is asked
answers:
  ordinary: ask
  widening: decline
accept:
  - argv: [go, test, ./...]
  - argv: [make, check]
    cwd: /srv/w/
wait: 2h
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFileIsRead(t *testing.T) {
	p, err := policyfile.Parse("policy.yaml", []byte(good))
	want := models.Policy{
		Rows:   []models.PolicyRow{{Class: models.RiskWidening, Ruling: models.RulingDecline}, {Class: models.RiskOrdinary, Ruling: models.RulingAsk}},
		Accept: []models.AcceptRow{{Argv: []string{"go", "test", "./..."}}, {Argv: []string{"make", "check"}, CWD: "/srv/w"}},
		Wait:   2 * time.Hour,
	}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, class := range models.AlwaysAsked() {
		if p.Row(class) != models.RulingAsk {
			t.Errorf("%s: %s", class, p.Row(class))
		}
	}
	empty, err := policyfile.Parse("policy.yaml", nil)
	if err != nil || empty.Asks() {
		t.Errorf("an empty file: %+v, %v", empty, err)
	}
}

func TestWrongFilesAreRefusedWithTheirLines(t *testing.T) {
	for text, want := range map[string]string{
		"answers:\n  git_push: accept\n":                `policy.yaml:2: git_push is "accept"`,
		"answers:\n  ordinary: ask\n  git_pusch: ask\n": "policy.yaml:3: unknown class git_pusch (did you mean git_push?)",
		"accepts: []\n":                                      "[1:1]",
		"answers:\n  - ask\n":                                "[2:3]",
		"accept:\n  - argv: [git, push]\n":                   "policy.yaml:2: git push is git_push, which always needs a person",
		"accept:\n  - argv: [ls]\n  - argv: [sudo, rm, x]\n": "policy.yaml:3: sudo rm x is destructive",
		"accept:\n  - argv: []\n":                            "policy.yaml:2: argv needs the words",
		"accept:\n  - argv: [./run]\n":                       "policy.yaml:2: argv begins with ./run",
		"accept:\n  - argv: [ls]\n    cwd: sub\n":            "policy.yaml:2: cwd sub is not absolute",
		"wait: for ever\n":                                   `policy.yaml:1: wait is "for ever"`,
		"wait: 2s\n":                                         `policy.yaml:1: wait is "2s"`,
	} {
		_, err := policyfile.Parse("policy.yaml", []byte(text))
		if !models.IsCode(err, models.CodeInvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestAChangedFileIsTakenUpAndABrokenOneKeepsTheLastGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	s, err := policyfile.Open(t.Context(), path, nil, slog.New(slog.DiscardHandler))
	if err != nil || s.Current(t.Context()).Asks() {
		t.Fatalf("a file that is not there asks: %v", err)
	}
	write(t, path, good)
	if p := s.Current(t.Context()); !p.Asks() || len(p.Accept) != 2 {
		t.Fatalf("the new file is not in force: %+v", p)
	}
	write(t, path, "answers:\n  ordinary: accept\n")
	if p := s.Current(t.Context()); !p.Asks() || len(p.Accept) != 2 {
		t.Errorf("a broken file changed the policy: %+v", p)
	}
	write(t, path, "answers:\n  ordinary: decline\n")
	if p := s.Current(t.Context()); p.Asks() {
		t.Errorf("the mended file is not in force: %+v", p)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, good)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if p := s.Current(t.Context()); p.Asks() {
		t.Errorf("a file that everybody may write is in force: %+v", p)
	}
}

func TestAFileInAWorkspaceIsRefused(t *testing.T) {
	root := t.TempDir()
	workspace, path := filepath.Join(root, "w"), filepath.Join(root, "w", "policy.yaml")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, good)
	link := filepath.Join(root, "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	var known []string
	roots := func(context.Context) ([]string, error) { return known, nil }
	s, err := policyfile.Open(t.Context(), link, roots, slog.New(slog.DiscardHandler))
	if err != nil || !s.Current(t.Context()).Asks() {
		t.Fatal(err)
	}
	known = []string{workspace} // registered after the worker began
	if p := s.Current(t.Context()); p.Asks() || len(p.Accept) > 0 {
		t.Errorf("a file in a workspace is in force: %+v", p)
	}
	for _, p := range []string{path, link, filepath.Join(workspace, "sub", "absent.yaml")} {
		if _, err := policyfile.Open(t.Context(), p, roots, slog.New(slog.DiscardHandler)); !models.IsCode(err, models.CodeInvalidArgument) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := policyfile.Open(t.Context(), filepath.Join(root, "w2.yaml"), roots, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("a file beside the workspace: %v", err)
	}
}
