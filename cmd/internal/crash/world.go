package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"coxswain/activities/codex/codextest"
	"coxswain/cmd/internal/crash/audit"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

// Programs are the executables of a world.
type Programs struct {
	Cox      string // built with the tag failpoints
	Temporal string
	Codex    string // "" where there is none: then only the fake is run
}

// Waits of a world.
const (
	readyWait  = 3 * time.Minute
	settleWait = 8 * time.Minute  // a loaded machine runs several worlds at once
	downWait   = 3 * time.Minute  // of cox down
	goneWait   = 20 * time.Second // until the last process is gone
	commandMax = time.Minute      // of one command of the person
	look       = 300 * time.Millisecond
)

// World is one state directory with everything that runs for it.
type World struct {
	Programs
	Dir       string
	Transport Transport
	Plan      []Kill

	parts   []part            // of the scene; all of it where none is named
	model   *codextest.Server // nil on the fake
	ledger  *ledger.Ledger
	control *controller
	unread  []string // workflows with something to read when the world was last seen alive
	up      *exec.Cmd
	ended   chan struct{} // closed when cox up is gone
}

// Outcome is what became of a world.
type Outcome struct {
	Marks    []audit.Mark            `json:"marks"`
	Unfired  []Kill                  `json:"unfired"`
	Hits     map[failpoint.Point]int `json:"hits"`
	Findings []audit.Finding         `json:"findings"`
	Settled  bool                    `json:"settled"`
	Seconds  float64                 `json:"seconds"`
}

func (w *World) state() string { return filepath.Join(w.Dir, "state") }
func (w *World) repo() string  { return filepath.Join(w.Dir, "repository") }

// Run runs the world to its end and audits what is left. The world's folder stays.
func (w *World) Run(ctx context.Context) (out Outcome, err error) {
	began := time.Now()
	defer func() { out.Seconds = time.Since(began).Seconds() }()
	if err := w.Begin(ctx); err != nil {
		return out, errors.Join(err, w.End(ctx))
	}
	out.Settled, err = w.live(ctx)
	var fault error
	out.Marks, out.Unfired, out.Hits, fault = w.control.result()
	if err := errors.Join(err, fault, w.End(ctx)); err != nil {
		return out, err
	}
	e, err := w.Evidence(ctx)
	if err != nil {
		return out, err
	}
	out.Findings = audit.Check(e)
	return out, nil
}

// Begin makes the world and starts it; nothing is killed yet.
func (w *World) Begin(ctx context.Context) error {
	if w.parts == nil {
		w.parts = scene()
	}
	if err := w.build(ctx); err != nil {
		return err
	}
	var err error
	if w.ledger, err = open(ctx, w.state()); err != nil {
		return err
	}
	if err := create(ctx, w.ledger, w.repo(), w.state(), w.parts); err != nil {
		return err
	}
	if w.control, err = control(w.Dir, filepath.Join(w.state(), failpoint.SocketName), w.Plan); err != nil {
		return err
	}
	return w.start(ctx)
}

// build makes the folders, the repository, and the home of a real Codex.
func (w *World) build(ctx context.Context) error {
	for _, d := range []string{"home", "tmp", "state", "repository/src"} {
		if err := os.MkdirAll(filepath.Join(w.Dir, d), 0o700); err != nil {
			return err
		}
	}
	if w.Transport != Fake {
		w.model = codextest.Start(model)
		if _, err := codextest.MakeHome(w.Dir, w.model.BaseURL()); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(w.repo(), "src", "keep.txt"), []byte("kept\n"), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=Crash", "-c", "user.email=crash@localhost", "commit", "--quiet", "--no-gpg-sign", "--message=Begin"},
	} {
		if out, err := w.command(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// env is the whole environment of the world's processes.
func (w *World) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.Dir, "home"), "TMPDIR=" + filepath.Join(w.Dir, "tmp"),
		"LANG=C.UTF-8", "SHELL=/bin/bash", "TZ=UTC", "COX_STATE_DIR=" + w.state(), "COX_TEMPORAL_BIN=" + w.Temporal,
		"XDG_CONFIG_HOME=" + filepath.Join(w.Dir, "config"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "RUST_LOG=error",
	}
}

func (w *World) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = w.repo(), w.env()
	return cmd
}

// cox runs a command of the person to its end.
func (w *World) cox(ctx context.Context, limit time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := w.command(ctx, w.Cox, append([]string{"--json"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cox %v: %w: %s", args, err, out)
	}
	return nil
}

// start starts cox up and waits until its loop is on; its worker was ready then.
func (w *World) start(ctx context.Context) error {
	args := []string{
		"up", "--json", "--port", "0", "--ui-port", "0", "--poll-interval", "1",
		"--review-nudge-interval", "8", "--max-concurrent-runs", "3",
	}
	if w.Transport == Fake {
		args = append(args, "--adapter", "fake", "--fake-pace", "60ms")
	} else {
		args = append(args, "--transport", string(w.Transport), "--codex-bin", w.Codex, "--codex-home", filepath.Join(w.Dir, "codex-home"))
	}
	log, err := os.Create(filepath.Join(w.Dir, "up.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has its own descriptor
	w.up = w.command(context.WithoutCancel(ctx), w.Cox, args...)
	w.up.Stdout, w.up.Stderr = log, log
	w.up.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.up.Start(); err != nil {
		return err
	}
	w.ended = make(chan struct{})
	go func() {
		_ = w.up.Wait() // how it ended is in its log
		close(w.ended)
	}()
	on, err := w.until(ctx, readyWait, func() (bool, error) {
		team, err := w.ledger.Team(ctx, teamID)
		return team.Loop.Enabled, err
	})
	if err == nil && !on {
		err = fmt.Errorf("cox up did not come up within %s, see %s", readyWait, log.Name())
	}
	return err
}

// live lets the plan begin and plays the person until nothing is left to do.
func (w *World) live(ctx context.Context) (settled bool, err error) {
	defer w.control.arm()()
	p := newPlayer(w)
	settled, err = w.until(ctx, settleWait, func() (bool, error) {
		if err := p.look(ctx); err != nil {
			return false, err
		}
		e, err := ledgerRows(ctx, ledgerPath(w.state()), w.parts)
		w.unread = e.Unread
		return err == nil && settledAs(e), err
	})
	if err == nil && !settled && p.refused != nil {
		err = fmt.Errorf("not at rest within %s; a command of the person was refused last: %w", settleWait, p.refused)
	}
	return settled, err
}

// settledAs tells whether every assignment is over and nothing is open.
func settledAs(e audit.Evidence) bool {
	for _, want := range e.Wants {
		at := slices.IndexFunc(e.Assignments, func(a models.Assignment) bool { return a.ID == want.AssignmentID })
		if at < 0 || !e.Assignments[at].Status.Terminal() {
			return false
		}
	}
	return len(audit.Waiting(e)) == 0
}

// until waits for a condition; false when the limit is over or cox up has ended.
func (w *World) until(ctx context.Context, limit time.Duration, fn func() (bool, error)) (bool, error) {
	t := time.NewTicker(look)
	defer t.Stop()
	over := time.After(limit)
	for {
		if done, err := fn(); done || err != nil {
			return done, err
		}
		select {
		case <-t.C:
		case <-w.ended:
			return false, errors.New("cox up ended by itself, see " + filepath.Join(w.Dir, "up.log"))
		case <-over:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// End stops the world as a person would, and waits until its processes are gone.
// What does not go is left for the auditor to see.
func (w *World) End(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if w.up != nil && w.ended != nil {
		errs = append(errs, w.cox(ctx, downWait, "down"))
		w.awaitGone()
	}
	if w.control != nil {
		w.control.close()
	}
	if w.ledger != nil {
		errs = append(errs, w.ledger.Close())
	}
	return errors.Join(errs...)
}

// awaitGone waits until no process of the world is left, for a while.
func (w *World) awaitGone() {
	t := time.NewTicker(look)
	defer t.Stop()
	over := time.After(goneWait)
	for {
		if found, err := processes(w.Dir); err == nil && len(found) == 0 {
			return
		}
		select {
		case <-t.C:
		case <-over:
			return
		}
	}
}

// Kill ends what is left of the world, after its audit.
func (w *World) Kill() error {
	if w.model != nil {
		w.model.Close()
	}
	found, err := processes(w.Dir)
	for _, p := range found {
		kill9(p.pid)
	}
	return err
}
