package gitscope

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/models"
)

// newWorktree names a worktree of a fresh repository; nothing of it exists.
func newWorktree(t *testing.T) (Repo, Worktree) {
	t.Helper()
	repo, base := newRepo(t)
	root := filepath.Join(tempDir(t), "worktrees")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	return repo, Worktree{Root: root, Path: filepath.Join(root, "ws", "a"), Branch: "cox/a", Base: base, Mark: "cox 1234 a 1"}
}

func add(t *testing.T, r Repo, w Worktree) {
	t.Helper()
	if err := r.AddWorktree(t.Context(), w, nil); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, r Repo, w Worktree) WorktreeState {
	t.Helper()
	s, err := r.LookAtWorktree(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWorktreeIsMadeAndFound(t *testing.T) {
	repo, w := newWorktree(t)
	if s := look(t, repo, w); !s.Untouched() {
		t.Fatalf("before: %+v", s)
	}
	add(t, repo, w)
	if s := look(t, repo, w); !s.Whole || s.Tip != w.Base {
		t.Fatalf("after: %+v", s)
	}
	tree, err := Open(w.Path, repo.CommonDir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Path, "src/new.txt"), "new\n", 0o644)
	if got := dirty(t, tree); len(got) != 1 || got[0] != "src/new.txt" {
		t.Errorf("the worktree's changes: %v", got)
	}
	if got := dirty(t, repo); len(got) != 0 {
		t.Errorf("they show in the main tree: %v", got)
	}
	commit, branch, err := tree.Head(t.Context())
	if err != nil || commit != w.Base || branch != "cox/a" {
		t.Errorf("head %s on %s, %v", commit, branch, err)
	}
	git(t, repo.Root, "worktree", "prune")
	if s := look(t, repo, w); !s.Whole {
		t.Error("a prune took it away")
	}
}

// What each step of a creation that was cut off leaves is taken for what it is.
func TestWorktreeIsFinishedAfterACut(t *testing.T) {
	entry := func(r Repo) string { return filepath.Join(r.CommonDir, "worktrees", "a") }
	for name, cut := range map[string]func(t *testing.T, r Repo, w Worktree){
		"nothing":     func(*testing.T, Repo, Worktree) {},
		"branch only": func(t *testing.T, r Repo, w Worktree) { git(t, r.Root, "branch", w.Branch) },
		"entry with the mark only": func(t *testing.T, r Repo, w Worktree) {
			git(t, r.Root, "branch", w.Branch)
			write(t, filepath.Join(entry(r), "locked"), w.Mark+"\n", 0o644)
		},
		"no checkout": func(t *testing.T, r Repo, w Worktree) {
			git(t, r.Root, "worktree", "add", "-q", "--no-checkout", "--lock", "--reason", w.Mark, "-b", w.Branch, w.Path)
		},
		"half a checkout": func(t *testing.T, r Repo, w Worktree) {
			add(t, r, w)
			for _, file := range []string{filepath.Join(w.Path, "src/a.txt"), filepath.Join(entry(r), "index")} {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(entry(r), "index.lock"), "", 0o644)
		},
		"half an undo": func(t *testing.T, r Repo, w Worktree) {
			add(t, r, w)
			if err := os.RemoveAll(w.Path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo, w := newWorktree(t)
			cut(t, repo, w)
			add(t, repo, w)
			if s := look(t, repo, w); !s.Whole || s.Tip != w.Base {
				t.Errorf("got %+v", s)
			}
			if _, err := os.Stat(filepath.Join(w.Path, "src/a.txt")); err != nil {
				t.Error(err)
			}
			if list := git(t, repo.Root, "worktree", "list"); strings.Count(list, "\n") != 1 {
				t.Errorf("worktrees:\n%s", list)
			}
		})
	}
}

func TestForeignStateIsRefused(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, r Repo, w Worktree){
		"folder": func(t *testing.T, _ Repo, w Worktree) { write(t, filepath.Join(w.Path, "precious"), "x", 0o644) },
		"file":   func(t *testing.T, _ Repo, w Worktree) { write(t, w.Path, "x", 0o644) },
		"worktree of a person": func(t *testing.T, r Repo, w Worktree) {
			git(t, r.Root, "worktree", "add", "-q", "-b", "mine", w.Path)
		},
		"branch that is checked out": func(t *testing.T, r Repo, w Worktree) { git(t, r.Root, "switch", "-q", "-c", w.Branch) },
		"branch in the way":          func(t *testing.T, r Repo, _ Worktree) { git(t, r.Root, "branch", "cox") },
		"moved": func(t *testing.T, r Repo, w Worktree) {
			add(t, r, w)
			git(t, r.Root, "worktree", "move", "-f", "-f", w.Path, filepath.Join(w.Root, "elsewhere"))
		},
		"link out of the root": func(t *testing.T, _ Repo, w Worktree) {
			if err := os.Symlink(tempDir(t), filepath.Dir(w.Path)); err != nil {
				t.Fatal(err)
			}
		},
		"link at the path": func(t *testing.T, _ Repo, w Worktree) {
			write(t, filepath.Join(filepath.Dir(w.Path), "x"), "", 0o644)
			if err := os.Symlink(w.Root, w.Path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo, w := newWorktree(t)
			prepare(t, repo, w)
			before := git(t, repo.Root, "worktree", "list")
			err := repo.AddWorktree(t.Context(), w, nil)
			if !models.IsCode(err, models.CodeInvalidArgument) {
				t.Errorf("got %v", err)
			}
			if after := git(t, repo.Root, "worktree", "list"); after != before {
				t.Errorf("worktrees before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

func TestPathsOutsideTheRootAreRefused(t *testing.T) {
	repo, w := newWorktree(t)
	for _, path := range []string{w.Root, filepath.Dir(w.Root), w.Root + "-other/a", w.Root + "/../b"} {
		out := w
		out.Path = path
		for _, err := range []error{repo.AddWorktree(t.Context(), out, nil), repo.RemoveWorktree(t.Context(), out)} {
			if !models.IsCode(err, models.CodeInvalidArgument) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// A branch with work comes back as it is when its files were removed by hand.
func TestBranchIsCheckedOutAgain(t *testing.T) {
	repo, w := newWorktree(t)
	add(t, repo, w)
	write(t, filepath.Join(w.Path, "src/a.txt"), "done\n", 0o644)
	tip := commitAll(t, w.Path)
	git(t, repo.Root, "worktree", "remove", "-f", "-f", w.Path)
	add(t, repo, w)
	if s := look(t, repo, w); !s.Whole || s.Tip != tip {
		t.Errorf("got %+v, want the tip %s", s, tip)
	}
}

// The repository's own programs do not run at a checkout.
func TestWorktreeRunsNoProgram(t *testing.T) {
	repo, w := newWorktree(t)
	script, unharmed := trap(t)
	write(t, filepath.Join(repo.Root, ".git/hooks/post-checkout"), "#!/bin/sh\n"+script+"\n", 0o755)
	set(t, repo.Root, "core.hooksPath", filepath.Join(repo.Root, ".git/hooks"))
	set(t, repo.Root, "filter.evil.smudge", script, "filter.evil.clean", script, "filter.evil.required", "true", "core.fsmonitor", script)
	write(t, filepath.Join(repo.Root, ".git/info/attributes"), "* filter=evil\n", 0o644)
	add(t, repo, w)
	tree, err := Open(w.Path, repo.CommonDir)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := tree.Leftover(t.Context()); err != nil || !l.Clean() {
		t.Errorf("%+v, %v", l, err)
	}
	if err := repo.RemoveWorktree(t.Context(), w); err != nil {
		t.Error(err)
	}
	unharmed()
}

func TestLeftoverNamesWhatWouldBeLost(t *testing.T) {
	repo, w := newWorktree(t)
	add(t, repo, w)
	tree, err := Open(w.Path, repo.CommonDir)
	if err != nil {
		t.Fatal(err)
	}
	left := func() Leftover {
		t.Helper()
		l, err := tree.Leftover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := left(); !l.Clean() || l.Hash != "" {
		t.Errorf("a fresh one: %+v", l)
	}
	write(t, filepath.Join(w.Path, "new"), "1", 0o644)
	one := left()
	if one.Clean() || len(one.Files) != 1 || one.Hash == "" || one.Hash != left().Hash {
		t.Errorf("one file: %+v", one)
	}
	write(t, filepath.Join(w.Path, "src/a.txt"), "changed", 0o644)
	if two := left(); len(two.Files) != 2 || two.Hash == one.Hash {
		t.Errorf("two files: %+v", two)
	}
	git(t, w.Path, "switch", "-q", "--detach")
	lost := commitAll(t, w.Path)
	if l := left(); l.Clean() || len(l.Files) != 0 || !strings.Contains(l.Reason, lost[:12]) {
		t.Errorf("a commit on no branch: %+v", l)
	}
	git(t, w.Path, "branch", "kept")
	if l := left(); !l.Clean() {
		t.Errorf("a commit on a branch: %+v", l)
	}
}

func TestFilledSubmoduleIsLeftover(t *testing.T) {
	repo, w := newWorktree(t)
	git(t, repo.Root, "init", "-q", "-b", "main", "module")
	write(t, filepath.Join(repo.Root, "module/inside"), "1", 0o644)
	commitAll(t, filepath.Join(repo.Root, "module"))
	w.Base = commitAll(t, repo.Root)
	add(t, repo, w)
	tree, err := Open(w.Path, repo.CommonDir)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := tree.Leftover(t.Context()); err != nil || !l.Clean() {
		t.Errorf("empty: %+v, %v", l, err)
	}
	write(t, filepath.Join(w.Path, "module/work"), "1", 0o644)
	if l, err := tree.Leftover(t.Context()); err != nil || !strings.Contains(l.Reason, "module") {
		t.Errorf("filled: %+v, %v", l, err)
	}
	for pattern, want := range map[string]int{"": 1, "module": 1, "module/inside": 1, "mod*": 1, "src": 0, "src/**": 0} {
		var patterns []string
		if pattern != "" {
			patterns = []string{pattern}
		}
		if got, err := repo.Submodules(t.Context(), w.Base, patterns); err != nil || len(got) != want {
			t.Errorf("%q reaches %v, %v", pattern, got, err)
		}
	}
}

func TestRemovalIsVerified(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, r Repo, w Worktree){
		"whole":             func(*testing.T, Repo, Worktree) {},
		"removed by hand":   func(t *testing.T, _ Repo, w Worktree) { removeAll(t, w.Path) },
		"removed with git":  func(t *testing.T, r Repo, w Worktree) { git(t, r.Root, "worktree", "remove", "-f", "-f", w.Path) },
		"half removed":      func(t *testing.T, _ Repo, w Worktree) { removeAll(t, filepath.Join(w.Path, "src")) },
		"its link is gone":  func(t *testing.T, _ Repo, w Worktree) { removeAll(t, filepath.Join(w.Path, ".git")) },
		"read-only folders": func(t *testing.T, _ Repo, w Worktree) { chmod(t, filepath.Join(w.Path, "src"), 0o500) },
	} {
		t.Run(name, func(t *testing.T) {
			repo, w := newWorktree(t)
			add(t, repo, w)
			prepare(t, repo, w)
			if err := repo.RemoveWorktree(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if s := look(t, repo, w); s.OnDisk || s.Entry != "" {
				t.Errorf("got %+v", s)
			}
			if err := repo.RemoveWorktree(t.Context(), w); err != nil {
				t.Errorf("again: %v", err)
			}
			if _, err := os.Stat(w.Root); err != nil {
				t.Error("the root is gone")
			}
		})
	}
}

func removeAll(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// A tree that another owner made at the same path is never removed.
func TestAnotherOwnersTreeIsNotRemoved(t *testing.T) {
	repo, w := newWorktree(t)
	newer := w
	newer.Mark, newer.Branch = "cox 1234 a 2", "cox/a2"
	add(t, repo, newer)
	if err := repo.RemoveWorktree(t.Context(), w); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("got %v", err)
	}
	if s := look(t, repo, newer); !s.Whole {
		t.Errorf("it is gone: %+v", s)
	}
}

func TestBranchIsDroppedOnlyWithoutWorkOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, r Repo, w Worktree)
		gone    bool
	}{
		"empty":    {func(*testing.T, Repo, Worktree) {}, true},
		"unmerged": {func(t *testing.T, _ Repo, w Worktree) { write(t, w.Path+"/x", "", 0o644); commitAll(t, w.Path) }, false},
		"merged": {func(t *testing.T, r Repo, w Worktree) {
			write(t, w.Path+"/x", "", 0o644)
			commitAll(t, w.Path)
			git(t, r.Root, "merge", "-q", "--ff-only", w.Branch)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			repo, w := newWorktree(t)
			add(t, repo, w)
			c.prepare(t, repo, w)
			if err := repo.RemoveWorktree(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			gone, err := repo.DropBranch(t.Context(), w)
			if err != nil || gone != c.gone {
				t.Errorf("gone %v, %v", gone, err)
			}
			if tip := look(t, repo, w).Tip; (tip == "") != c.gone {
				t.Errorf("tip %q", tip)
			}
		})
	}
}
