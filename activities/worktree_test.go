package activities_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/activities"
	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
)

// grove is a stage whose workspace is a real repository.
type grove struct {
	*stage
	root string
	base string
}

func newGrove(t *testing.T, settings ...string) *grove {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &grove{root: filepath.Join(dir, "repo")}
	if err := os.Mkdir(g.root, 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, g.root, "init", "-q", "-b", "main")
	writeFile(t, filepath.Join(g.root, "AGENTS.md"), "Be kind.\n")
	g.base = commitIn(t, g.root)
	g.stage = newStage(t, func(w *ledger.NewWorkspace) { w.RepoRoot, w.GitCommonDir = g.root, filepath.Join(g.root, ".git") })
	g.node.Config.StateDir, g.node.Config.Cox = filepath.Join(dir, "state"), os.Args[0]
	g.configure(append([]string{"worktree", "on"}, settings...)...)
	return g
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commitIn(t *testing.T, dir string) string {
	t.Helper()
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "work")
	return gitIn(t, dir, "rev-parse", "HEAD")
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (g *grove) configure(pairs ...string) {
	g.Helper()
	change := ledger.WorkspaceChange{Settings: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		change.Settings[pairs[i]] = pairs[i+1]
	}
	_, err := g.l.ConfigureWorkspace(g.Context(), ledger.As(person), "w", change)
	g.ok(err)
}

// tree is the worktree of an assignment as the ledger has it.
func (g *grove) tree(id string) models.Worktree {
	g.Helper()
	w, found, err := g.l.Worktree(g.Context(), id)
	g.ok(err)
	if !found {
		g.Fatalf("%s has no worktree", id)
	}
	return w
}

// step is what the assignment's workflow shall do.
func (g *grove) step(id string) ledger.AssignmentStep {
	g.Helper()
	s, err := g.l.NextAssignmentStep(g.Context(), id)
	g.ok(err)
	return s
}

// prepared plans a start and readies it.
func (g *grove) prepared(id string) models.Command {
	g.Helper()
	g.create(id)
	cmd := g.planned(models.CommandStart)
	if !g.step(id).Prepare {
		g.Fatal("the start needs no preparing")
	}
	g.do(g.node.PrepareRun, named(cmd))
	return cmd
}

// claimed starts the thread of a readied start and claims it.
func (g *grove) claimed(cmd models.Command) models.Run {
	g.Helper()
	if s := g.step(cmd.AssignmentID); s.Prepare || s.Command == nil {
		g.Fatalf("the next step is %+v", s)
	}
	var out activities.Started
	g.do(g.node.StartThread, named(cmd), &out)
	var wanted bool
	g.do(g.control.ClaimRun, activities.ClaimInput{CommandID: cmd.ID, Owner: out.Owner, Branch: out.Branch, BaseCommit: out.BaseCommit}, &wanted)
	if !wanted {
		g.Fatalf("started %+v, not wanted", out)
	}
	g.do(g.node.Deliver, activities.DeliverInput{ThreadID: out.ThreadID})
	return g.run(cmd.RunID)
}

// finished hands a run off and ends its turn.
func (g *grove) finished(run models.Run) models.Event {
	g.Helper()
	event := g.handOff(run.ID)
	turns := g.host.threads[run.SessionRef].turns
	g.endTurn(run.SessionRef, turns[len(turns)-1].ID, models.TurnCompleted)
	return event
}

func (g *grove) decide(event models.Event, d models.Decision) {
	g.Helper()
	_, err := g.l.Decide(g.Context(), ledger.As(person), ledger.DecideRequest{EventID: event.ID, Decision: d, Note: "looked at it"})
	g.ok(err)
}

// accepted lets an assignment run through to its accepted end, its scope inspected.
// work changes the worktree.
func (g *grove) accepted(id string, work func(path string)) models.Worktree {
	g.Helper()
	run := g.claimed(g.prepared(id))
	work(run.WorktreePath)
	g.decide(g.finished(run), models.DecisionAccept)
	if s := g.step(id); !s.Dirty {
		g.Fatalf("the next step is %+v", s)
	}
	g.do(g.node.InspectScope, activities.ScopeInput{AssignmentID: id})
	return g.tree(id)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestRunsWorkInTheirWorktree(t *testing.T) {
	g := newGrove(t)
	cmd := g.prepared("a")
	w := g.tree("a")
	want := filepath.Join(g.node.Config.StateDir+"-worktrees", "w", "a")
	if w.State != models.WorktreeReady || w.Path != want || w.Branch != "cox/a" || w.BaseCommit != g.base {
		t.Fatalf("got %+v", w)
	}
	writeFile(t, filepath.Join(w.Path, "AGENTS.md"), "Be kinder here.\n")
	run := g.claimed(cmd)
	if run.WorktreePath != want || run.Branch != "cox/a" || run.BaseCommit != g.base {
		t.Errorf("the run says %+v", run)
	}
	spec := g.host.specs[0]
	if spec.CWD != want || !strings.Contains(spec.DeveloperInstructions, "Be kinder here.") || spec.ProjectConfig {
		t.Errorf("the thread has %+v", spec)
	}
	detail, err := g.l.RunDetail(t.Context(), run.ID)
	g.ok(err)
	if text := detail.Messages[0].Text; !strings.Contains(text, want) || !strings.Contains(text, "cox/a") {
		t.Errorf("the prompt says %s", text)
	}
	g.decide(g.finished(run), models.DecisionNeedsFix)
	fix := g.planned(models.CommandStart)
	if !g.step("a").Prepare {
		t.Fatal("the worktree is not looked at before the next run")
	}
	g.do(g.node.PrepareRun, named(fix))
	if again := g.claimed(fix); again.WorktreePath != want || again.BaseCommit != g.base || g.tree("a").Generation != 1 {
		t.Errorf("the fix says %+v, worktree %+v", again, g.tree("a"))
	}
}

func TestIntegratorsReadTheWorktrees(t *testing.T) {
	g := newGrove(t)
	run := g.claimed(g.prepared("a"))
	g.finished(run)
	nudge := g.planned(models.CommandNudge)
	g.do(g.node.StartThread, named(nudge))
	spec := g.host.specs[len(g.host.specs)-1]
	all := filepath.Dir(run.WorktreePath)
	if slices.Contains(spec.DenyPaths, all) || spec.Writable {
		t.Errorf("the integrator has %+v", spec)
	}
	if worker := g.host.specs[0]; !slices.Contains(worker.DenyPaths, all) || worker.CWD != run.WorktreePath {
		t.Errorf("the worker has %+v", worker)
	}
	reviews, err := g.l.PendingReviews(t.Context(), ledger.ReviewFilter{})
	if err != nil || len(reviews) != 1 || reviews[0].Branch != "cox/a" || reviews[0].WorktreePath != run.WorktreePath {
		t.Errorf("reviews %+v, %v", reviews, err)
	}
}

// A worker that is killed at any step leaves what the next attempt finishes, once.
func TestPreparingGoesOnAfterACut(t *testing.T) {
	tree := func(g *grove, w models.Worktree) gitscope.Worktree {
		return gitscope.Worktree{Root: w.Root, Path: w.Path, Branch: w.Branch, Base: w.BaseCommit, Mark: w.Mark(g.l.Prefix())}
	}
	begin := func(g *grove, ctx context.Context) models.Worktree {
		w := g.tree("a")
		w.Root = g.node.Config.StateDir + "-worktrees"
		g.ok(os.MkdirAll(w.Root, 0o700))
		w.Path, w.Branch = models.WorktreePlace(w.Root, "cox/", "w", "a")
		w.BaseCommit = g.base
		g.ok(g.l.BeginWorktree(ctx, w))
		return g.tree("a")
	}
	add := func(g *grove, ctx context.Context) models.Worktree {
		w := begin(g, ctx)
		repo, err := gitscope.Open(g.root, filepath.Join(g.root, ".git"))
		g.ok(err)
		g.ok(repo.AddWorktree(ctx, tree(g, w), nil))
		return w
	}
	for name, c := range map[string]struct {
		cut  func(g *grove, cmd models.Command)
		runs int // of the after_create hook
	}{
		"before the place is recorded": {func(*grove, models.Command) {}, 1},
		"after the place is recorded":  {func(g *grove, _ models.Command) { begin(g, g.Context()) }, 1},
		"after the branch is made": {func(g *grove, _ models.Command) {
			begin(g, g.Context())
			gitIn(g.T, g.root, "branch", "cox/a")
		}, 1},
		"after git is done": {func(g *grove, _ models.Command) { add(g, g.Context()) }, 1},
		"after it is recorded as made": {func(g *grove, cmd models.Command) {
			g.ok(g.l.WorktreeMade(g.Context(), add(g, g.Context()), cmd.RunID))
		}, 1},
		"within the hook": {func(g *grove, cmd models.Command) {
			w := add(g, g.Context())
			g.ok(g.l.WorktreeMade(g.Context(), w, cmd.RunID))
			_, open, err := g.l.BeginHook(g.Context(), ledger.AfterCreateID(w))
			if g.ok(err); !open {
				g.Fatal("the hook is not owed")
			}
			writeFile(g.T, filepath.Join(w.Path, "log"), "ran\n")
		}, 2},
		"after the hook": {func(g *grove, cmd models.Command) {
			w := add(g, g.Context())
			g.ok(g.l.WorktreeMade(g.Context(), w, cmd.RunID))
			h, _, err := g.l.BeginHook(g.Context(), ledger.AfterCreateID(w))
			g.ok(err)
			writeFile(g.T, filepath.Join(w.Path, "log"), "ran\n")
			g.ok(g.l.FinishHook(g.Context(), h.Run, ledger.HookEnd{OK: true}))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrove(t, "hook_after_create", "echo ran >> log")
			g.create("a")
			cmd := g.planned(models.CommandStart)
			c.cut(g, cmd)
			g.do(g.node.PrepareRun, named(cmd))
			w := g.tree("a")
			if w.State != models.WorktreeReady || w.PreparedRun != cmd.RunID || w.Generation != 1 {
				t.Errorf("got %+v", w)
			}
			log, err := os.ReadFile(filepath.Join(w.Path, "log"))
			if err != nil || strings.Count(string(log), "ran") != c.runs {
				t.Errorf("the hook ran %q, want %d times; %v", log, c.runs, err)
			}
			if made := g.events(models.EventWorktreeCreated); len(made) != 1 {
				t.Errorf("%d events tell of its making", len(made))
			}
			if list := gitIn(t, g.root, "worktree", "list"); strings.Count(list, "\n") != 1 {
				t.Errorf("worktrees:\n%s", list)
			}
		})
	}
}

// The create hook runs again after a failed first bootstrap, on the same files.
func TestAfterCreateRunsAgainAfterItFailed(t *testing.T) {
	g := newGrove(t, "hook_after_create", `echo try >> ../tries; test -e "$COX_WORKSPACE_ROOT/allow" || { echo "no database" >&2; exit 4; }`)
	cmd := g.prepared("a")
	if c := g.command(cmd.ID); c.State != models.CommandFailed || !strings.Contains(c.Error, "after_create exited with 4: no database") {
		t.Fatalf("the command is %+v", c)
	}
	if w := g.tree("a"); w.State != models.WorktreeMade || !exists(w.Path) {
		t.Fatalf("the worktree is %+v", w)
	}
	writeFile(t, filepath.Join(g.root, "allow"), "")
	g.ahead.Add(int64(time.Minute))
	second := g.planned(models.CommandStart)
	g.do(g.node.PrepareRun, named(second))
	g.claimed(second)
	w := g.tree("a")
	tries, err := os.ReadFile(filepath.Join(filepath.Dir(w.Path), "tries"))
	if err != nil || string(tries) != "try\ntry\n" || w.Generation != 1 {
		t.Errorf("tries %q, worktree %+v, %v", tries, w, err)
	}
	ends := g.events(models.EventHookEnded)
	if len(ends) != 2 || ends[0].Payload["state"] != "failed" || ends[1].Payload["state"] != "done" {
		t.Errorf("events %+v", ends)
	}
}

func TestBeforeRunFailsTheAttemptAndAfterRunNothing(t *testing.T) {
	g := newGrove(t, "worktree", "off", "hook_before_run", `test -e go && pwd >> runs`, "hook_after_run", `echo "$COX_RUN" >> runs; exit 1`)
	cmd := g.prepared("a")
	if c := g.command(cmd.ID); c.State != models.CommandFailed || !strings.Contains(c.Error, "before_run exited with 1") {
		t.Fatalf("the command is %+v", c)
	}
	if len(g.host.threads) != 0 {
		t.Error("a thread was started")
	}
	writeFile(t, filepath.Join(g.root, "go"), "")
	g.ahead.Add(int64(time.Minute))
	second := g.planned(models.CommandStart)
	g.do(g.node.PrepareRun, named(second))
	run := g.claimed(second)
	if s := g.step("a"); s.HookID != "" {
		t.Fatalf("the hook is due before the end: %+v", s)
	}
	g.finished(run)
	s := g.step("a")
	if s.HookID == "" {
		t.Fatalf("no hook is due after the end: %+v", s)
	}
	g.do(g.node.RunHook, activities.HookInput{ID: s.HookID})
	if s := g.step("a"); s.HookID != "" {
		t.Errorf("it is due again: %+v", s)
	}
	text, err := os.ReadFile(filepath.Join(g.root, "runs"))
	if err != nil || string(text) != g.root+"\n"+run.ID+"\n" {
		t.Errorf("the hooks wrote %q, %v", text, err)
	}
	hooks, err := g.l.HookRuns(t.Context(), "a")
	if err != nil || hooks[len(hooks)-1].State != models.HookFailed || hooks[len(hooks)-1].ExitCode != 1 {
		t.Errorf("hooks %+v, %v", hooks, err)
	}
}

func TestHookOutputWithASecretIsKeptBack(t *testing.T) {
	g := newGrove(t, "worktree", "off", "hook_before_run", `cat said; exit 1`)
	writeFile(t, filepath.Join(g.root, "said"), "password"+"=hunter2-hunter2-4711\n")
	cmd := g.prepared("a")
	text := g.command(cmd.ID).Error
	for _, e := range g.events(models.EventHookEnded) {
		text += e.Payload["output"].(string)
	}
	if strings.Contains(text, "hunter2") || !strings.Contains(text, "looks like a secret") {
		t.Errorf("got %s", text)
	}
}

func TestForeignPlacesFailTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(g *grove)
		says    string
	}{
		"path": {func(g *grove) {
			g.ok(os.MkdirAll(g.node.Config.StateDir+"-worktrees/w/a", 0o700))
			writeFile(g.T, g.node.Config.StateDir+"-worktrees/w/a/precious", "")
		}, "exists already"},
		"branch": {func(g *grove) { gitIn(g.T, g.root, "branch", "cox/a") }, "branch cox/a exists already"},
		"inside by a link": {func(g *grove) {
			link := filepath.Join(g.TempDir(), "link")
			g.ok(os.Symlink(g.root, link))
			g.configure("worktree_root", filepath.Join(link, "trees"))
		}, "lies inside the repository"},
		"prefix in use": {func(g *grove) { gitIn(g.T, g.root, "branch", "cox") }, "cannot be made beside"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrove(t)
			c.prepare(g)
			cmd := g.prepared("a")
			if got := g.command(cmd.ID); got.State != models.CommandFailed || !strings.Contains(got.Error, c.says) {
				t.Errorf("the command is %+v", got)
			}
			if name == "path" && !exists(g.node.Config.StateDir+"-worktrees/w/a/precious") {
				t.Error("what stood there is gone")
			}
		})
	}
}

func TestSubmoduleInTheScopeIsRefused(t *testing.T) {
	g := newGrove(t)
	gitIn(t, g.root, "init", "-q", "-b", "main", "a")
	writeFile(t, filepath.Join(g.root, "a/x"), "")
	commitIn(t, filepath.Join(g.root, "a"))
	commitIn(t, g.root)
	if c := g.command(g.prepared("a").ID); c.State != models.CommandFailed || !strings.Contains(c.Error, "submodule a") {
		t.Errorf("the command is %+v", c)
	}
	if c := g.command(g.prepared("b").ID); c.State == models.CommandFailed {
		t.Errorf("paths beside it are refused: %+v", c)
	}
}

func TestWorktreeRemovedByHandIsMadeAnew(t *testing.T) {
	g := newGrove(t, "hook_after_create", "echo ran >> ../log")
	run := g.claimed(g.prepared("a"))
	writeFile(t, filepath.Join(run.WorktreePath, "done"), "")
	tip := commitIn(t, run.WorktreePath)
	g.decide(g.finished(run), models.DecisionNeedsFix)
	g.ok(os.RemoveAll(run.WorktreePath))
	fix := g.planned(models.CommandStart)
	g.do(g.node.PrepareRun, named(fix))
	if again := g.claimed(fix); again.BaseCommit != g.base {
		t.Errorf("the fix is compared with %s", again.BaseCommit)
	}
	w := g.tree("a")
	if w.Generation != 2 || gitIn(t, w.Path, "rev-parse", "HEAD") != tip {
		t.Errorf("got %+v", w)
	}
	log, err := os.ReadFile(filepath.Join(filepath.Dir(w.Path), "log"))
	if err != nil || string(log) != "ran\nran\n" {
		t.Errorf("after_create %q, %v", log, err)
	}
}

func TestCleanWorktreeIsRemovedAfterItsTime(t *testing.T) {
	g := newGrove(t, "worktree_keep", "1h", "hook_before_remove", "pwd >> ../removed; exit 1")
	w := g.accepted("a", func(string) {})
	if s := g.step("a"); s.Remove || s.Done || s.WakeAt == nil {
		t.Fatalf("at once: %+v", s)
	}
	g.do(g.node.RemoveWorktree, activities.ScopeInput{AssignmentID: "a"})
	if !exists(w.Path) {
		t.Fatal("it was removed before its time")
	}
	g.ahead.Add(int64(time.Hour))
	if s := g.step("a"); !s.Remove {
		t.Fatalf("in time: %+v", s)
	}
	g.do(g.node.RemoveWorktree, activities.ScopeInput{AssignmentID: "a"})
	if w := g.tree("a"); w.State != models.WorktreeRemoved || exists(w.Path) || w.BranchKept {
		t.Errorf("got %+v", w)
	}
	if s := g.step("a"); !s.Done {
		t.Errorf("then: %+v", s)
	}
	if out := gitIn(t, g.root, "branch", "--list", "cox/*"); out != "" {
		t.Errorf("branches left: %s", out)
	}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(w.Path), "removed")); err != nil || string(text) != w.Path+"\n" {
		t.Errorf("before_remove wrote %q, %v", text, err)
	}
}

func TestDirtyWorktreeIsKeptUntilItIsGivenUp(t *testing.T) {
	g := newGrove(t, "worktree_keep", "0")
	w := g.accepted("a", func(path string) {
		writeFile(t, filepath.Join(path, "AGENTS.md"), "changed\n")
		writeFile(t, filepath.Join(path, "new"), "")
	})
	if w.Dirty != 2 || w.DirtHash == "" {
		t.Fatalf("got %+v", w)
	}
	if s := g.step("a"); !s.Done || s.Remove {
		t.Fatalf("the next step is %+v", s)
	}
	_, err := g.l.RemoveWorktree(t.Context(), ledger.As(person), "a", "")
	if !models.IsCode(err, models.CodeInvalidArgument) || !strings.Contains(err.Error(), "AGENTS.md, new") {
		t.Fatalf("got %v", err)
	}
	ask := func(discard string) models.Worktree {
		t.Helper()
		_, err := g.l.RemoveWorktree(t.Context(), ledger.As(person), "a", discard)
		g.ok(err)
		g.do(g.node.RemoveWorktree, activities.ScopeInput{AssignmentID: "a"})
		return g.tree("a")
	}
	writeFile(t, filepath.Join(w.Path, "later"), "") // nobody saw this one
	kept := ask(w.DirtHash)
	if kept.State != models.WorktreeReady || kept.Dirty != 3 || !exists(filepath.Join(w.Path, "later")) {
		t.Fatalf("what was not shown is given up: %+v", kept)
	}
	if gone := ask(kept.DirtHash); gone.State != models.WorktreeRemoved || exists(w.Path) {
		t.Errorf("got %+v", gone)
	}
}

func TestCommittedWorkKeepsItsBranch(t *testing.T) {
	g := newGrove(t, "worktree_keep", "0")
	w := g.accepted("a", func(path string) {
		writeFile(t, filepath.Join(path, "new"), "")
		commitIn(t, path)
	})
	g.do(g.node.RemoveWorktree, activities.ScopeInput{AssignmentID: "a"})
	if w := g.tree("a"); w.State != models.WorktreeRemoved || !w.BranchKept {
		t.Errorf("got %+v", w)
	}
	if out := gitIn(t, g.root, "branch", "--list", "cox/*"); out != w.Branch {
		t.Errorf("branches: %s", out)
	}
}

// What cannot be removed is said, kept on record and can be tried again.
func TestRemovalThatFailsCanBeRepeated(t *testing.T) {
	g := newGrove(t, "worktree_keep", "0")
	w := g.accepted("a", func(string) {})
	away := g.root + "-away"
	g.ok(os.Rename(g.root, away))
	g.do(g.node.RemoveWorktree, activities.ScopeInput{AssignmentID: "a"})
	if w := g.tree("a"); w.State != models.WorktreeReady || !strings.Contains(w.Reason, "cannot be removed") || !exists(w.Path) {
		t.Fatalf("got %+v", w)
	}
	if s := g.step("a"); s.Remove {
		t.Error("it is tried again by itself")
	}
	g.ok(os.Rename(away, g.root))
	_, err := g.l.RemoveWorktree(t.Context(), ledger.As(person), "a", "")
	g.ok(err)
	g.do(g.node.RemoveWorktree, activities.ScopeInput{AssignmentID: "a"})
	if got := g.tree("a"); got.State != models.WorktreeRemoved || exists(w.Path) {
		t.Errorf("got %+v", got)
	}
}

// A start that a cancel overtook half-way leaves no worktree behind.
func TestHalfMadeWorktreeOfACancelledAssignmentIsRemoved(t *testing.T) {
	g := newGrove(t)
	g.create("a")
	cmd := g.planned(models.CommandStart)
	w := g.tree("a")
	w.Root = g.node.Config.StateDir + "-worktrees"
	w.Path, w.Branch = models.WorktreePlace(w.Root, "cox/", "w", "a")
	w.BaseCommit = g.base
	g.ok(os.MkdirAll(w.Root, 0o700))
	g.ok(g.l.BeginWorktree(t.Context(), w))
	gitIn(t, g.root, "branch", "cox/a")
	g.cancel("a")
	_, _, err := g.l.BeginCommand(t.Context(), cmd.ID, "test")
	g.ok(err)
	g.ok(g.l.FailCommand(t.Context(), cmd.ID, "test", "cancelled"))
	g.do(g.node.InspectScope, activities.ScopeInput{AssignmentID: "a"})
	if s := g.step("a"); !s.Remove {
		t.Fatalf("the next step is %+v", s)
	}
	g.do(g.node.RemoveWorktree, activities.ScopeInput{AssignmentID: "a"})
	if g.tree("a").State != models.WorktreeRemoved || gitIn(t, g.root, "branch", "--list", "cox/*") != "" {
		t.Errorf("got %+v", g.tree("a"))
	}
}
