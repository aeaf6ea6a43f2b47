package worker

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

// scripted is a host in memory whose events the test sends.
type scripted struct {
	codex.Adapter // a method that is not scripted fails the test by a panic

	mu          sync.Mutex
	send        func(codex.Event)
	interrupted []string
	resumed     []string
	turns       []codex.Turn
	done        chan struct{}
	closed      bool
	err         error   // with which it ends
	refuse      []error // with which the next resumes fail
}

func newScripted() *scripted { return &scripted{done: make(chan struct{})} }

func (s *scripted) Kind() string          { return models.AdapterKindFake }
func (s *scripted) Done() <-chan struct{} { return s.done }
func (s *scripted) Err() error            { return s.err }

func (s *scripted) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *scripted) Subscribe(fn func(codex.Event)) func() {
	s.send = fn
	return func() {}
}

func (s *scripted) ResumeThread(_ context.Context, id string, _ codex.ThreadSpec) (codex.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refuse) > 0 {
		err := s.refuse[0]
		s.refuse = s.refuse[1:]
		return codex.Thread{}, err
	}
	s.resumed = append(s.resumed, id)
	return codex.Thread{ID: id}, nil
}

func (s *scripted) LoadedThreads(context.Context) ([]string, error) { return nil, nil }

func (s *scripted) ListTurns(context.Context, string, int) ([]codex.Turn, error) { return s.turns, nil }

func (s *scripted) ListTurnItems(context.Context, string, string) ([]codex.Item, error) {
	return nil, nil
}

func (s *scripted) InterruptTurn(_ context.Context, threadID, turnID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = append(s.interrupted, threadID+" "+turnID)
	return nil
}

func (s *scripted) interrupts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.interrupted...)
}

var ann = models.Principal{ActorID: "human:ann", Role: models.RoleHuman}

// rig is a ledger with one run whose prompt is delivered into the thread "th", in
// the active turn "tu".
type rig struct {
	*testing.T
	l   *ledger.Ledger
	at  ledger.Options
	run models.Run
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigAt(t, ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), LockTimeout: 200 * time.Millisecond})
}

func newRigAt(t *testing.T, at ledger.Options) *rig {
	t.Helper()
	return newRigOn(t, at, models.AdapterKindFake, "/srv/w")
}

// newRigOn is a rig on an adapter of a kind, with a repository at root.
func newRigOn(t *testing.T, at ledger.Options, kind, root string) *rig {
	t.Helper()
	r := &rig{T: t, at: at}
	var err error
	r.l, err = ledger.Open(t.Context(), at)
	r.ok(err)
	t.Cleanup(func() { r.ok(r.l.Close()) })
	_, err = r.l.RegisterWorkspace(t.Context(), ledger.As(ann), ledger.NewWorkspace{ID: "w", RepoRoot: root, NodeID: "n"})
	r.ok(err)
	team, err := r.l.CreateTeam(t.Context(), ledger.As(ann), ledger.NewTeam{ID: "t", WorkspaceID: "w"})
	r.ok(err)
	s := team.Loop
	s.Enabled, s.AdapterKind = true, kind
	_, _, err = r.l.ConfigureLoop(t.Context(), ledger.As(ann), "t", s)
	r.ok(err)
	_, err = r.l.StartNode(t.Context(), "n", "host", 0)
	r.ok(err)
	p := models.Probe{AdapterKind: kind, Status: models.StatusActive, Capabilities: map[string]bool{}}
	for _, name := range models.RequiredCapabilities() {
		p.Capabilities[name] = true
	}
	r.ok(r.l.RecordProbe(t.Context(), "n", p))
	r.startRun()
	return r
}

func (r *rig) startRun() {
	r.Helper()
	_, err := r.l.CreateAssignment(r.Context(), ledger.As(ann), models.NewAssignment{ID: "a", WorkspaceID: "w", TeamID: "t", Title: "Do a"}, nil)
	r.ok(err)
	plan, err := r.l.PlanTeam(r.Context(), "t")
	r.ok(err)
	cmd := plan.Commands[0]
	_, _, err = r.l.BeginCommand(r.Context(), cmd.ID, "rig")
	r.ok(err)
	_, err = r.l.RecordThread(r.Context(), cmd.ID, "rig", "th")
	r.ok(err)
	r.ok(r.l.ClaimRun(r.Context(), cmd.ID, "rig", ledger.Claim{Prompt: "do it"}))
	m, err := r.l.BeginMessage(r.Context(), "th", "rig")
	r.ok(err)
	r.ok(r.l.Delivered(r.Context(), m.Item.ID, "rig", "tu", false))
	r.run, err = r.l.Run(r.Context(), cmd.RunID)
	r.ok(err)
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// turn reads a turn of the run.
func (r *rig) turn(id string) (models.Turn, bool) {
	r.Helper()
	return r.turnOf(models.AdapterKindFake, id)
}

func (r *rig) turnOf(kind, id string) (models.Turn, bool) {
	r.Helper()
	watched, err := r.l.WatchedThreads(r.Context(), "n", kind)
	r.ok(err)
	for _, w := range watched {
		for _, t := range w.Turns {
			if t.ID == id {
				return t, true
			}
		}
	}
	return models.Turn{}, false
}

// until waits for a condition.
func (r *rig) until(what string, holds func() bool) {
	r.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			r.Fatalf("after 20 s: %s", what)
		}
	}
}

// observing runs an observer over a scripted host until the test ends.
func (r *rig) observing() (*observer, *scripted) {
	r.Helper()
	o, host := newObserver(r.l, slog.New(slog.DiscardHandler)), newScripted()
	o.retry = 10 * time.Millisecond
	host.send = o.handler(host)
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan error, 1)
	go func() { done <- o.run(ctx) }()
	r.Cleanup(func() { cancel(); r.ok(<-done) })
	return o, host
}

func (r *rig) newHosts(dial func(context.Context, string) (codex.Adapter, error)) *hosts {
	o := Options{Ledger: r.l, StateDir: "/srv/state", Log: slog.New(slog.DiscardHandler)}
	n := &activities.Node{Ledger: r.l, Log: o.Log, Config: activities.NodeConfig{NodeID: "n", StateDir: o.StateDir, Cox: "/opt/cox", TempRoot: r.TempDir()}}
	h := newHosts(o, n, newObserver(r.l, o.Log))
	h.dial = dial
	return h
}
