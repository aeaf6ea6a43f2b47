package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// status measures `cox status` from start to exit while many runs are live, each with
// its active turn.
func (b *bench) status(ctx context.Context) ([]row, error) {
	if b.cox == "" {
		return nil, errors.New("COX_BIN names no cox; make bench builds it and sets the variable")
	}
	path := filepath.Join(b.dir, "status.db")
	l, err := openScene(ctx, path, "/repo/status", "bench-node")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(b.statusScene(ctx, l), l.Close()); err != nil {
		return nil, err
	}
	wall, detail, err := b.wall(ctx, []string{"--db", path, "status", "--json"})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("cox status with %d live runs, process start to exit, p50", b.liveRuns)
	return []row{atMost(name, ms(wall.p50()), "ms", 200, detail)}, nil
}

// statusScene is the live runs with their turns, and as much work that waits for them.
func (b *bench) statusScene(ctx context.Context, l *ledger.Ledger) error {
	if err := liveRuns(ctx, l, b.liveRuns); err != nil {
		return err
	}
	for n := range b.liveRuns {
		if _, err := l.TurnStarted(ctx, ledger.TurnReport{ThreadID: streamedThread(n), TurnID: fmt.Sprintf("turn-%d", n)}); err != nil {
			return err
		}
		_, err := l.CreateAssignment(ctx, ledger.As(person), models.NewAssignment{
			ID: fmt.Sprintf("waiting-%d", n), TeamID: crew, Title: "Wait", AllowedPaths: []string{fmt.Sprintf("src/part-%d", n)},
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// stopAll measures from the start of `cox stop --all` until every turn reads as ended,
// while all runs hang in one.
func (s *stack) stopAll(ctx context.Context) ([]row, error) {
	active, err := s.activeTurns(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, s.b.cox, "--db", s.db(), "stop", "--all", "--reason", "measured")
	cmd.Env = s.b.quietEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cox stop --all: %w: %s", err, out)
	}
	answered := time.Since(began)
	err = untilEvery(ctx, 10*time.Millisecond, stepWait, "every turn to read as ended", func() (bool, error) {
		n, err := s.activeTurns(ctx, time.Time{})
		return n == 0, err
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	if active == 0 {
		return nil, errors.New("no turn was active before cox stop --all")
	}
	name := fmt.Sprintf("cox stop --all with %d turns active, from its start until each reads as ended", active)
	return []row{atMost(name, took.Seconds(), "s", 2, map[string]any{"adapter": models.AdapterKindFake, "answered_ms": ms(answered)})}, nil
}
