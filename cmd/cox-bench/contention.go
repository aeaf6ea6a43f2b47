package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"coxswain/models/ledger"
)

// tally is what processes say of their calls, or all of them together.
type tally struct {
	Done    int           `json:"done"` // acknowledged calls
	Errors  int           `json:"errors"`
	Error   string        `json:"error,omitempty"` // the first one
	Longest time.Duration `json:"longest_ns"`      // wait for one call
	Name    string        `json:"name"`            // what the ids of its rows begin with
}

// contended lets many processes write one ledger file, through the product and
// bare, and compares the throughputs.
func (b *bench) contended(ctx context.Context) ([]row, error) {
	alone, err := b.crowd(ctx, childBare, 1)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, n := range b.processes {
		product, err := b.crowd(ctx, childLedger, n)
		if err != nil {
			return rows, err
		}
		bare, err := b.crowd(ctx, childBare, n)
		if err != nil {
			return rows, err
		}
		rows = append(rows, b.judge(n, product, bare, alone)...)
	}
	return rows, nil
}

// crowded is the outcome of one crowd.
type crowded struct {
	tally
	found int // rows in the file
}

func (b *bench) judge(n int, product, bare, alone crowded) []row {
	name := fmt.Sprintf("%d processes calling for %s: ", n, b.contention)
	seconds := b.contention.Seconds()
	rate := func(c crowded) float64 { return rounded(float64(c.Done) / seconds) }
	detail := map[string]any{
		"product_per_second": rate(product), "bare_same_processes_per_second": rate(bare), "bare_same_processes_errors": bare.Errors,
		"bare_same_processes_longest_wait_ms": ms(bare.Longest), "bare_one_process_per_second": rate(alone),
	}
	if alone.Done > 0 {
		detail["share_of_bare_one_process_percent"] = rounded(100 * rate(product) / rate(alone))
	}
	errs := map[string]any{"calls": product.Done}
	if product.Error != "" {
		errs["first"] = product.Error
	}
	return []row{
		atMost(name+"errors", float64(product.Errors), "calls", 0, errs),
		atMost(name+"acknowledged calls without a row", float64(product.Done-product.found), "calls", 0, nil),
		atMost(name+"longest wait", product.Longest.Seconds(), "s", 2, nil),
		atLeast(name+"share of the bare driver loop of as many processes", 100*rate(product)/max(rate(bare), 1), "%", 70, detail),
	}
}

// crowd starts n processes on a new ledger, lets them go at once and counts the
// rows that are there afterwards.
func (b *bench) crowd(ctx context.Context, kind string, n int) (crowded, error) {
	return b.crowdAt(ctx, ledger.Options{Path: filepath.Join(b.dir, fmt.Sprintf("crowd-%s-%d.db", kind, n))}, kind, n)
}

func (b *bench) crowdAt(ctx context.Context, o ledger.Options, kind string, n int) (c crowded, err error) {
	l, err := openSceneAt(ctx, o, "/repo/crowd", "")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	b.say("  %d processes, %s", n, kind)
	children := make([]*child, 0, n)
	defer func() {
		for _, ch := range children {
			ch.end()
		}
	}()
	for range n {
		ch, err := startChild(ctx, childSpec{Kind: kind, Path: o.Path, StateDir: o.StateDir, For: b.contention}, b.progress)
		if err != nil {
			return c, err
		}
		children = append(children, ch)
	}
	tallies, err := together(children)
	if err != nil {
		return c, err
	}
	return count(ctx, l, tallies)
}

// together waits until all are ready, lets them go and collects what they say.
func together(children []*child) ([]tally, error) {
	for _, ch := range children {
		if _, err := ch.out.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("a process did not get ready: %w", err)
		}
	}
	for _, ch := range children {
		if _, err := io.WriteString(ch.in, "go\n"); err != nil {
			return nil, err
		}
	}
	tallies, errs := make([]tally, len(children)), make([]error, len(children))
	var group sync.WaitGroup
	for i, ch := range children {
		group.Go(func() { errs[i] = json.NewDecoder(ch.out).Decode(&tallies[i]) })
	}
	group.Wait()
	return tallies, errors.Join(errs...)
}

// count adds the tallies up and looks for the rows of each process.
func count(ctx context.Context, l *ledger.Ledger, tallies []tally) (c crowded, err error) {
	all, err := l.Assignments(ctx, ledger.AssignmentFilter{TeamID: crew})
	if err != nil {
		return c, err
	}
	rows := map[string]int{}
	for _, a := range all {
		rows[a.ID[:strings.LastIndex(a.ID, "-")]]++
	}
	for _, t := range tallies {
		c.Done, c.Errors, c.Longest = c.Done+t.Done, c.Errors+t.Errors, max(c.Longest, t.Longest)
		if c.Error == "" {
			c.Error = t.Error
		}
		c.found += min(rows[t.Name], t.Done)
	}
	return c, nil
}

// child is this program again, as one of many writers.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(ctx context.Context, spec childSpec, log io.Writer) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"="+string(text)), log
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{cmd: cmd, in: in, out: bufio.NewReader(out)}, cmd.Start()
}

// end lets the child see the end of its input and waits for it. How it ended does
// not matter once its tally was read; without one the error is known already.
func (c *child) end() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
