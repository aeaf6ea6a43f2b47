package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"coxswain/models"
	"coxswain/models/ledger"
)

// readyEach says that one of so many assignments of the mixed ledger is ready;
// the others have been accepted long ago.
const readyEach = 10

// queries measures what grows with the ledger.
func (b *bench) queries(ctx context.Context) ([]row, error) {
	mixed, err := b.large(ctx, "mixed", readyEach)
	if err != nil {
		return nil, err
	}
	allReady, err := b.large(ctx, "all ready", 1)
	if err != nil {
		return mixed, err
	}
	cycle, err := b.cycle(ctx)
	return append(append(mixed, allReady...), cycle...), err
}

// bulk makes a ledger of many assignments and opens it.
func (b *bench) bulk(ctx context.Context, name string, assignments, edges, readyEach int) (*ledger.Ledger, error) {
	path := filepath.Join(b.dir, name+".db")
	l, err := openScene(ctx, path, "/repo/"+name, "")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(create(ctx, l, held), l.Close()); err != nil {
		return nil, err
	}
	if err := multiply(ctx, path, assignments, readyEach); err != nil {
		return nil, fmt.Errorf("fill the ledger: %w", err)
	}
	if err := chain(ctx, path, edges); err != nil {
		return nil, fmt.Errorf("fill in the dependencies: %w", err)
	}
	return ledger.Open(ctx, ledger.Options{Path: path})
}

// large measures the ready query and the plan over one large team.
func (b *bench) large(ctx context.Context, kind string, readyEach int) (rows []row, err error) {
	l, err := b.bulk(ctx, "large-"+strconv.Itoa(readyEach), b.assignments, 0, readyEach)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := planned(ctx, l); err != nil {
		return nil, err
	}
	var ready, plan samples
	found, left := 0, 0
	for range b.repeats {
		err := timed(&ready, func() error {
			list, err := l.Assignments(ctx, ledger.AssignmentFilter{TeamID: crew, Statuses: []models.AssignmentStatus{models.AssignmentReady}})
			found = len(list)
			return err
		})
		if err != nil {
			return nil, err
		}
		err = timed(&plan, func() error {
			p, err := l.PreviewTeam(ctx, crew)
			left = len(p.LeftOut) + len(p.Commands)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	amount := fmt.Sprintf(" over %d assignments, %s, p50", b.assignments, kind)
	detail := func(s samples, key string, n int) map[string]any { d := s.detail(); d[key] = n; return d }
	readyRow := told("ready query"+amount, ms(ready.p50()), "ms", detail(ready, "ready", found))
	if readyEach > 1 {
		readyRow = judged(readyRow, "<= 30", ms(ready.p50()) <= 30)
	}
	return []row{readyRow, atMost("plan"+amount, ms(plan.p50()), "ms", 200, detail(plan, "candidates", left))}, nil
}

// planned turns the loop of the team on, so that the plan looks at every start.
func planned(ctx context.Context, l *ledger.Ledger) error {
	_, _, err := l.ConfigureLoop(ctx, ledger.As(person), crew, models.LoopSettings{Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 3})
	return err
}

// cycle measures the whole call that creates an assignment at the end of a long
// chain of dependencies, and the same call without a dependency beside it.
func (b *bench) cycle(ctx context.Context) (rows []row, err error) {
	l, err := b.bulk(ctx, "cycle", b.edges+1, b.edges, readyEach)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var with, without samples
	for n := range b.repeats {
		err := timed(&with, func() error { return create(ctx, l, fmt.Sprintf("with-%d", n), bulkName(b.edges+1)) })
		if err == nil {
			err = timed(&without, func() error { return createNumbered(ctx, l, "without", n) })
		}
		if err != nil {
			return nil, err
		}
	}
	detail := with.detail()
	detail["same_call_without_dependency_p50_ms"] = ms(without.p50())
	return []row{atMost(fmt.Sprintf("create assignment with cycle check over %d dependencies in a chain, p50", b.edges), ms(with.p50()), "ms", 70, detail)}, nil
}
