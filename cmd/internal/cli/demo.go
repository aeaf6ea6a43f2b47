package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
)

// demo is a throwaway repository with a state directory of its own.
type demo struct {
	*call
	dir  string // holds both
	repo string
	name func() // tells a person where it is and how to remove it; once
}

// Names of the demo's rows.
const (
	demoWorkspace = "demo"
	demoTeam      = "demo-crew"
)

// Times of the demo: long enough to watch, short enough to wait.
const (
	demoNudge = 20 * time.Second
	demoPace  = 300 * time.Millisecond
)

// setDemo makes the demo's folders and points this command line at them: its own
// state directory, three runs at a time, and the fake adapter unless another was
// asked for.
func (in *call) setDemo(ctx context.Context) (*demo, error) {
	dir, err := os.MkdirTemp("", "cox-demo-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, models.Errorf(models.CodeInternal, "the demo's folder cannot be made").Because(err)
	}
	d := &demo{call: in, dir: dir, repo: filepath.Join(dir, "repository")}
	d.name = sync.OnceFunc(func() {
		in.note("the repository of this demo is %s; remove it all with: rm -r %s", d.repo, shellWord(d.dir))
	})
	state := filepath.Join(dir, "state")
	in.values["state-dir"] = value{parsed: state, raw: state, source: "flag"}
	in.values["db"] = value{parsed: filepath.Join(state, "ledger.db"), source: "flag"}
	if !in.given("adapter") {
		in.values["adapter"] = value{parsed: "fake", raw: "fake", source: "flag"}
	}
	if !in.given("max-concurrent-runs") {
		in.values["max-concurrent-runs"] = value{parsed: 3, raw: "3", source: "flag"}
	}
	if !in.given("review-nudge-interval") {
		in.values["review-nudge-interval"] = value{parsed: demoNudge, raw: demoNudge.String(), source: "flag"}
	}
	if !in.given("fake-pace") && !in.on("exit-when-done") {
		in.values["fake-pace"] = value{parsed: demoPace, raw: demoPace.String(), source: "flag"}
	}
	if err := d.makeRepository(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir)) // nothing in it is worth a look
	}
	return d, nil
}

// makeRepository makes a small repository with one commit.
func (d *demo) makeRepository(ctx context.Context) error {
	for name, text := range map[string]string{
		"README.md":        "# A throwaway repository\n\nCoxswain's demo works here.\n",
		"AGENTS.md":        "Keep every change small and inside the allowed paths.\n",
		"src/greeting.txt": "hello\n",
		"docs/guide.md":    "# Guide\n",
		"notes/plan.md":    "# Plan\n",
	} {
		path := filepath.Join(d.repo, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return models.Errorf(models.CodeInternal, "the demo's repository cannot be made").Because(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return models.Errorf(models.CodeInternal, "the demo's repository cannot be made").Because(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=Coxswain demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "--no-gpg-sign", "--message=Start the demo"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = d.repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return models.Errorf(models.CodeInternal, "git %s failed in the demo's repository: %s", args[0], clean(string(out))).Hint("install git").Because(err)
		}
	}
	return nil
}

// create registers the demo's workspace, team and four assignments; two of them
// share files, so that one waits for the other.
func (d *demo) create(ctx context.Context, l *ledger.Ledger) ([]models.Team, error) {
	repo, err := gitscope.Discover(ctx, d.repo)
	if err != nil {
		return nil, err
	}
	paths, err := d.paths()
	if err != nil {
		return nil, err
	}
	if _, err := l.RegisterWorkspace(ctx, d.request(), ledger.NewWorkspace{
		ID: demoWorkspace, Name: "Demo", RepoRoot: repo.Root,
		GitCommonDir: repo.CommonDir, DefaultBranch: "main", NodeID: ledger.LocalNodeID(paths.StateDir),
	}); err != nil {
		return nil, err
	}
	team, err := l.CreateTeam(ctx, d.request(), ledger.NewTeam{ID: demoTeam, WorkspaceID: demoWorkspace, Name: "Demo crew"})
	if err != nil {
		return nil, err
	}
	for _, a := range demoAssignments() {
		base := 0
		if _, err := l.CreateAssignment(ctx, d.request(), a, &base); err != nil {
			return nil, err
		}
	}
	return []models.Team{team}, nil
}

func demoAssignments() []models.NewAssignment {
	guide := map[string]any{"context_refs": []any{map[string]any{"path": "README.md"}}}
	one := func(id, title, path, criterion string, priority int) models.NewAssignment {
		return models.NewAssignment{
			ID: id, WorkspaceID: demoWorkspace, TeamID: demoTeam, Title: title, Priority: priority,
			AllowedPaths: []string{path}, AcceptanceCriteria: []string{criterion}, Metadata: guide,
		}
	}
	return []models.NewAssignment{
		one("greet-the-crew", "Greet the crew in src/greeting.txt", "src/greeting.txt", "src/greeting.txt has one more line.", 3),
		one("say-farewell", "Say farewell in src", "src", "A file in src has one more line.", 2),
		one("write-the-guide", "Write the first page of the guide", "docs", "A file in docs has one more line.", 1),
		one("note-the-plan", "Note the plan of the voyage", "notes/plan.md", "notes/plan.md has one more line.", 1),
	}
}

func (d *demo) first() string { return demoAssignments()[0].ID }
