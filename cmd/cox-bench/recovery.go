package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"coxswain/cmd/internal/supervise"
	"coxswain/models"
	"coxswain/models/ledger"
)

// recovery kills the worker and Temporal together while all runs hang in a turn, and
// starts both again. The fake's agents die with their host, so that a run is observed
// again once the turn that resumes it is active.
func (s *stack) recovery(ctx context.Context) ([]row, error) {
	for _, c := range []*supervise.Child{s.worker, s.temporal} {
		if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
			return nil, err
		}
	}
	killed := time.Now()
	<-s.worker.Done()
	<-s.temporal.Done()
	if err := s.startTemporal(ctx); err != nil {
		return nil, err
	}
	if err := s.startWorker(ctx); err != nil {
		return nil, err
	}
	ready := time.Now()
	if err := until(ctx, 2*stepWait, "all runs to be observed again", func() (bool, error) {
		n, err := s.activeTurns(ctx, killed)
		return n == s.b.runs, err
	}); err != nil {
		return nil, err
	}
	observed := time.Now()
	threads, prompts, err := s.twice(ctx)
	if err != nil {
		return nil, err
	}
	detail, err := s.steps(ctx, killed, ready)
	if err != nil {
		return nil, err
	}
	detail["from_the_kill_s"] = rounded(observed.Sub(killed).Seconds())
	name := fmt.Sprintf("worker and server killed together with %d runs active: ", s.b.runs)
	return []row{
		atMost(name+"from a worker that is ready to all observed again", observed.Sub(ready).Seconds(), "s", 10, detail),
		atMost(name+"duplicate threads", float64(threads), "threads", 0, nil),
		atMost(name+"duplicate prompts", float64(prompts), "prompts", 0, nil),
	}, nil
}

// steps are when the last run had taken each step, counted from the ready worker.
func (s *stack) steps(ctx context.Context, killed, ready time.Time) (map[string]any, error) {
	out := map[string]any{"adapter": models.AdapterKindFake, "temporal_start_ms": ms(s.temporalStart), "worker_start_ms": ms(s.workerStart)}
	for name, kind := range map[string]string{"lost": models.EventTurnEnded, "planned": models.EventCommandDispatched, "delivered": models.EventMessageDelivered} {
		events, err := s.ledger.Events(ctx, ledger.EventFilter{Types: []string{kind}, Limit: 2000})
		if err != nil {
			return nil, err
		}
		var last time.Time
		for _, e := range events {
			if e.CreatedAt.After(killed) && e.CreatedAt.After(last) {
				last = e.CreatedAt
			}
		}
		out["all_"+name+"_s"] = rounded(last.Sub(ready).Seconds())
	}
	return out, nil
}

// twice counts what the kill made a second time: threads that no run has, runs beside
// the first of an assignment, and texts that a thread was sent under an id before.
func (s *stack) twice(ctx context.Context) (threads, prompts int, err error) {
	runs, err := s.ledger.Runs(ctx, ledger.RunFilter{TeamID: crew})
	if err != nil {
		return 0, 0, err
	}
	known, assignments := map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		known[r.SessionRef], assignments[r.AssignmentID] = true, true
	}
	begun, err := s.ledger.Events(ctx, ledger.EventFilter{Types: []string{models.EventTurnStarted}, Limit: 2000})
	if err != nil {
		return 0, 0, err
	}
	for _, e := range begun {
		if id, _ := e.Payload["thread_id"].(string); e.AssignmentID == "" {
			known[id] = true // the integrator's
		}
	}
	threads = len(runs) - len(assignments)
	files, err := filepath.Glob(filepath.Join(s.b.stateDir(), "fake", "*.json"))
	if err != nil || len(files) == 0 {
		return 0, 0, errors.Join(errors.New("no thread has a history"), err)
	}
	for _, file := range files {
		id, repeated, err := repeatedTexts(file)
		if err != nil {
			return 0, 0, err
		}
		if prompts += repeated; !known[id] {
			threads++
		}
	}
	return threads, prompts, nil
}

// repeatedTexts reads a thread's history and counts the messages whose id was there
// before.
func repeatedTexts(file string) (thread string, repeated int, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", 0, err
	}
	var history struct {
		ID    string
		Items []struct {
			Type     string
			ClientID string `json:"client_id"`
		}
	}
	if err := json.Unmarshal(raw, &history); err != nil {
		return "", 0, err
	}
	seen := map[string]bool{}
	for _, item := range history.Items {
		if item.Type != "userMessage" {
			continue
		}
		if seen[item.ClientID] {
			repeated++
		}
		seen[item.ClientID] = true
	}
	return history.ID, repeated, nil
}
