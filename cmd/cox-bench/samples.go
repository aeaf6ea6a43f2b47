package main

import (
	"slices"
	"time"
)

// samples are the times of repeated calls.
type samples []time.Duration

// quantile is the value below which a share of the samples lies; 0 without any.
func (s samples) quantile(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (s samples) p50() time.Duration { return s.quantile(0.5) }

// detail is how the samples are told beside a figure.
func (s samples) detail() map[string]any {
	return map[string]any{"n": len(s), "min_ms": ms(s.quantile(0)), "p50_ms": ms(s.p50()), "p95_ms": ms(s.quantile(0.95)), "max_ms": ms(s.quantile(1))}
}

func ms(d time.Duration) float64 { return rounded(float64(d) / float64(time.Millisecond)) }

// timed measures one call and adds it to the samples.
func timed(s *samples, call func() error) error {
	began := time.Now()
	err := call()
	*s = append(*s, time.Since(began))
	return err
}
