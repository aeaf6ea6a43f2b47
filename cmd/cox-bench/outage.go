package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// outage measures what a Temporal that stops answering costs: each command meanwhile,
// the way back, and a long queue of wake-ups that nobody brought.
func (b *bench) outage(ctx context.Context) (rows []row, err error) {
	s, err := b.startStack(ctx)
	defer func() { err = errors.Join(err, s.stop()) }()
	if err != nil {
		return nil, err
	}
	if err := s.idle(ctx); err != nil {
		return nil, err
	}
	for _, part := range []func(context.Context) ([]row, error){s.silent, s.queue} {
		more, err := part(ctx)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// silent stops Temporal in its tracks, runs commands, and lets it go on.
func (s *stack) silent(ctx context.Context) ([]row, error) {
	if err := syscall.Kill(s.temporal.PID(), syscall.SIGSTOP); err != nil {
		return nil, err
	}
	goOn := func() error { return syscall.Kill(s.temporal.PID(), syscall.SIGCONT) }
	began := time.Now()
	took, err := s.commandsWhileAway(ctx)
	if err != nil {
		return nil, errors.Join(err, goOn())
	}
	for time.Since(began) < s.b.outageFor { // so that every back-off has grown
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), goOn())
		}
	}
	if err := goOn(); err != nil {
		return nil, err
	}
	back := time.Now()
	if err := s.allRead(ctx, stepWait); err != nil {
		return nil, err
	}
	latency := time.Since(back)
	detail := took.detail()
	detail["commands"], detail["longest_ms"] = len(took), ms(slices.Max(took))
	return []row{
		atMost("a command while Temporal hangs, process start to exit, longest of 50", ms(slices.Max(took)), "ms", 300, detail),
		atMost(fmt.Sprintf("Temporal answers again after %s → every wake-up is read", s.b.outageFor), ms(latency), "ms", 5000, nil),
	}, nil
}

// commandsWhileAway runs a change and a look in turn.
func (s *stack) commandsWhileAway(ctx context.Context) (took samples, err error) {
	for n := range s.b.awayCommands {
		args := []string{"--json", "status"}
		if n%2 == 0 {
			args = []string{"--json", "assignment", "create", "--team", crew, "--title", "Wait", "--id", fmt.Sprintf("away-%d", n), "--path", fmt.Sprintf("src/away-%d", n)}
		}
		cmd := exec.CommandContext(ctx, s.b.cox, args...)
		cmd.Env = s.b.quietEnv("COX_DB=" + s.db())
		if err := timed(&took, func() error {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("cox %v: %w: %s", args, err, out)
			}
			return err
		}); err != nil {
			return took, err
		}
	}
	return took, nil
}

// queue raises wake-ups while no worker runs, and starts one.
func (s *stack) queue(ctx context.Context) ([]row, error) {
	s.worker.Stop(stopGrace)
	threads := make([]string, s.b.wakeups)
	for n := range threads {
		threads[n] = fmt.Sprintf("nobody-%06d", n)
	}
	if err := s.ledger.WakeThreads(ctx, threads); err != nil {
		return nil, err
	}
	if err := s.startWorker(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.allRead(ctx, time.Hour); err != nil {
		return nil, err
	}
	took := time.Since(began)
	now, peak := memoryMB(s.worker.PID())
	return []row{
		told(fmt.Sprintf("%d wake-ups raised while no worker runs → all read", s.b.wakeups), took.Seconds(), "s", map[string]any{"per_second": rounded(float64(s.b.wakeups) / took.Seconds())}),
		atMost("worker memory after that", now, "MB", 150, map[string]any{"peak_mb": rounded(peak)}),
	}, nil
}

// allRead waits until no workflow has anything left to read.
func (s *stack) allRead(ctx context.Context, limit time.Duration) error {
	return until(ctx, limit, "every wake-up to be read", func() (bool, error) {
		due, err := s.ledger.DueWakeups(ctx, 1)
		return len(due) == 0, err
	})
}
