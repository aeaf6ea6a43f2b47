package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"coxswain/models/ledger"
)

// childEnv holds the task of a process that this program started as one of many
// writers.
const childEnv = "COX_BENCH_CHILD"

// The kinds of children: two of writers, a process that watches a host, and the
// Codex of that host.
const (
	childLedger = "product"
	childBare   = "bare"
	childWatch  = "watch"
	childCodex  = "codex"
)

// childSpec is the task of a child.
type childSpec struct {
	Kind     string        `json:"kind"`
	Path     string        `json:"path"`
	StateDir string        `json:"state_dir,omitempty"`
	For      time.Duration `json:"for_ns"`
	Runs     int           `json:"runs,omitempty"`    // that stream
	Batches  int           `json:"batches,omitempty"` // of events
}

// runChild does the task.
func runChild(ctx context.Context, text string, in io.Reader, out, log io.Writer) int {
	var spec childSpec
	err := json.Unmarshal([]byte(text), &spec)
	if err == nil {
		err = spec.run(ctx, in, out)
	}
	if err != nil {
		fmt.Fprintln(log, "cox-bench child:", err)
		return 1
	}
	return 0
}

func (s childSpec) run(ctx context.Context, in io.Reader, out io.Writer) error {
	switch s.Kind {
	case childWatch:
		return s.watch(ctx, out)
	case childCodex:
		return s.playCodex(in, out)
	default:
		return s.write(ctx, in, out)
	}
}

// write says ready, waits for a line, calls until the time is over and prints its
// tally.
func (s childSpec) write(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	call, release, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err // the parent is gone
	}
	t := tally{Name: processName(s.Kind)}
	for end := time.Now().Add(s.For); time.Now().Before(end); {
		began := time.Now()
		err := call()
		t.Longest = max(t.Longest, time.Since(began))
		if err == nil {
			t.Done++
			continue
		}
		if t.Errors++; t.Error == "" {
			t.Error = err.Error()
		}
	}
	return json.NewEncoder(out).Encode(t)
}

// open makes the call of the writer and does it once, so that it is warm. A bare
// writer records the statements of the product's call first.
func (s childSpec) open(ctx context.Context) (call func() error, release func() error, err error) {
	if s.Kind == childBare {
		return openBareWriter(ctx, s.Path)
	}
	l, err := ledger.Open(ctx, ledger.Options{Path: s.Path, StateDir: s.StateDir})
	if err != nil {
		return nil, nil, err
	}
	n, name := 0, processName(childLedger)
	return func() error { n++; return createNumbered(ctx, l, name, n) }, l.Close, create(ctx, l, "warm-"+name)
}

func openBareWriter(ctx context.Context, path string) (call func() error, release func() error, err error) {
	rec := &recorder{}
	var l *ledger.Ledger
	err = recording(rec, func() (err error) { l, err = ledger.Open(ctx, ledger.Options{Path: path}); return err })
	if err != nil {
		return nil, nil, err
	}
	name := processName(childBare)
	err = create(ctx, l, "warm-"+name)
	rec.take()
	err = errors.Join(err, create(ctx, l, marker+"-"+name))
	list := rec.take()
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, nil, err
	}
	for _, s := range list { // ids keep the name once
		for i, a := range s.args {
			s.args[i] = unnamed(a, "-"+name)
		}
	}
	r, err := openReplay(ctx, path, syncFull, list, name)
	if err != nil {
		return nil, nil, err
	}
	return func() error { return r.once(ctx) }, r.close, nil
}
