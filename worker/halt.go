package worker

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
)

// Figures of the halter.
const (
	haltPoll   = 50 * time.Millisecond // between two looks at the ledger's version
	haltAgain  = time.Second           // between two looks at what was not ended yet
	haltAtOnce = 16                    // turns interrupted at a time
)

// halter ends the turns of teams that a person stopped. It asks the ledger alone, so
// that a stop needs no engine; an interrupt command for the same turn finds it ended.
type halter struct {
	ledger *ledger.Ledger
	nodeID string
	halt   func(context.Context, models.Binding) error
	log    *slog.Logger
	told   map[string]bool // threads whose failure is logged already
}

func newHalter(o Options, n *activities.Node) *halter {
	return &halter{
		ledger: o.Ledger, nodeID: n.Config.NodeID, log: o.Log, told: map[string]bool{},
		halt: func(ctx context.Context, b models.Binding) error { return activities.Halt(ctx, n, b) },
	}
}

func (h *halter) run(ctx context.Context) error {
	watch, err := h.ledger.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close() //nolint:errcheck // a read-only handle
	var last time.Time
	return every(ctx, haltPoll, func() {
		changed, err := watch.Changed(ctx)
		if err == nil && !changed && time.Since(last) < haltAgain {
			return
		}
		last = time.Now()
		if err := h.pass(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("the stopped teams cannot be read", "error", err)
		}
	})
}

// pass ends every turn that should not go on. What could not be ended is met again at
// the next pass.
func (h *halter) pass(ctx context.Context) error {
	threads, err := h.ledger.ToHalt(ctx, h.nodeID)
	if err != nil || len(threads) == 0 {
		clear(h.told)
		return err
	}
	failed := make([]error, len(threads))
	var g errgroup.Group
	g.SetLimit(haltAtOnce)
	for i, b := range threads {
		g.Go(func() error {
			failed[i] = h.halt(ctx, b)
			return nil // one thread's failure stops no other
		})
	}
	_ = g.Wait() // no function returns an error
	for i, err := range failed {
		if id := threads[i].ThreadID; err != nil && ctx.Err() == nil && !h.told[id] {
			h.told[id] = true
			h.log.Warn("a turn of a stopped team was not ended yet, repeated", "thread", id, "team", threads[i].TeamID, "error", err)
		}
	}
	return nil
}
