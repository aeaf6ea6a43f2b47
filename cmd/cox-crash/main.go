package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"coxswain/cmd/internal/crash"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program; it returns the exit code: 0 when every promise was kept,
// 1 when one was broken or the campaign could not be run, 2 for a wrong command line.
func run(ctx context.Context, args []string, out, progress io.Writer) int {
	c := &crash.Campaign{Progress: progress}
	flags := flag.NewFlagSet("cox-crash", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Uint64Var(&c.Seed, "seed", uint64(time.Now().Unix()), "`N` from which all kills follow; an earlier one goes on") //nolint:gosec // after 1970
	flags.DurationVar(&c.Duration, "duration", 10*time.Minute, "how long worlds begin")
	flags.IntVar(&c.Parallel, "parallel", 4, "`N` worlds at a time")
	flags.IntVar(&c.Only, "world", -1, "run world `N` of the seed again, and no other")
	flags.IntVar(&c.Minimum, "minimum", 10, "kills that every arrow needs")
	flags.StringVar(&c.Dir, "dir", filepath.Join(os.TempDir(), "cox-crash"), "`FOLDER` for worlds and reports")
	flags.StringVar(&c.Cox, "cox", os.Getenv("COX_BIN"), "the cox `PROGRAM`, built with the tag failpoints")
	flags.StringVar(&c.Temporal, "temporal", os.Getenv("COX_TEMPORAL_BIN"), "the cox-temporal `PROGRAM`")
	flags.StringVar(&c.Codex, "codex", os.Getenv("COX_CODEX_BIN"), "the Codex `PROGRAM`; without it the fake alone is run")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if c.Cox == "" || c.Temporal == "" {
		fmt.Fprintln(progress, "COX_BIN or COX_TEMPORAL_BIN names no program; make crash builds both")
		return 2
	}
	if c.Only >= 0 {
		c.Minimum = 0
	}
	return campaign(ctx, c, out, progress)
}

func campaign(ctx context.Context, c *crash.Campaign, out, progress io.Writer) int {
	fmt.Fprintf(progress, "seed %d, for %s, reports in %s\n", c.Seed, c.Duration, c.Dir)
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		fmt.Fprintln(progress, err)
		return 1
	}
	r, err := c.Run(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(progress, "stopped:", context.Cause(ctx))
	}
	r.Print(progress)
	problems := r.Problems()
	for _, p := range problems {
		fmt.Fprintln(progress, "FAILED:", p)
	}
	doc := struct {
		OK       bool           `json:"ok"`
		Seed     uint64         `json:"seed"`
		Seconds  float64        `json:"seconds"`
		Worlds   int            `json:"worlds"`
		Kills    map[string]int `json:"kills"`
		Problems []string       `json:"problems"`
	}{err == nil && len(problems) == 0, r.Seed, r.Seconds, len(r.Worlds), r.Kills(), append([]string{}, problems...)}
	if printed := json.NewEncoder(out).Encode(doc); printed != nil || err != nil || !doc.OK {
		if err != nil {
			fmt.Fprintln(progress, err)
		}
		return 1
	}
	return 0
}
