package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// process measures cox from start to exit, on the shortest command that reads the
// ledger. It stands in for the lease commands until there are some.
func (b *bench) process(ctx context.Context) ([]row, error) {
	if b.cox == "" {
		return nil, errors.New("COX_BIN names no cox; make bench builds it and sets the variable")
	}
	path := filepath.Join(b.dir, "process.db")
	l, err := openScene(ctx, path, "/repo/process", "")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(create(ctx, l, held), l.Close()); err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range []struct {
		name string
		args []string
	}{
		{"cox assignment show (stand-in for lease acquire: the lease commands do not exist yet)", []string{"--db", path, "assignment", "show", held}},
		{"cox assignment create (the same, with one FULL transaction)", []string{"--db", path, "assignment", "create", "--team", crew, "--title", "Measure"}},
	} {
		more, err := b.starts50(ctx, c.name, c.args)
		if err != nil {
			return rows, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// starts50 runs one command line again and again.
func (b *bench) starts50(ctx context.Context, name string, args []string) ([]row, error) {
	wall, detail, err := b.wall(ctx, args)
	if err != nil {
		return nil, err
	}
	peak, err := b.peakMB(ctx, args)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost(name+", process start to exit, p50", ms(wall.p50()), "ms", 50, detail),
		atMost(name+", peak memory", peak, "MB", 40, nil),
	}, nil
}

// wall times one command line from start to exit, beside a process that does nothing.
func (b *bench) wall(ctx context.Context, args []string) (wall samples, detail map[string]any, err error) {
	var cpu, nothing samples
	for n := range b.starts + 2 {
		if n == 2 {
			wall, cpu, nothing = nil, nil, nil // the first ones fill the page cache
		}
		cmd := exec.CommandContext(ctx, b.cox, args...)
		cmd.Env = b.quietEnv()
		var state *os.ProcessState
		err := timed(&wall, func() error {
			out, err := cmd.CombinedOutput()
			if state = cmd.ProcessState; err != nil {
				err = fmt.Errorf("cox %v: %w: %s", args, err, out)
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		cpu = append(cpu, state.UserTime()+state.SystemTime())
		if err := timed(&nothing, func() error { return exec.CommandContext(ctx, "true").Run() }); err != nil {
			return nil, nil, err
		}
	}
	detail = wall.detail()
	detail["cpu_p50_ms"], detail["cpu_min_ms"] = ms(cpu.p50()), ms(cpu.quantile(0))
	detail["process_that_does_nothing_p50_ms"] = ms(nothing.p50()) // what the machine asks for any process now
	return wall, detail, nil
}

// peakMB is the most memory that the command had, of a few runs. What wait4 tells
// is useless, since it counts this program's own memory before the exec; so the
// high-water mark is read until the process is gone.
func (b *bench) peakMB(ctx context.Context, args []string) (float64, error) {
	highest := 0.0
	for range 3 {
		cmd := exec.CommandContext(ctx, b.cox, args...)
		cmd.Env = b.quietEnv()
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for running := true; running; {
			select {
			case err := <-ended:
				if running = false; err != nil {
					return 0, err
				}
			default:
				_, peak := memoryMB(cmd.Process.Pid)
				highest = max(highest, peak)
			}
		}
	}
	if highest == 0 {
		return 0, errors.New("this system does not tell a process's memory")
	}
	return highest, nil
}

// quietEnv is the environment of the product's processes: nothing of the user's
// own configuration or state.
func (b *bench) quietEnv(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "TMPDIR=" + b.dir, "COX_STATE_DIR=" + b.stateDir()}, more...)
}

func (b *bench) stateDir() string { return filepath.Join(b.dir, "state") }

// until waits for a condition.
func until(ctx context.Context, limit time.Duration, what string, fn func() (bool, error)) error {
	return untilEvery(ctx, 100*time.Millisecond, limit, what, fn)
}

// untilEvery is until with its own pause between two looks.
func untilEvery(ctx context.Context, pause, limit time.Duration, what string, fn func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		done, err := fn()
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %w", what, limit, ctx.Err())
		}
	}
}
