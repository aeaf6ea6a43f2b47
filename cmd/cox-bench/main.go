package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program; it returns the exit code: 0 when every measure gave
// its figures, 1 when one failed, 2 for a wrong command line.
func run(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) int {
	if spec := os.Getenv(childEnv); spec != "" {
		return runChild(ctx, spec, in, out, progress)
	}
	b := &bench{scale: fullScale(), progress: progress, cox: os.Getenv("COX_BIN"), temporal: os.Getenv("COX_TEMPORAL_BIN")}
	flags := flag.NewFlagSet("cox-bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	only := flags.String("only", "", "comma-separated `NAMES` of measures: "+strings.Join(names(measures()), ", "))
	tiny := flags.Bool("tiny", false, "the smallest amounts, to see that everything works; the figures mean nothing")
	dir := flags.String("dir", "", "`FOLDER` for the ledgers; default: the system's temporary one")
	profile := flags.String("cpuprofile", "", "`FILE` for a CPU profile of this process, for go tool pprof")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *tiny {
		b.scale = tinyScale()
	}
	chosen, err := choose(*only)
	if err != nil {
		fmt.Fprintln(progress, err)
		return 2
	}
	return profiled(*profile, progress, func() int { return b.report(ctx, *dir, chosen, out) })
}

// profiled writes a CPU profile of fn where one is asked for.
func profiled(path string, progress io.Writer, fn func() int) int {
	if path == "" {
		return fn()
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(progress, "cpuprofile:", err)
		return 2
	}
	defer f.Close() //nolint:errcheck // the profile is checked by whoever reads it
	defer pprof.StopCPUProfile()
	return fn()
}

// scale says how much is measured.
type scale struct {
	calls       int           // in-process calls of each kind
	contention  time.Duration // of each loop of many processes
	processes   []int
	assignments int // of the large ledger
	edges       int // dependencies of the cycle check
	repeats     int // of each query
	starts      int // of the process
	idleStarts  int // assignments created while the loop is idle
	runs        int // active at a time
	liveRuns    int // while the status is read
	events      int // streamed by all of them

	awayCommands int           // while Temporal hangs
	outageFor    time.Duration // at least
	wakeups      int           // raised while no worker runs
}

func fullScale() scale {
	return scale{
		calls: 500, contention: 10 * time.Second, processes: []int{16, 64}, assignments: 10_000, edges: 5_000,
		repeats: 15, starts: 30, idleStarts: 12, runs: 12, liveRuns: 50, awayCommands: 50, outageFor: time.Minute, wakeups: 20_000, events: 1_000_000,
	}
}

func tinyScale() scale {
	return scale{
		calls: 5, contention: 200 * time.Millisecond, processes: []int{2}, assignments: 50, edges: 20, repeats: 3,
		starts: 3, idleStarts: 2, runs: 2, liveRuns: 2, awayCommands: 4, outageFor: 6 * time.Second, wakeups: 300, events: 3 * streamBatch,
	}
}

// bench is one run of the program.
type bench struct {
	scale
	dir           string // every file is in here
	progress      io.Writer
	cox, temporal string // executables; "" where they are not to be had
}

func (b *bench) say(format string, values ...any) {
	fmt.Fprintf(b.progress, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, values...)...)
}

// measure makes the rows of one subject.
type measure struct {
	name string
	run  func(*bench, context.Context) ([]row, error)
}

func measures() []measure {
	return []measure{
		{"ledger", (*bench).ledgerCalls},
		{"contention", (*bench).contended},
		{"postgres", (*bench).server},
		{"queries", (*bench).queries},
		{"process", (*bench).process},
		{"status", (*bench).status},
		{"stream", (*bench).stream},
		{"loop", (*bench).loop},
		{"outage", (*bench).outage},
	}
}

func names(all []measure) []string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = m.name
	}
	return out
}

// choose finds the measures of a list of names, all of them for none.
func choose(only string) ([]measure, error) {
	all := measures()
	if only == "" {
		return all, nil
	}
	var out []measure
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, m := range all {
			if m.name == name {
				out, found = append(out, m), true
			}
		}
		if !found {
			return nil, fmt.Errorf("only: there is no measure %q; there are %s", name, strings.Join(names(all), ", "))
		}
	}
	return out, nil
}
