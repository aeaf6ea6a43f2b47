package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
)

var person = models.Principal{ActorID: "human:ann", Role: models.RoleHuman}

// stage is a node over a real ledger and a scripted host, with one team whose
// loop is on. Activities run in the SDK's activity environment.
type stage struct {
	*testing.T
	l       *ledger.Ledger
	host    *host
	node    *activities.Node
	control *activities.Control
	env     *testsuite.TestActivityEnvironment
	ahead   atomic.Int64 // how far the ledger's clock is ahead
}

func newStage(t *testing.T, workspace ...func(*ledger.NewWorkspace)) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{T: t, host: newHost()}
	var err error
	s.l, err = ledger.Open(t.Context(), ledger.Options{Path: filepath.Join(dir, "ledger.db"), Clock: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }})
	s.ok(err)
	t.Cleanup(func() { s.ok(s.l.Close()) })
	s.control = &activities.Control{Ledger: s.l}
	s.node = &activities.Node{Ledger: s.l, Hosts: s.host, Log: slog.New(slog.DiscardHandler), Config: activities.NodeConfig{
		NodeID: "n", StateDir: "/srv/state", Deny: []string{"/srv/auth"}, Cox: "/opt/cox", TempRoot: filepath.Join(dir, "tmp"),
	}}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s.env = suite.NewTestActivityEnvironment()
	s.env.RegisterActivity(s.node)
	s.env.RegisterActivity(s.control)
	s.crew(workspace)
	return s
}

func (s *stage) crew(change []func(*ledger.NewWorkspace)) {
	s.Helper()
	w := ledger.NewWorkspace{ID: "w", RepoRoot: "/srv/w", NodeID: "n"}
	for _, f := range change {
		f(&w)
	}
	_, err := s.l.RegisterWorkspace(s.Context(), ledger.As(person), w)
	s.ok(err)
	team, err := s.l.CreateTeam(s.Context(), ledger.As(person), ledger.NewTeam{ID: "t", WorkspaceID: "w"})
	s.ok(err)
	loop := team.Loop
	loop.Enabled, loop.AdapterKind, loop.MaxConcurrentRuns, loop.Model = true, models.AdapterKindFake, 2, "m-1"
	_, _, err = s.l.ConfigureLoop(s.Context(), ledger.As(person), "t", loop)
	s.ok(err)
	_, err = s.l.StartNode(s.Context(), "n", "host", 0)
	s.ok(err)
	p := models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusActive, Capabilities: map[string]bool{}}
	for _, name := range models.RequiredCapabilities() {
		p.Capabilities[name] = true
	}
	s.ok(s.l.RecordProbe(s.Context(), "n", p))
}

func (s *stage) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// do runs an activity that has to succeed, and decodes its result into out.
func (s *stage) do(fn any, in any, out ...any) {
	s.Helper()
	v, err := s.env.ExecuteActivity(fn, in)
	s.ok(err)
	for _, o := range out {
		s.ok(v.Get(o))
	}
}

// refused runs an activity that has to fail with a code, retried or not.
func (s *stage) refused(fn any, in any, code models.Code, retried bool) {
	s.Helper()
	_, err := s.env.ExecuteActivity(fn, in)
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != string(code) || app.NonRetryable() == retried {
		s.Fatalf("failed with %v, want %s, retried %t", err, code, retried)
	}
}

func (s *stage) create(id string) {
	s.Helper()
	_, err := s.l.CreateAssignment(s.Context(), ledger.As(person), models.NewAssignment{ID: id, WorkspaceID: "w", TeamID: "t", Title: "Do " + id, AllowedPaths: []string{id}}, nil)
	s.ok(err)
}

// planned runs one pass that has to create one command of a type.
func (s *stage) planned(t models.CommandType) models.Command {
	s.Helper()
	p, err := s.l.PlanTeam(s.Context(), "t")
	s.ok(err)
	if len(p.Commands) != 1 || p.Commands[0].Type != t {
		s.Fatalf("the pass made %+v, want one %s", p.Commands, t)
	}
	return p.Commands[0]
}

func named(cmd models.Command) activities.CommandInput {
	return activities.CommandInput{CommandID: cmd.ID}
}

// started plans and carries out the start of an assignment up to its queued
// prompt, and returns its thread.
func (s *stage) started(id string) (cmd models.Command, threadID string) {
	s.Helper()
	s.create(id)
	cmd = s.planned(models.CommandStart)
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	var wanted bool
	s.do(s.control.ClaimRun, activities.ClaimInput{CommandID: cmd.ID, Owner: out.Owner}, &wanted)
	if !wanted || out.ThreadID == "" {
		s.Fatalf("started %+v, wanted %t", out, wanted)
	}
	return cmd, out.ThreadID
}

// running is an assignment whose prompt is delivered in an active turn.
func (s *stage) running(id string) (run models.Run, threadID, turnID string) {
	s.Helper()
	cmd, threadID := s.started(id)
	s.do(s.node.Deliver, activities.DeliverInput{ThreadID: threadID})
	turns := s.host.threads[threadID].turns
	if len(turns) == 0 {
		s.Fatal("the prompt was not sent")
	}
	return s.run(cmd.RunID), threadID, turns[len(turns)-1].ID
}

func (s *stage) run(id string) models.Run {
	s.Helper()
	r, err := s.l.Run(s.Context(), id)
	s.ok(err)
	return r
}

func (s *stage) command(id string) models.Command {
	s.Helper()
	c, err := s.l.Command(s.Context(), id)
	s.ok(err)
	return c
}

func (s *stage) cancel(id string) {
	s.Helper()
	_, err := s.l.CancelAssignment(s.Context(), ledger.As(person), id, nil, "not needed")
	s.ok(err)
}

func (s *stage) endTurn(threadID, turnID string, status models.TurnStatus) {
	s.Helper()
	s.ok(s.l.EndTurn(s.Context(), ledger.TurnReport{ThreadID: threadID, TurnID: turnID, Status: status}))
}

func (s *stage) handOff(runID string) models.Event {
	s.Helper()
	run := s.run(runID)
	spec, err := s.l.ThreadSpec(s.Context(), run.BindingID)
	s.ok(err)
	_, p, err := s.l.Bound(s.Context(), spec.Token)
	s.ok(err)
	e, err := s.l.SubmitHandoff(s.Context(), ledger.As(p), ledger.HandoffRequest{AssignmentID: run.AssignmentID, Payload: map[string]any{"summary": "done"}})
	s.ok(err)
	return e
}

// message is the newest message of a thread that is queued or on its way; its
// state after an attempt is read with next.
func (s *stage) next(threadID string) ledger.Sending {
	s.Helper()
	n, err := s.l.NextMessage(s.Context(), threadID)
	s.ok(err)
	return n
}

// events of a type, oldest first.
func (s *stage) events(eventType string) []models.Event {
	s.Helper()
	e, err := s.l.Events(s.Context(), ledger.EventFilter{Types: []string{eventType}})
	s.ok(err)
	return e
}

// ownedByDead lets an attempt that died own a command.
func (s *stage) ownedByDead(ctx context.Context, cmd models.Command) {
	s.Helper()
	_, _, err := s.l.BeginCommand(ctx, cmd.ID, "dead")
	s.ok(err)
}
