package mcpserver

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

// head is the commit that every fixture's workspace stands at.
const head = "4f170f2aa0c3b54a1d2f3f4e5a6b7c8d9e0f1a2b"

func debugLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// fixture is a ledger with workspace "shop" and team "crew" in it.
type fixture struct {
	t *testing.T
	l *ledger.Ledger
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	l, err := ledger.Open(context.Background(), ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, l: l}
	_, err = l.RegisterWorkspace(context.Background(), f.call(), ledger.NewWorkspace{ID: "shop", RepoRoot: "/repos/shop", GitCommonDir: "/repos/shop/.git", NodeID: "node-1"})
	f.check(err)
	f.team("crew")
	return f
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) call() *ledger.Call {
	return ledger.As(models.Principal{ActorID: "human:ada", Role: models.RoleHuman})
}

func (f *fixture) team(id string) {
	f.t.Helper()
	_, err := f.l.CreateTeam(context.Background(), f.call(), ledger.NewTeam{ID: id, WorkspaceID: "shop", Name: id})
	f.check(err)
}

func (f *fixture) assignment(id, team string) models.Assignment {
	f.t.Helper()
	a, err := f.l.CreateAssignment(context.Background(), f.call(), models.NewAssignment{ID: id, WorkspaceID: "shop", TeamID: team, Title: "Do " + id}, nil)
	f.check(err)
	return a
}

func (f *fixture) read(id string) models.Assignment {
	f.t.Helper()
	a, err := f.l.Assignment(context.Background(), id)
	f.check(err)
	return a
}

func (f *fixture) options(p models.Principal, token string) Options {
	return Options{
		Ledger: f.l, Principal: p, Token: token,
		Head: func(context.Context, models.Workspace) (string, error) { return head, nil },
	}
}

func (f *fixture) agent(id string) Options {
	return f.options(models.Principal{ActorID: id, Role: models.RoleAgent}, "")
}

func (f *fixture) person() Options {
	return f.options(models.Principal{ActorID: "human:ada", Role: models.RoleHuman}, "")
}

// claim lets an actor claim an assignment directly.
func (f *fixture) claim(assignment, actor string) models.Run {
	f.t.Helper()
	claimed, err := f.l.ClaimAssignment(context.Background(), ledger.As(models.Principal{ActorID: actor, Role: models.RoleAgent}),
		ledger.ClaimRequest{AssignmentID: assignment})
	f.check(err)
	return claimed.Run
}

// worker claims an assignment for an actor and binds the run to a thread, as the
// planner and the node do; it returns the options of the thread's server.
func (f *fixture) worker(assignment, actor string) (Options, models.Run) {
	f.t.Helper()
	run := f.claim(assignment, actor)
	token := f.bind("worker", "crew", assignment, actor, 1)
	f.exec("UPDATE runs SET binding_id = ?, node_id = 'node-1', session_ref = ? WHERE id = ?", "bind-"+actor, "thread-"+actor, run.ID)
	return f.options(models.Principal{}, token), run
}

// integrator binds a thread to the integrator of a team.
func (f *fixture) integrator(team string) Options {
	f.t.Helper()
	t, err := f.l.Team(context.Background(), team)
	f.check(err)
	return f.options(models.Principal{}, f.bind("integrator", team, "", t.OwnerActorID, 1))
}

func (f *fixture) bind(kind, team, assignment, actor string, generation int) string {
	f.t.Helper()
	id := "bind-" + actor
	token := f.l.BindingToken(id, generation)
	f.exec(`INSERT INTO bindings (id, kind, workspace_id, team_id, assignment_id, actor_id, node_id, adapter_kind, thread_id, generation, token_hash, status, created_at, updated_at)
		VALUES (?, ?, 'shop', ?, ?, ?, 'node-1', 'fake_codex', ?, ?, ?, 'active', 0, 0)`,
		id, kind, team, assignment, actor, "thread-"+actor, generation, tokenHash(token))
	return token
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// exec changes the ledger's file as another process would.
func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	db, err := sql.Open("sqlite", f.l.Path()+"?_pragma=busy_timeout(5000)")
	f.check(err)
	_, err = db.Exec(query, args...)
	f.check(err)
	f.check(db.Close())
}

func (f *fixture) events(assignment string) []models.Event {
	f.t.Helper()
	events, err := f.l.Events(context.Background(), ledger.EventFilter{AssignmentID: assignment})
	f.check(err)
	return events
}
