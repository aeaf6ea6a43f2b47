package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Campaign runs worlds side by side for a time.
type Campaign struct {
	Programs
	Seed     uint64
	Duration time.Duration // in which worlds begin, all runs of the seed together
	Parallel int
	Only     int    // the one world to run again; -1 for all
	Minimum  int    // kills that every arrow needs
	Dir      string // where worlds and the report lie
	Progress io.Writer

	mu     sync.Mutex
	report Report
	next   int
	began  time.Time
	before float64 // seconds of earlier runs of the seed
}

// transportOf deals the transports to the worlds, the fake as often as a real Codex.
func (c *Campaign) transportOf(world int) Transport {
	if c.Codex == "" {
		return Fake
	}
	return []Transport{Unix, Fake, Stdio, Fake}[world%4]
}

// Run runs the campaign, or goes on with it, and returns what was found. An error
// means that it could not be run.
func (c *Campaign) Run(ctx context.Context) (Report, error) {
	path := filepath.Join(c.Dir, fmt.Sprintf("seed-%d.json", c.Seed))
	var err error
	if c.report, err = load(path, c.Seed); err != nil {
		return c.report, err
	}
	c.report.Minimum, c.before, c.began = c.Minimum, c.report.Seconds, time.Now()
	var g errgroup.Group
	for range max(c.Parallel, 1) {
		g.Go(func() error {
			for {
				world, more := c.take()
				if !more || ctx.Err() != nil {
					return ctx.Err()
				}
				r := c.world(ctx, world)
				if ctx.Err() != nil {
					return ctx.Err() // a world that was stopped half-way says nothing
				}
				if err := c.note(path, r); err != nil {
					return err
				}
			}
		})
	}
	err = g.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil // stopped by a person: what was run is reported
	}
	return c.report, err
}

// take is the next world that was not run yet, while there is time for one more.
func (c *Campaign) take() (world int, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Only >= 0 {
		c.next++
		return c.Only, c.next == 1
	}
	for slices.ContainsFunc(c.report.Worlds, func(w WorldReport) bool { return w.World == c.next }) {
		c.next++
	}
	c.next++
	return c.next - 1, c.before+time.Since(c.began).Seconds() < c.Duration.Seconds()
}

// world runs one world. Its folder is removed when nothing was found.
func (c *Campaign) world(ctx context.Context, n int) WorldReport {
	r := WorldReport{World: n, Transport: c.transportOf(n), Dir: filepath.Join(c.Dir, fmt.Sprintf("%d-%d", c.Seed, n))}
	w := &World{Programs: c.Programs, Dir: r.Dir, Transport: r.Transport, Plan: Plan(c.Seed, n, r.Transport)}
	err := os.RemoveAll(r.Dir) // of a campaign that was stopped half-way
	if err == nil {
		r.Outcome, err = w.Run(ctx)
	}
	if err = errors.Join(err, w.Kill()); err != nil {
		r.Error = err.Error()
	}
	if r.clean() {
		_ = os.RemoveAll(r.Dir) // what stays hides nothing
		r.Dir = ""
	}
	return r
}

// note keeps the report of a world and tells of it.
func (c *Campaign) note(path string, r WorldReport) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Worlds = append(slices.DeleteFunc(c.report.Worlds, func(w WorldReport) bool { return w.World == r.World }), r)
	c.report.Seconds = c.before + time.Since(c.began).Seconds()
	verdict := "clean"
	if !r.clean() {
		verdict = fmt.Sprintf("%d findings, see %s", len(r.Findings), r.Dir)
	}
	fmt.Fprintf(c.Progress, "%4.0f s  world %d on %s: %d kills in %.0f s, %d never came: %s\n",
		c.report.Seconds, r.World, r.Transport, len(r.Marks), r.Seconds, len(r.Unfired), verdict)
	if r.Error != "" {
		fmt.Fprintf(c.Progress, "        %s\n", r.Error)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(c.Progress, "        %s %s: %s\n", f.Code, f.Subject, f.Text)
	}
	return c.report.save(path)
}
