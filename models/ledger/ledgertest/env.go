package ledgertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// The place and the people of every test.
const (
	space = "example-workspace"
	crew  = "coordination-loop"
)

var (
	boss   = models.Principal{ActorID: "boss", Role: models.RoleIntegrator}
	ann    = models.Principal{ActorID: "human:ann", Role: models.RoleHuman}
	agentA = models.Principal{ActorID: "codex-worker-a", Role: models.RoleAgent}
	agentB = models.Principal{ActorID: "codex-worker-b", Role: models.RoleAgent}
)

// clock is a clock that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// env is one ledger with a workspace and a team in it.
type env struct {
	*testing.T
	ctx   context.Context
	l     *ledger.Ledger
	clock *clock
}

func newEnv(t *testing.T, open Opener) *env {
	t.Helper()
	c := &clock{now: start}
	e := &env{T: t, ctx: t.Context(), clock: c}
	e.l = open(t, c.Now)
	_, err := e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: space, RepoRoot: "/repo/example", NodeID: "node-1"})
	e.ok(err)
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: crew, WorkspaceID: space, OwnerActorID: boss.ActorID})
	e.ok(err)
	return e
}

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("unexpected error: %v (code %s)", err, models.CodeOf(err))
	}
}

// refused demands an error of a code and returns it.
func (e *env) refused(code models.Code, err error) *models.Error {
	e.Helper()
	var typed *models.Error
	if !errors.As(err, &typed) || typed.Code != code {
		e.Fatalf("want an error of code %s, have %v (code %q)", code, err, models.CodeOf(err))
	}
	return typed
}

func same[T comparable](e *env, what string, have, want T) {
	e.Helper()
	if have != want {
		e.Fatalf("%s: have %v, want %v", what, have, want)
	}
}

func (e *env) create(id string, change ...func(*models.NewAssignment)) models.Assignment {
	e.Helper()
	n := models.NewAssignment{ID: id, WorkspaceID: space, TeamID: crew, Title: "Build " + id}
	for _, fn := range change {
		fn(&n)
	}
	a, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), n, nil)
	e.ok(err)
	return a
}

func (e *env) claim(by models.Principal, id string) ledger.Claimed {
	e.Helper()
	c, err := e.tryClaim(by, id)
	e.ok(err)
	return c
}

func (e *env) tryClaim(by models.Principal, id string) (ledger.Claimed, error) {
	return e.l.ClaimAssignment(e.ctx, ledger.As(by), ledger.ClaimRequest{AssignmentID: id})
}

func (e *env) handOff(by models.Principal, id string) models.Event {
	e.Helper()
	ev, err := e.tryHandOff(by, id)
	e.ok(err)
	return ev
}

func (e *env) tryHandOff(by models.Principal, id string) (models.Event, error) {
	return e.l.SubmitHandoff(e.ctx, ledger.As(by), ledger.HandoffRequest{AssignmentID: id, Payload: map[string]any{"summary": "done"}})
}

func (e *env) decide(by models.Principal, event string, d models.Decision) (models.Event, error) {
	return e.l.Decide(e.ctx, ledger.As(by), ledger.DecideRequest{EventID: event, Decision: d, Note: "looked at it"})
}

func (e *env) appendEvent(by models.Principal, id, kind string) (models.Event, error) {
	return e.l.AppendEvent(e.ctx, ledger.As(by), ledger.AppendRequest{AssignmentID: id, Type: kind, Payload: map[string]any{"note": "n"}})
}

func (e *env) assignment(id string) models.Assignment {
	e.Helper()
	a, err := e.l.Assignment(e.ctx, id)
	e.ok(err)
	return a
}

func (e *env) run(id string) ledger.RunDetail {
	e.Helper()
	r, err := e.l.RunDetail(e.ctx, id)
	e.ok(err)
	return r
}

func (e *env) pending() []models.PendingReview {
	e.Helper()
	p, err := e.l.PendingReviews(e.ctx, ledger.ReviewFilter{})
	e.ok(err)
	return p
}

// events lists an assignment's events of a type, or all.
func (e *env) events(id string, types ...string) []models.Event {
	e.Helper()
	list, err := e.l.Events(e.ctx, ledger.EventFilter{AssignmentID: id, Types: types})
	e.ok(err)
	return list
}

func (e *env) lane(id string) string {
	e.Helper()
	b, err := e.l.Board(e.ctx, crew)
	e.ok(err)
	for lane, list := range b.Lanes {
		for _, a := range list {
			if a.ID == id {
				return lane
			}
		}
	}
	return ""
}

// unchanged runs a refused call and demands that it left assignment, runs and
// events as they were.
func (e *env) unchanged(id string, code models.Code, call func() error) *models.Error {
	e.Helper()
	before, err := e.l.AssignmentDetail(e.ctx, id)
	e.ok(err)
	refusal := e.refused(code, call())
	after, err := e.l.AssignmentDetail(e.ctx, id)
	e.ok(err)
	sameJSON(e, "the assignment after a refusal", after, before)
	return refusal
}

// woken tells whether a workflow has a wake-up since the last call.
func (e *env) woken() map[string]bool {
	e.Helper()
	due, err := e.l.DueWakeups(e.ctx, 100)
	e.ok(err)
	out := map[string]bool{}
	for _, d := range due {
		out[d.WorkflowID] = true
		_, err := e.l.Acknowledge(e.ctx, d.WorkflowID)
		e.ok(err)
	}
	return out
}
