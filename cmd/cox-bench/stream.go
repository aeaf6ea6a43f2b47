package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"coxswain/activities/codex/appserver"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// streamBatch is how many events lie between two looks at the memory.
const streamBatch = 10_000

// stream lets a stand-in for Codex stream events of all runs through the host, the
// observer and the ledger of a process of its own, and compares its memory early and
// late.
func (b *bench) stream(ctx context.Context) ([]row, error) {
	looks, took, err := b.streamed(ctx)
	if err != nil {
		return nil, err
	}
	window := max(len(looks)/10, 1) // each tenth of the events
	early, late := looks[:window], looks[len(looks)-window:]
	if len(looks) > 2*window {
		early = looks[window : 2*window]
	}
	first := looks[window-1]
	detail := map[string]any{
		"runs": b.runs, "after_a_tenth_mb": rounded(first), "at_the_end_mb": rounded(looks[len(looks)-1]),
		"mean_of_the_second_tenth_mb": rounded(mean(early)), "mean_of_the_last_tenth_mb": rounded(mean(late)),
		"highest_mb": rounded(highest(looks)), "events_per_second": rounded(float64(b.events) / took.Seconds()),
	}
	name := fmt.Sprintf("memory after %d streamed events against a tenth of them", b.events)
	return []row{
		atMost(name, 100*(mean(late)/mean(early)-1), "% more", 10, detail),
		told(fmt.Sprintf("memory of the process that observed %d streamed events", b.events), mean(late), "MB", nil),
	}, nil
}

// streamed runs the watching process and returns its resident memory after each batch.
func (b *bench) streamed(ctx context.Context) (looks []float64, took time.Duration, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	spec, err := json.Marshal(childSpec{Kind: childWatch, Path: filepath.Join(b.dir, "stream.db"), Runs: b.runs, Batches: max(b.events/streamBatch, 3)})
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env, cmd.Stderr = append(b.quietEnv(), childEnv+"="+string(spec)), b.progress
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("the watching process: %w", err)
	}
	if err := json.Unmarshal(out, &looks); err != nil || len(looks) == 0 || looks[0] == 0 {
		return nil, 0, errors.Join(errors.New("this system does not tell a process's memory"), err)
	}
	return looks, time.Since(began), nil
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

func highest(values []float64) (most float64) {
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

// watch is the watching process: a ledger with runs that have a turn, the host with
// its stand-in for Codex, and the worker's observer between them.
func (s childSpec) watch(ctx context.Context, out io.Writer) (err error) {
	l, err := openScene(ctx, s.Path, "/repo/stream", "bench-node")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := liveRuns(ctx, l, s.Runs); err != nil {
		return err
	}
	host, err := s.standIn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Watch(watching, l, host, slog.New(slog.DiscardHandler)) }()
	looks := make([]float64, 0, s.Batches)
	for n := range s.Batches {
		if _, err := host.ReadThread(ctx, fmt.Sprintf("batch-%d", n)); err != nil { // is answered behind its events
			stop()
			return err
		}
		now, _ := memoryMB(os.Getpid())
		looks = append(looks, now)
	}
	stop()
	if err := errors.Join(<-ended, s.recorded(ctx, l)); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(looks)
}

// standIn opens a host whose Codex is this program.
func (s childSpec) standIn(ctx context.Context) (*appserver.Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(childSpec{Kind: childCodex, Runs: s.Runs})
	if err != nil {
		return nil, err
	}
	home := filepath.Dir(s.Path)
	return appserver.Open(ctx, appserver.Options{
		Bin: self, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, childEnv + "=" + string(spec)}, CodexHome: home,
		RequestTimeout: 5 * time.Minute,
	})
}

// recorded checks that the events have arrived where a worker puts them.
func (s childSpec) recorded(ctx context.Context, l *ledger.Ledger) error {
	for n := range s.Runs {
		turns, err := l.Events(ctx, ledger.EventFilter{AssignmentID: streamedName(n), Types: []string{models.EventTurnStarted}})
		if err != nil {
			return err
		}
		if len(turns) < 2 {
			return fmt.Errorf("%s has %d turns in the ledger, and several were streamed", streamedName(n), len(turns))
		}
	}
	return nil
}

func streamedName(n int) string   { return fmt.Sprintf("streamed-%d", n) }
func streamedThread(n int) string { return fmt.Sprintf("thread-%d", n) }
