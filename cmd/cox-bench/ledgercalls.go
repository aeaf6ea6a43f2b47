package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"coxswain/models/ledger"
)

// synchronous modes of SQLite.
const (
	syncNormal = 1
	syncFull   = 2
)

// duel is one product call against its own statements bare, on two ledgers of the
// same content, in turns.
type duel struct {
	name        string
	synchronous int
	product     func(ctx context.Context, n int) error
	bare        []statement
}

// ledgerCalls compares a decision and a heartbeat with their statements bare.
func (b *bench) ledgerCalls(ctx context.Context) (rows []row, err error) {
	l, err := openScene(ctx, filepath.Join(b.dir, "calls.db"), "/repo/calls", "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	runID, err := hold(ctx, l)
	if err != nil {
		return nil, err
	}
	barePath := filepath.Join(b.dir, "calls-bare.db")
	decision, beat, err := recordCalls(ctx, barePath)
	if err != nil {
		return nil, err
	}
	for _, d := range []duel{
		{
			"ledger decision in process (create assignment, synchronous FULL)", syncFull,
			func(ctx context.Context, n int) error { return createNumbered(ctx, l, "call", n) }, decision,
		},
		{
			"ledger heartbeat in process (synchronous NORMAL)", syncNormal,
			func(ctx context.Context, _ int) error { return heartbeat(ctx, l, runID) }, beat,
		},
	} {
		more, err := b.fight(ctx, d, barePath)
		if err != nil {
			return rows, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// recordCalls records one decision and one heartbeat on a ledger of its own, once
// everything is warm, and closes it.
func recordCalls(ctx context.Context, path string) (decision, beat []statement, err error) {
	rec := &recorder{}
	var l *ledger.Ledger
	err = recording(rec, func() (err error) { l, err = openScene(ctx, path, "/repo/bare", ""); return err })
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	runID, err := hold(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(heartbeat(ctx, l, runID), create(ctx, l, "warm")); err != nil {
		return nil, nil, err
	}
	rec.take()
	err = create(ctx, l, marker)
	decision = rec.take()
	err = errors.Join(err, heartbeat(ctx, l, runID))
	return decision, rec.take(), err
}

// fight runs both sides in turns.
func (b *bench) fight(ctx context.Context, d duel, barePath string) (rows []row, err error) {
	r, err := openReplay(ctx, barePath, d.synchronous, d.bare, processName(fmt.Sprintf("replay-%d", d.synchronous)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var product, bare samples
	const warm = 10
	for n := range b.calls + warm {
		if n == warm {
			product, bare = nil, nil
		}
		err := timed(&product, func() error { return d.product(ctx, n) })
		if err == nil {
			err = timed(&bare, func() error { return r.once(ctx) })
		}
		if err != nil {
			return nil, err
		}
	}
	detail := map[string]any{"product": product.detail(), "bare": bare.detail(), "statements": len(d.bare)}
	ratio := float64(product.p50()) / float64(bare.p50())
	absolute := told(d.name+", p50", ms(product.p50()), "ms", nil)
	if ms(bare.p50()) <= 1 { // the target holds where the disk allows it
		absolute = judged(absolute, "<= 1", ms(product.p50()) <= 1)
	}
	return []row{atMost(d.name+", p50 against the same statements bare", ratio, "ratio", 1.5, detail), absolute}, nil
}
