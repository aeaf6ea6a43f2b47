package ledger_test

import (
	"sync"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// crew is a ledger with one team whose node has probed the fake, and a clock that
// the test moves.
type crew struct {
	*testing.T
	l   *ledger.Ledger
	mu  sync.Mutex
	now time.Time
}

var person = models.Principal{ActorID: "human:ann", Role: models.RoleHuman}

func newCrew(t *testing.T, at place, settings func(*models.LoopSettings)) *crew {
	t.Helper()
	c := &crew{T: t, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	o := at(t)
	o.Clock = c.clock
	c.l = open(t, o)
	_, err := c.l.RegisterWorkspace(t.Context(), ledger.As(person), ledger.NewWorkspace{ID: "w", RepoRoot: "/srv/w", NodeID: "n"})
	c.ok(err)
	team, err := c.l.CreateTeam(t.Context(), ledger.As(person), ledger.NewTeam{ID: "t", WorkspaceID: "w"})
	c.ok(err)
	s := team.Loop
	s.Enabled, s.AdapterKind, s.MaxConcurrentRuns = true, models.AdapterKindFake, 2
	if settings != nil {
		settings(&s)
	}
	_, _, err = c.l.ConfigureLoop(t.Context(), ledger.As(person), "t", s)
	c.ok(err)
	c.startNode()
	return c
}

func (c *crew) clock() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *crew) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *crew) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *crew) startNode() {
	c.Helper()
	_, err := c.l.StartNode(c.Context(), "n", "host", 0)
	c.ok(err)
	caps := map[string]bool{}
	for _, name := range models.RequiredCapabilities() {
		caps[name] = true
	}
	c.ok(c.l.RecordProbe(c.Context(), "n", models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusActive, Capabilities: caps}))
}

func (c *crew) create(id string, change ...func(*models.NewAssignment)) {
	c.Helper()
	a := models.NewAssignment{ID: id, WorkspaceID: "w", TeamID: "t", Title: "Do " + id, AllowedPaths: []string{id}}
	for _, f := range change {
		f(&a)
	}
	_, err := c.l.CreateAssignment(c.Context(), ledger.As(person), a, nil)
	c.ok(err)
}

// plan runs one pass and returns the commands it created.
func (c *crew) plan() []models.Command {
	c.Helper()
	r, err := c.l.PlanTeam(c.Context(), "t")
	c.ok(err)
	return r.Commands
}

// only runs one pass that has to create exactly one command of a type.
func (c *crew) only(t models.CommandType) models.Command {
	c.Helper()
	got := c.plan()
	if len(got) != 1 || got[0].Type != t {
		c.Fatalf("the pass made %v, want one %s", got, t)
	}
	return got[0]
}

// claimed carries a start command out as a node would.
func (c *crew) claimed(cmd models.Command, thread string) models.Run {
	c.Helper()
	_, open, err := c.l.BeginCommand(c.Context(), cmd.ID, "attempt")
	c.ok(err)
	kept, err := c.l.RecordThread(c.Context(), cmd.ID, "attempt", thread)
	c.ok(err)
	if !open || !kept {
		c.Fatalf("command open %t, thread kept %t", open, kept)
	}
	c.ok(c.l.ClaimRun(c.Context(), cmd.ID, "attempt", ledger.Claim{Branch: "main", Prompt: "do it"}))
	return c.run(cmd.RunID)
}

func (c *crew) run(id string) models.Run {
	c.Helper()
	r, err := c.l.Run(c.Context(), id)
	c.ok(err)
	return r
}

func (c *crew) assignment(id string) models.Assignment {
	c.Helper()
	a, err := c.l.Assignment(c.Context(), id)
	c.ok(err)
	return a
}

// delivered sends the thread's oldest message in a turn.
func (c *crew) delivered(thread, turn string) *ledger.Message {
	c.Helper()
	m, err := c.l.BeginMessage(c.Context(), thread, "sender")
	c.ok(err)
	if m == nil {
		c.Fatalf("nothing to send into %s", thread)
	}
	c.ok(c.l.Delivered(c.Context(), m.Item.ID, "sender", turn, false))
	return m
}

func (c *crew) endTurn(thread, turn string, status models.TurnStatus) {
	c.Helper()
	c.ok(c.l.EndTurn(c.Context(), ledger.TurnReport{ThreadID: thread, TurnID: turn, Status: status, Tokens: models.TokenUsage{Input: 3, Output: 4, Total: 7}}))
}

// worker is the principal that the run's binding proves.
func (c *crew) worker(r models.Run) models.Principal {
	c.Helper()
	spec, err := c.l.ThreadSpec(c.Context(), r.BindingID)
	c.ok(err)
	_, p, err := c.l.Bound(c.Context(), spec.Token)
	c.ok(err)
	return p
}

func (c *crew) handOff(r models.Run) models.Event {
	c.Helper()
	e, err := c.l.SubmitHandoff(c.Context(), ledger.As(c.worker(r)), ledger.HandoffRequest{AssignmentID: r.AssignmentID, Payload: map[string]any{"summary": "done"}})
	c.ok(err)
	return e
}

// nudged carries a nudge command out and delivers it.
func (c *crew) nudged(cmd models.Command, thread, turn string) {
	c.Helper()
	_, _, err := c.l.BeginCommand(c.Context(), cmd.ID, "nudger")
	c.ok(err)
	_, err = c.l.RecordThread(c.Context(), cmd.ID, "nudger", thread)
	c.ok(err)
	c.ok(c.l.QueueMessage(c.Context(), cmd.ID, "nudger", "please decide"))
	c.delivered(thread, turn)
}

func (c *crew) wantStatus(id string, want models.AssignmentStatus) {
	c.Helper()
	if got := c.assignment(id).Status; got != want {
		c.Fatalf("assignment %s is %s, want %s", id, got, want)
	}
}

// resumed carries a resume command out and delivers it in a turn.
func (c *crew) resumed(cmd models.Command, thread, turn string) {
	c.Helper()
	_, open, err := c.l.BeginCommand(c.Context(), cmd.ID, "resumer")
	c.ok(err)
	if !open {
		c.Fatalf("command %s is closed", cmd.ID)
	}
	c.pass(time.Second)
	c.ok(c.l.QueueMessage(c.Context(), cmd.ID, "resumer", "go on"))
	c.delivered(thread, turn)
}

func (c *crew) finish(id string) error {
	if _, _, err := c.l.BeginCommand(c.Context(), id, "x"); err != nil {
		return err
	}
	return c.l.FinishCommand(c.Context(), id, "x", "done")
}

func (c *crew) probe() models.Probe {
	c.Helper()
	n, err := c.l.Node(c.Context(), "n")
	c.ok(err)
	return n.Probes[models.AdapterKindFake]
}

// startProbeOnly refreshes the probe without a new incarnation, which would renew
// the claims.
func (c *crew) startProbeOnly() {
	c.Helper()
	c.ok(c.l.RecordProbe(c.Context(), "n", c.probe()))
}

func (c *crew) due(workflow string) bool {
	c.Helper()
	all, err := c.l.DueWakeups(c.Context(), 100)
	c.ok(err)
	for _, d := range all {
		if d.WorkflowID == workflow {
			return true
		}
	}
	return false
}
