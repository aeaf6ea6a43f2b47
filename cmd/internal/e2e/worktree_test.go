package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// lines counts the lines of a file that hold a text.
func lines(path, text string) int {
	n := 0
	content, _ := os.ReadFile(path) // a missing file has none
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// worktree waits until the worktree of an assignment is in a state.
func (h *home) worktree(l *ledger.Ledger, id string, want models.WorktreeState) (w models.Worktree) {
	h.t.Helper()
	reached := until(2*time.Minute, func() bool {
		var err error
		w, _, err = l.Worktree(h.t.Context(), id)
		return err == nil && w.State == want
	})
	if !reached {
		h.t.Fatalf("the worktree of %s is %+v, never %s", id, w, want)
	}
	return w
}

// inspected waits until the files of an ended assignment were looked at.
func (h *home) inspected(l *ledger.Ledger, id string) {
	h.t.Helper()
	within(h.t, time.Minute, "what "+id+" left is looked at", func() bool {
		return len(events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventScopeDirty}})) == 1
	})
}

// TestWorktrees lets assignments work beside one another in worktrees of their own:
// a fix comes to the same one, work that nobody committed is kept and named, a clean
// one goes with its time, and one assignment stays in the main tree.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	log := filepath.Join(filepath.Dir(h.cwd), "hooks")
	commit := `test "$COX_ASSIGNMENT" != clean || { git add -A && git -c user.name=A -c user.email=a@example.com commit -q -m work; }`
	h.ok(&struct{}{}, "workspace", "set", "worktree=on", "worktree_keep=0",
		"hook_after_create=echo \"created $COX_ASSIGNMENT\" >> "+log,
		"hook_after_run=echo \"ran $COX_ASSIGNMENT $PWD\" >> "+log+"; "+commit,
		"hook_before_remove=echo \"removing $COX_ASSIGNMENT\" >> "+log)
	for _, id := range []string{"clean", "dirty"} {
		h.assign(id, "slow:2s")
	}
	h.assign("fixed", "needs_fix_once")
	h.assign("plain", "", "--no-worktree")
	up := h.start("up", "--adapter", "fake", "--address", e.Address, "--max-concurrent-runs", "9", "--review-nudge-interval", "2")
	l := h.ledger(h.state())
	for _, id := range []string{"clean", "dirty", "fixed", "plain"} {
		h.becomes(id, models.AssignmentAccepted)
		h.inspected(l, id)
	}
	root := filepath.Join(h.state()+"-worktrees", theSite)
	gone := h.worktree(l, "clean", models.WorktreeRemoved)
	if there(gone.Path) || !gone.BranchKept || h.git(h.cwd, "show", "cox/clean:work/clean/clean.md") == "" {
		t.Errorf("the clean one is %+v", gone)
	}
	for id, want := range map[string]int{"dirty": 1, "fixed": 2} {
		w := h.worktree(l, id, models.WorktreeReady)
		if w.Path != filepath.Join(root, id) || w.Dirty != 1 || w.Generation != 1 {
			t.Errorf("%s: %+v", id, w)
		}
		if got := lines(filepath.Join(w.Path, "work", id, id+".md"), "scripted worker"); got != want {
			t.Errorf("%s: %d lines of work, want %d", id, got, want)
		}
		if there(filepath.Join(h.cwd, "work", id)) {
			t.Errorf("%s wrote into the main tree", id)
		}
	}
	h.oneThread(l, "fixed", 2)
	if !there(filepath.Join(h.cwd, "work/plain/plain.md")) {
		t.Error("the plain one did not work in the main tree")
	}
	for text, want := range map[string]int{"created ": 3, "ran fixed " + root: 2, "ran plain " + h.cwd: 1, "removing clean": 1} {
		if got := lines(log, text); got != want {
			t.Errorf("%d times %q in the hooks' log, want %d", got, text, want)
		}
	}
	h.giveUp(l, filepath.Join(root, "dirty"))
	up.interrupt()
}

// giveUp removes a worktree that holds work the long way.
func (h *home) giveUp(l *ledger.Ledger, path string) {
	h.t.Helper()
	if r := h.cox("inbox"); !strings.Contains(r.stdout, path) || !strings.Contains(r.stdout, "cox worktree remove dirty") {
		h.t.Errorf("the inbox says %s", r.stdout)
	}
	refusal, _ := h.fails(2, "INVALID_ARGUMENT", "worktree", "remove", "dirty")
	if !strings.Contains(refusal.Error.Message, "work/dirty/dirty.md") {
		h.t.Errorf("refused with %+v", refusal.Error)
	}
	w, _, err := l.Worktree(h.t.Context(), "dirty")
	if err != nil {
		h.t.Fatal(err)
	}
	h.fails(2, "INVALID_ARGUMENT", "worktree", "remove", "--discard", "000000000000", "dirty")
	if !there(path) {
		h.t.Fatal("a wrong id gave the work up")
	}
	h.ok(&struct{}{}, "worktree", "remove", "--wait", "60s", "--discard", w.DirtHash, "dirty")
	if there(path) || h.git(h.cwd, "branch", "--list", "cox/dirty") != "" {
		h.t.Errorf("%s is still there, or its branch", path)
	}
	h.ok(&struct{}{}, "worktree", "remove", "dirty") // once more changes nothing
}

// TestWorkerKilledInAHook kills the worker while the create hook runs: the hook ends
// with it, and runs again under the next worker, once for all.
func TestWorkerKilledInAHook(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	aside := filepath.Dir(h.cwd)
	began, open := filepath.Join(aside, "began"), filepath.Join(aside, "open")
	h.ok(&struct{}{}, "workspace", "set", "worktree=on", "hook_timeout=5m",
		"hook_after_create=echo began >> "+began+"; until test -e "+open+"; do sleep 0.1; done; echo done >> "+began)
	h.assign("one", "")
	up := h.start("up", "--adapter", "fake", "--address", e.Address)
	l := h.ledger(h.state())
	within(t, time.Minute, "the hook begins", func() bool { return lines(began, "began") == 1 })
	pid, running := worker.Running(h.state())
	if !running {
		t.Fatal("no worker runs")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "the hook begins again", func() bool { return lines(began, "began") == 2 })
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.becomes("one", models.AssignmentAccepted)
	h.oneThread(l, "one", 1)
	if n := lines(began, "done"); n != 1 {
		t.Errorf("the hook ended %d times", n)
	}
	if made := events(t, l, ledger.EventFilter{AssignmentID: "one", Types: []string{models.EventWorktreeCreated}}); len(made) != 1 {
		t.Errorf("%d worktrees were made", len(made))
	}
	if list := h.git(h.cwd, "worktree", "list"); strings.Count(strings.TrimSpace(list), "\n") != 1 {
		t.Errorf("worktrees:\n%s", list)
	}
	up.interrupt()
}
