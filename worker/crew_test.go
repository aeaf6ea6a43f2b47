package worker_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
	"coxswain/workflows"
)

var person = models.Principal{ActorID: "human:ann", Role: models.RoleHuman}

// crew is a worker in this process with a ledger, a repository, a Temporal of its
// own and one team whose loop is on and uses the fake.
type crew struct {
	*testing.T
	l       *ledger.Ledger
	options worker.Options
	ready   chan worker.Info
}

func newCrew(t *testing.T, settings func(*models.LoopSettings)) *crew {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"tmp", "home", "repo", "state"} {
		ok(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	t.Setenv("HOME", filepath.Join(dir, "home"))
	repo := makeRepository(t, filepath.Join(dir, "repo"))
	c := &crew{T: t, ready: make(chan worker.Info, 1)}
	var err error
	c.l, err = ledger.Open(t.Context(), ledger.Options{Path: filepath.Join(dir, "state", "ledger.db")})
	ok(t, err)
	t.Cleanup(func() { ok(t, c.l.Close()) })
	nothing := func(string) (string, bool) { return "", false }
	c.options = worker.Options{
		Ledger: c.l, StateDir: filepath.Join(dir, "state"), NodeID: "node", Cox: built.cox,
		Engine: workflows.Engine{Address: startTemporal(t), Env: nothing}, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Ready: func(i worker.Info) { c.ready <- i },
	}
	_, err = c.l.RegisterWorkspace(t.Context(), ledger.As(person), ledger.NewWorkspace{ID: "ship", RepoRoot: repo.Root, GitCommonDir: repo.CommonDir, DefaultBranch: "main", NodeID: "node"})
	ok(t, err)
	team, err := c.l.CreateTeam(t.Context(), ledger.As(person), ledger.NewTeam{ID: "deck", WorkspaceID: "ship"})
	ok(t, err)
	s := team.Loop
	s.Enabled, s.AdapterKind, s.PollIntervalSeconds = true, models.AdapterKindFake, 1
	if settings != nil {
		settings(&s)
	}
	_, _, err = c.l.ConfigureLoop(t.Context(), ledger.As(person), "deck", s)
	ok(t, err)
	return c
}

func makeRepository(t *testing.T, dir string) gitscope.Repo {
	t.Helper()
	ok(t, os.WriteFile(filepath.Join(dir, "notes.md"), []byte("# Notes\n"), 0o600))
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--no-gpg-sign", "--message=Start"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	repo, err := gitscope.Discover(t.Context(), dir)
	ok(t, err)
	return repo
}

// serve runs the worker until the returned function, or the test's end, stops it.
func (c *crew) serve() (stop func()) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, c.options) }()
	stopped := false
	stop = func() {
		cancel()
		if !stopped {
			stopped = true
			if err := <-done; err != nil {
				c.Errorf("the worker ended with %v", err)
			}
		}
	}
	c.Cleanup(stop)
	select {
	case <-c.ready:
	case err := <-done:
		done <- nil
		c.Fatalf("the worker did not come up: %v", err)
	case <-time.After(time.Minute):
		c.Fatal("the worker is not ready after a minute")
	}
	return stop
}

func (c *crew) create(id, title string) {
	c.Helper()
	_, err := c.l.CreateAssignment(c.Context(), ledger.As(person), models.NewAssignment{
		ID: id, WorkspaceID: "ship", TeamID: "deck", Title: title,
		AllowedPaths: []string{"notes.md"}, AcceptanceCriteria: []string{"notes.md has one more line."},
	}, nil)
	ok(c.T, err)
}

func (c *crew) awaitStatus(id string, want models.AssignmentStatus) {
	c.Helper()
	var last models.AssignmentStatus
	eventually(c.T, 90*time.Second, id+" is not "+string(want), func() bool {
		a, err := c.l.Assignment(c.Context(), id)
		ok(c.T, err)
		last = a.Status
		return last == want
	})
}

func (c *crew) dial() client.Client {
	c.Helper()
	cl, err := workflows.Dial(c.Context(), c.options.Engine, slog.New(slog.DiscardHandler))
	ok(c.T, err)
	c.Cleanup(cl.Close)
	return cl
}

// describe asks for a workflow of the ledger until it stands as wanted.
func (c *crew) awaitWorkflow(front workflows.Front, id, status string) workflows.Described {
	c.Helper()
	var d workflows.Described
	eventually(c.T, 60*time.Second, id+" is not "+status, func() bool {
		var err error
		d, err = front.Describe(c.Context(), id)
		return err == nil && d.Status == status
	})
	return d
}
