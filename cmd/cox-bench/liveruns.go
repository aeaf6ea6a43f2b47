package main

import (
	"context"
	"errors"
	"fmt"

	"coxswain/models"
	"coxswain/models/ledger"
)

// liveRuns takes so many assignments to a run that is claimed on a thread, by the
// ledger calls of a node that carries its start out.
func liveRuns(ctx context.Context, l *ledger.Ledger, count int) error {
	if err := probedNode(ctx, l, count); err != nil {
		return err
	}
	for n := range count {
		_, err := l.CreateAssignment(ctx, ledger.As(person), models.NewAssignment{
			ID: streamedName(n), TeamID: crew, Title: "Stream", AllowedPaths: []string{fmt.Sprintf("src/part-%d", n)},
		}, nil)
		if err != nil {
			return err
		}
	}
	pass, err := l.PlanTeam(ctx, crew)
	if err != nil {
		return err
	}
	started := 0
	for _, cmd := range pass.Commands {
		if cmd.Type != models.CommandStart {
			continue
		}
		if err := carryOut(ctx, l, cmd, started); err != nil {
			return err
		}
		started++
	}
	if started != count {
		return fmt.Errorf("%d of %d assignments were started", started, count)
	}
	return nil
}

// probedNode starts the bench's node with an adapter that can do everything, and turns
// the loop on.
func probedNode(ctx context.Context, l *ledger.Ledger, runs int) error {
	_, _, err := l.ConfigureLoop(ctx, ledger.As(person), crew, models.LoopSettings{
		Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: runs, ReviewNudgeSeconds: 60,
	})
	if err != nil {
		return err
	}
	if _, err := l.StartNode(ctx, "bench-node", "bench", 0); err != nil {
		return err
	}
	can := map[string]bool{}
	for _, name := range models.RequiredCapabilities() {
		can[name] = true
	}
	return l.RecordProbe(ctx, "bench-node", models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusActive, Capabilities: can})
}

func carryOut(ctx context.Context, l *ledger.Ledger, cmd models.Command, n int) error {
	const attempt = "bench"
	_, open, err := l.BeginCommand(ctx, cmd.ID, attempt)
	if err != nil || !open {
		return errors.Join(fmt.Errorf("command %s is open: %t", cmd.ID, open), err)
	}
	if _, err := l.RecordThread(ctx, cmd.ID, attempt, streamedThread(n)); err != nil {
		return err
	}
	return l.ClaimRun(ctx, cmd.ID, attempt, ledger.Claim{Branch: "main", Prompt: "stream"})
}
