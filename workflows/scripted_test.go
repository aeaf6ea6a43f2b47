package workflows_test

import (
	"context"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
)

func (c *tapped) tap(set map[string]func(), name string) {
	if fn := set[name]; fn != nil {
		delete(set, name) // once
		fn()
	}
}

func (c *tapped) LookAtAssignment(ctx context.Context, s activities.Subject) (activities.AssignmentLook, error) {
	out, err := c.Control.LookAtAssignment(ctx, s)
	c.tap(c.after, "LookAtAssignment")
	return out, err
}

func (c *tapped) LookAtThread(ctx context.Context, s activities.Subject) (activities.DeliveryLook, error) {
	out, err := c.Control.LookAtThread(ctx, s)
	c.tap(c.after, "LookAtThread")
	return out, err
}

func (c *tapped) PlanTeam(ctx context.Context, s activities.Subject) (activities.LoopLook, error) {
	out, err := c.Control.PlanTeam(ctx, s)
	c.tap(c.after, "PlanTeam")
	return out, err
}

func (c *tapped) Rest(ctx context.Context, in activities.RestInput) (bool, error) {
	c.tap(c.before, "Rest")
	return c.Control.Rest(ctx, in)
}

func (c *tapped) ClaimRun(ctx context.Context, in activities.ClaimInput) (bool, error) {
	c.tap(c.before, "ClaimRun")
	return c.Control.ClaimRun(ctx, in)
}

func (c *tapped) QueueNudge(ctx context.Context, in activities.ClaimInput) error {
	c.tap(c.before, "QueueNudge")
	return c.Control.QueueNudge(ctx, in)
}

func (c *tapped) CancelAssignment(ctx context.Context, in activities.CancelInput) error {
	if c.over.Load() {
		return nil
	}
	return c.Control.CancelAssignment(ctx, in)
}

func (c *tapped) TurnLoopOff(ctx context.Context, in activities.CancelInput) error {
	if c.over.Load() {
		return nil
	}
	return c.Control.TurnLoopOff(ctx, in)
}

// scripted is a node whose threads exist in the ledger only. It records what it
// was asked, on which queue, and fails as scripted.
type scripted struct {
	l *ledger.Ledger

	mu      sync.Mutex
	started int
	calls   []string           // "StartThread cmd_…"
	queues  map[string]bool    // task queues that were used
	fails   map[string][]error // what the next calls of a name fail with; nil goes on
	hook    map[string]func()  // runs inside the next call of a name
	closed  bool               // StartThread says that the command is closed
	reject  string             // StartThread fails the command for this reason
}

// begin notes a call and returns what it is scripted to fail with.
func (s *scripted) begin(ctx context.Context, name, subject string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name+" "+subject)
	if s.queues == nil {
		s.queues = map[string]bool{}
	}
	s.queues[activity.GetInfo(ctx).TaskQueue] = true
	if fn := s.hook[name]; fn != nil {
		delete(s.hook, name)
		fn()
	}
	if len(s.fails[name]) == 0 {
		return nil
	}
	err := s.fails[name][0]
	s.fails[name] = s.fails[name][1:]
	return err
}

// broken is a failure that is not retried within the step.
func broken() error {
	return temporal.NewNonRetryableApplicationError("broken", string(models.CodeForbidden), nil)
}

func ownerOf(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return fmt.Sprintf("%s/%s/%d", info.WorkflowExecution.RunID, info.ActivityID, info.Attempt)
}

func (s *scripted) StartThread(ctx context.Context, in activities.CommandInput) (activities.Started, error) {
	out := activities.Started{Owner: ownerOf(ctx), Branch: "main", BaseCommit: "c0ffee"}
	if err := s.begin(ctx, "StartThread", in.CommandID); err != nil {
		return out, err
	}
	w, open, err := s.l.BeginCommand(ctx, in.CommandID, out.Owner)
	if err != nil || !open || s.closed {
		out.Closed = true
		return out, err
	}
	if s.reject != "" {
		out.Failed = true
		return out, s.l.FailCommand(ctx, in.CommandID, out.Owner, s.reject)
	}
	if out.ThreadID = w.Binding.ThreadID; out.ThreadID != "" {
		return out, nil
	}
	s.mu.Lock()
	s.started++
	out.ThreadID = fmt.Sprintf("th-%d", s.started)
	s.mu.Unlock()
	_, err = s.l.RecordThread(ctx, in.CommandID, out.Owner, out.ThreadID)
	return out, err
}

func (s *scripted) AbandonStart(ctx context.Context, in activities.ArchiveInput) error {
	if err := s.begin(ctx, "AbandonStart", in.CommandID+" "+in.ThreadID); err != nil {
		return err
	}
	return s.l.FailCommand(ctx, in.CommandID, in.Owner, "abandoned")
}

func (s *scripted) InterruptRun(ctx context.Context, in activities.CommandInput) error {
	if err := s.begin(ctx, "InterruptRun", in.CommandID); err != nil {
		return err
	}
	w, open, err := s.l.BeginCommand(ctx, in.CommandID, ownerOf(ctx))
	if err != nil || !open {
		return err
	}
	if err := s.l.EndRun(ctx, w.Run.ID, "interrupted"); err != nil {
		return err
	}
	return s.l.FinishCommand(ctx, in.CommandID, ownerOf(ctx), "turn_interrupted")
}

func (s *scripted) InspectScope(ctx context.Context, in activities.ScopeInput) error {
	if err := s.begin(ctx, "InspectScope", in.AssignmentID); err != nil {
		return err
	}
	return s.l.RecordDirt(ctx, in.AssignmentID, nil, 0)
}

func (s *scripted) Probe(ctx context.Context, in activities.CommandInput) error {
	if err := s.begin(ctx, "Probe", in.CommandID); err != nil {
		return err
	}
	w, open, err := s.l.BeginCommand(ctx, in.CommandID, ownerOf(ctx))
	if err != nil || !open {
		return err
	}
	if err := s.l.RecordProbe(ctx, w.Command.NodeID, able()); err != nil {
		return err
	}
	return s.l.FinishCommand(ctx, in.CommandID, ownerOf(ctx), "probed_active")
}

// Deliver sends the oldest message into a new turn, or holds it back.
func (s *scripted) Deliver(ctx context.Context, in activities.DeliverInput) error {
	if err := s.begin(ctx, "Deliver", in.ThreadID); err != nil {
		return err
	}
	m, err := s.l.BeginMessage(ctx, in.ThreadID, ownerOf(ctx))
	if err != nil || m == nil {
		return err
	}
	s.mu.Lock()
	s.calls[len(s.calls)-1] += " " + m.Text
	s.mu.Unlock()
	return s.l.Delivered(ctx, m.Item.ID, ownerOf(ctx), "tu-"+m.Item.ID, false)
}

func (s *scripted) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}
