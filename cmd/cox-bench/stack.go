package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"coxswain/cmd/internal/supervise"
	"coxswain/models"
	"coxswain/models/ledger"
)

// Waits of the stack.
const (
	readyWait = 90 * time.Second
	stopGrace = 20 * time.Second
	stepWait  = 60 * time.Second
)

// stack is Temporal, a worker and a ledger with a team on the fake adapter, each
// in a process of its own but for the ledger's handle.
type stack struct {
	b        *bench
	ledger   *ledger.Ledger
	temporal *supervise.Child
	worker   *supervise.Child
	engine   struct{ Address, Namespace string }

	temporalStart, workerStart time.Duration // to the line that says ready
}

// startStack starts everything; what was started is stopped by stop, also after
// an error.
func (b *bench) startStack(ctx context.Context) (*stack, error) {
	s := &stack{b: b}
	if b.cox == "" || b.temporal == "" {
		return s, errors.New("COX_BIN or COX_TEMPORAL_BIN names no program; make bench builds both and sets the variables")
	}
	if err := os.MkdirAll(b.stateDir(), 0o700); err != nil {
		return s, err
	}
	repo, err := b.repository(ctx)
	if err != nil {
		return s, err
	}
	if err := s.startTemporal(ctx); err != nil {
		return s, err
	}
	s.ledger, err = openScene(ctx, s.db(), repo, ledger.LocalNodeID(b.stateDir()))
	if err != nil {
		return s, err
	}
	if err := s.startWorker(ctx); err != nil {
		return s, err
	}
	err = s.turnOn(ctx)
	return s, err
}

func (s *stack) db() string { return filepath.Join(s.b.stateDir(), "ledger.db") }

// repository makes the repository that the scripted agents work in.
func (b *bench) repository(ctx context.Context) (string, error) {
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		return "", err
	}
	repo := filepath.Join(dir, "repository")
	if err := os.MkdirAll(filepath.Join(repo, "src"), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(repo, "src", "a.txt"), []byte("a\n"), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "--no-gpg-sign", "--message=Start"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Env = repo, append(b.quietEnv(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return repo, nil
}

func (s *stack) startTemporal(ctx context.Context) (err error) {
	began := time.Now()
	s.temporal, err = s.start(ctx, "cox-temporal", s.b.temporal, []string{
		"--json", "--ip", "127.0.0.1", "--port", "0", "--ui-port", "0",
		"--db-filename", filepath.Join(s.b.stateDir(), "temporal.db"), "--log-level", "error",
	}, &s.engine)
	s.temporalStart = time.Since(began)
	return err
}

func (s *stack) startWorker(ctx context.Context) (err error) {
	began := time.Now()
	var info struct{ PID int }
	s.worker, err = s.start(ctx, "worker", s.b.cox, []string{
		"worker", "--json", "--log-level", "warn", "--address", s.engine.Address,
		"--namespace", s.engine.Namespace,
	}, &info)
	s.workerStart = time.Since(began)
	return err
}

// start starts a child and reads its ready line.
func (s *stack) start(ctx context.Context, name, path string, args []string, ready any) (*supervise.Child, error) {
	log, err := os.Create(filepath.Join(s.b.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	child, err := supervise.Start(supervise.Command{Name: name, Path: path, Args: args, Env: s.b.quietEnv("COX_DB=" + s.db()), Log: log})
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	text, err := child.Ready(wait)
	if err == nil {
		err = json.Unmarshal([]byte(text), ready)
	}
	if err != nil {
		out, _ := os.ReadFile(log.Name()) // only to say more
		return child, fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return child, nil
}

// turnOn turns the team's loop on and waits for the probe of its adapter.
func (s *stack) turnOn(ctx context.Context) error {
	_, _, err := s.ledger.ConfigureLoop(ctx, ledger.As(person), crew, models.LoopSettings{
		Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 2 * max(s.b.runs, 1), ReviewNudgeSeconds: 60,
	})
	if err != nil {
		return err
	}
	id := ledger.LocalNodeID(s.b.stateDir())
	return until(ctx, stepWait, "the probe of the fake adapter", func() (bool, error) {
		n, err := s.ledger.Node(ctx, id)
		p, ok := n.Probes[models.AdapterKindFake]
		return ok && p.Incarnation == n.Incarnation, err
	})
}

// idle waits until no workflow has anything to read and no run is open.
func (s *stack) idle(ctx context.Context) error {
	return until(ctx, stepWait, "the loop to be idle", func() (bool, error) {
		due, err := s.ledger.DueWakeups(ctx, 1)
		if err != nil || len(due) > 0 {
			return false, err
		}
		open, err := s.ledger.Runs(ctx, ledger.RunFilter{TeamID: crew, OpenOnly: true})
		return len(open) == 0, err
	})
}

// stop ends the processes in order.
func (s *stack) stop() error {
	for _, c := range []*supervise.Child{s.worker, s.temporal} {
		if c != nil {
			c.Stop(stopGrace)
		}
	}
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}
