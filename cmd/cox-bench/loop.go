package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// loop measures the whole way from an assignment to its turn, with Temporal, the
// worker and the scripted agents in processes of their own.
func (b *bench) loop(ctx context.Context) (rows []row, err error) {
	s, err := b.startStack(ctx)
	defer func() { err = errors.Join(err, s.stop()) }()
	if err != nil {
		return nil, err
	}
	idleWorker, _ := memoryMB(s.worker.PID())
	for _, part := range []func(context.Context) ([]row, error){
		s.latency, s.history, func(ctx context.Context) ([]row, error) { return s.memory(ctx, idleWorker) }, s.server, s.recovery, s.stopAll,
	} {
		more, err := part(ctx)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func loopName(n int) string { return fmt.Sprintf("measured-%d", n) }

// steps are the times from the commit of an assignment to what follows.
type steps struct{ dispatched, claimed, turned, delivered samples }

// latency creates assignments one after the other, each while the loop is idle.
func (s *stack) latency(ctx context.Context) ([]row, error) {
	var all steps
	for n := range s.b.idleStarts + 1 {
		if n == 1 {
			all = steps{} // the first one opens the host
		}
		if err := s.idle(ctx); err != nil {
			return nil, err
		}
		if err := create(ctx, s.ledger, loopName(n)); err != nil {
			return nil, err
		}
		if err := s.follow(ctx, loopName(n), time.Now(), &all); err != nil {
			return nil, err
		}
	}
	detail := all.turned.detail()
	for name, part := range map[string]samples{"created_to_dispatched": all.dispatched, "created_to_claimed": all.claimed, "created_to_delivery_proved": all.delivered} {
		detail[name+"_p50_ms"], detail[name+"_min_ms"] = ms(part.p50()), ms(part.quantile(0))
	}
	return []row{
		atMost("assignment created → turn started (its row; turn/start was sent before), loop idle, p50", ms(all.turned.p50()), "ms", 500, detail),
		told("assignment created → claimed, loop idle, p50", ms(all.claimed.p50()), "ms", all.claimed.detail()),
	}, nil
}

// follow waits until the assignment has been reviewed and reads from the ledger
// when each step was taken.
func (s *stack) follow(ctx context.Context, id string, created time.Time, all *steps) error {
	var a models.Assignment
	err := until(ctx, stepWait, "assignment "+id+" to be accepted", func() (ended bool, err error) {
		a, err = s.ledger.Assignment(ctx, id)
		return a.Status.Terminal(), err
	})
	if err != nil {
		return err
	}
	detail, err := s.ledger.AssignmentDetail(ctx, id)
	if err != nil {
		return err
	}
	if a.Status != models.AssignmentAccepted || len(detail.Runs) != 1 {
		return fmt.Errorf("assignment %s: is %s after %d runs", id, a.Status, len(detail.Runs))
	}
	run, err := s.ledger.RunDetail(ctx, detail.Runs[0].ID)
	if err != nil {
		return err
	}
	if len(run.Turns) == 0 || len(run.Messages) == 0 || run.Messages[0].DeliveredAt == nil {
		return fmt.Errorf("assignment %s: its turn or its delivery is not recorded", id)
	}
	all.turned = append(all.turned, run.Turns[0].StartedAt.Sub(created))
	all.delivered = append(all.delivered, run.Messages[0].DeliveredAt.Sub(created))
	return all.events(detail.Events, created)
}

// events adds the times of the dispatch and of the claim.
func (all *steps) events(events []models.Event, created time.Time) error {
	for kind, into := range map[string]*samples{models.EventCommandDispatched: &all.dispatched, models.EventRunClaimed: &all.claimed} {
		found := false
		for _, e := range events {
			if e.Type == kind && !found {
				*into, found = append(*into, e.CreatedAt.Sub(created)), true
			}
		}
		if !found {
			return fmt.Errorf("no event %s was recorded", kind)
		}
	}
	return nil
}

// memory lets agents hang and looks at the worker once all their turns are active.
func (s *stack) memory(ctx context.Context, idle float64) ([]row, error) {
	if err := s.idle(ctx); err != nil {
		return nil, err
	}
	for n := range s.b.runs {
		_, err := s.ledger.CreateAssignment(ctx, ledger.As(person), models.NewAssignment{
			ID: fmt.Sprintf("hanging-%d", n), TeamID: crew, Title: "Hang", AllowedPaths: []string{fmt.Sprintf("src/part-%d", n)},
			Metadata: map[string]any{"fake": map[string]any{"behaviour": "hang"}},
		}, nil)
		if err != nil {
			return nil, err
		}
	}
	err := until(ctx, 2*stepWait, "all turns to be active", func() (bool, error) {
		active, err := s.activeTurns(ctx, time.Time{})
		return active == s.b.runs, err
	})
	if err != nil {
		return nil, err
	}
	now, peak := memoryMB(s.worker.PID())
	if now == 0 {
		return nil, errors.New("this system does not tell a process's memory")
	}
	return []row{atMost(fmt.Sprintf("worker memory with %d runs active", s.b.runs), now, "MB", 150,
		map[string]any{"peak_mb": rounded(peak), "idle_mb": rounded(idle), "worker_start_to_ready_ms": ms(s.workerStart)})}, nil
}

// activeTurns counts the turns under way that began after a time.
func (s *stack) activeTurns(ctx context.Context, since time.Time) (int, error) {
	runs, err := s.ledger.Runs(ctx, ledger.RunFilter{TeamID: crew, OpenOnly: true})
	if err != nil {
		return 0, err
	}
	active := 0
	for _, r := range runs {
		d, err := s.ledger.RunDetail(ctx, r.ID)
		if err != nil {
			return 0, err
		}
		for _, t := range d.Turns {
			if !t.Status.Ended() && t.StartedAt.After(since) {
				active++
			}
		}
	}
	return active, nil
}

// server tells how the embedded Temporal did.
func (s *stack) server(context.Context) ([]row, error) {
	now, peak := memoryMB(s.temporal.PID())
	return []row{
		told("cox-temporal start to ready, new database", ms(s.temporalStart), "ms", nil),
		told("cox-temporal memory after the loop's work", now, "MB", map[string]any{"peak_mb": rounded(peak)}),
	}, nil
}
