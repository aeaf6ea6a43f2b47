package cli

import (
	"context"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"coxswain/activities/codex/appserver"
	"coxswain/cmd/internal/supervise"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
	"coxswain/workflows"
)

func upLeaf() leaf {
	options := append(loopOptions()[:5:5], adapterOptions()...)
	options = append(append(options, engineOptions()...), workerOptions()...)
	return leaf{
		name: "up", usage: "start everything: Temporal if none answers, the worker, the loops",
		about: "Turns on the loops of the teams of the current repository. Ctrl-C stops everything that it started,\n" +
			"and nothing else. --demo shows the whole way on a throwaway repository with a state directory and\n" +
			"ports of its own; its folder is kept and named at the end.",
		example: "cox up --demo",
		options: append(options,
			&option{name: "no-loop", kind: truthKind, usage: "start Temporal and the worker only"},
			&option{name: "demo", kind: truthKind, usage: "four assignments on a throwaway repository, on the fake adapter unless --adapter names another"},
			&option{name: "exit-when-done", kind: truthKind, usage: "end when every assignment of the covered teams has ended"},
			&option{name: "port", kind: wholeKind, fallback: "7233", env: []string{"COX_TEMPORAL_PORT"}, usage: "`PORT` of the embedded Temporal; 0 picks a free one"},
			&option{name: "ui-port", kind: wholeKind, fallback: "8233", env: []string{"COX_UI_PORT"}, usage: "`PORT` of its Web UI; 0 picks a free one"},
		),
		run: up,
	}
}

func up(ctx context.Context, in *call) error {
	var scene *demo
	if in.on("demo") {
		var err error
		if scene, err = in.setDemo(ctx); err != nil {
			return err
		}
	}
	paths, err := in.paths()
	if err != nil {
		return err
	}
	s := &stack{call: in, stateDir: paths.StateDir, demo: scene}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	defer s.stop()
	return s.run(ctx)
}

// stack is what one `cox up` started, in the order in which it stops.
type stack struct {
	*call
	stateDir string
	demo     *demo
	engine   engineRecord
	loops    *loops
	stops    []func() // the last one first
}

func (s *stack) stop() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
}

func (s *stack) run(ctx context.Context) error {
	if err := s.startTemporal(ctx); err != nil {
		return err
	}
	l, err := s.newLedger(ctx)
	if err != nil {
		return err
	}
	if _, running := worker.Running(s.stateDir); running {
		s.note("a worker of this state directory runs already; it is used and left running")
	} else {
		release, err := s.startWorker(ctx, s.stateDir)
		if err != nil {
			return err
		}
		s.stops = append(s.stops, release)
		s.note("worker is ready, node %s", ledger.LocalNodeID(s.stateDir))
	}
	if err := s.choose(ctx, l); err != nil {
		return err
	}
	return s.attend(ctx, l)
}

// startTemporal uses the engine that is named, or the one that answers at the usual
// address, and starts the embedded one otherwise. A demo, or who gives a port,
// shares nothing unless an engine is named.
func (s *stack) startTemporal(ctx context.Context) error {
	engine, err := s.call.engine(s.stateDir)
	if err != nil {
		return err
	}
	named := engine.Address != "" || s.environmentNamesEngine()
	if named || s.demo == nil && !s.given("port") && listening(workflows.DefaultAddress) {
		c, err := workflows.Dial(ctx, engine, nil)
		if err != nil {
			return err
		}
		c.Close()
		s.note("Temporal at %s is used", engine.AddressName())
		return nil
	}
	port, ui := s.whole("port"), s.whole("ui-port")
	if s.demo != nil && !s.given("port") {
		port = 0
	}
	if s.demo != nil && !s.given("ui-port") {
		ui = 0
	}
	s.note("starting Temporal …")
	child, record, err := s.startEngine(ctx, s.stateDir, port, ui)
	if err != nil {
		return err
	}
	s.engine = record
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var kept sync.WaitGroup
	kept.Go(func() { s.keepEngine(keeping, child) })
	s.stops = append(s.stops, func() {
		cancel()
		kept.Wait()
		_ = os.Remove(engineFile(s.stateDir)) // a record of an ended process is ignored by its readers
	})
	s.note("Temporal at %s, Web UI at %s", record.Address, record.UI)
	return nil
}

// keepEngine starts the embedded Temporal again, on the same ports, whenever it
// ends by itself, and stops it when ctx ends.
func (s *stack) keepEngine(ctx context.Context, child *supervise.Child) {
	for {
		select {
		case <-ctx.Done():
			child.Stop(engineGrace)
			return
		case <-child.Done():
		}
		s.log().Warn("Temporal ended and is started again", "error", child.Err())
		next, err := s.restartEngine(ctx)
		if err != nil {
			return // ctx ended
		}
		child = next
	}
}

// restartEngine tries until the engine is up again or ctx ends.
func (s *stack) restartEngine(ctx context.Context) (*supervise.Child, error) {
	return backoff.Retry(ctx, func() (*supervise.Child, error) {
		port, ui := portOf(s.engine.Address), portOf(strings.TrimPrefix(s.engine.UI, "http://"))
		child, _, err := s.startEngine(ctx, s.stateDir, port, ui)
		return child, err
	}, backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
		s.log().Warn("Temporal was not started again yet", "error", err)
	}))
}

func portOf(address string) int {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0 // the server picks a free one
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

// choose finds the teams to turn on: the demo's, those of the flags, or those of
// the current repository.
func (s *stack) choose(ctx context.Context, l *ledger.Ledger) error {
	if s.on("no-loop") {
		return nil
	}
	var teams []models.Team
	var err error
	switch {
	case s.demo != nil:
		teams, err = s.demo.create(ctx, l)
	case s.given("team") || s.given("workspace"):
		teams, err = s.loopTeams(ctx, l)
	default:
		teams, err = s.teamsHere(ctx, l)
	}
	if err != nil || len(teams) == 0 {
		return err
	}
	r := &loops{call: s.call, ledger: l, teams: teams}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if _, err := r.turn(ctx, true); err != nil {
		return err
	}
	s.loops = r
	s.stops = append(s.stops, func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if _, err := r.turn(stop, false); err != nil {
			s.log().Warn("a loop was not turned off", "error", err)
		}
	})
	return nil
}

// teamsHere are the active teams of the workspace that contains the current
// folder; none is no error, since a person may add one while this runs.
func (s *stack) teamsHere(ctx context.Context, l *ledger.Ledger) ([]models.Team, error) {
	w, err := s.workspace(ctx, l)
	if models.IsCode(err, models.CodeInvalidArgument) {
		s.note("no loop is on: %s; next: cox workspace add .", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := l.Teams(ctx, w.ID)
	var out []models.Team
	for _, t := range all {
		if t.Status == models.StatusActive {
			out = append(out, t)
		}
	}
	return out, err
}

// attend shows what happens until it is interrupted or everything is done.
func (s *stack) attend(ctx context.Context, l *ledger.Ledger) error {
	var ids []string
	if s.loops != nil {
		for _, t := range s.loops.teams {
			ids = append(ids, t.ID)
		}
		s.note("loop is on for %s", strings.Join(ids, ", "))
	}
	told := false
	f := newFollower(s.call, l, ids)
	err := f.run(ctx, func() (bool, error) {
		done, err := allEnded(ctx, l, ids)
		if done && !told {
			told = true
			s.awaitWorkflows(ctx, l, ids)
			s.finished()
		}
		return done && s.on("exit-when-done"), err
	})
	if err != nil {
		return err
	}
	return s.report(context.WithoutCancel(ctx), l, ids)
}

// allEnded tells whether the teams have work and all of it has ended.
func allEnded(ctx context.Context, l *ledger.Ledger, teams []string) (bool, error) {
	for _, id := range teams {
		if ended, err := l.TeamEnded(ctx, id); err != nil || !ended {
			return false, err
		}
	}
	return len(teams) > 0, nil
}

// closeWait is how long the workflows may take to end after the work has.
const closeWait = 15 * time.Second

// awaitWorkflows waits until the workflows of the ended assignments have ended
// too, so that nothing is cut off. What is late is only said.
func (s *stack) awaitWorkflows(ctx context.Context, l *ledger.Ledger, teams []string) {
	engine, err := s.call.engine(s.stateDir)
	if err == nil {
		err = workflowsClosed(ctx, engine, l, teams)
	}
	if err != nil && ctx.Err() == nil {
		s.log().Warn("some workflows have not ended yet", "error", err)
	}
}

func workflowsClosed(ctx context.Context, engine workflows.Engine, l *ledger.Ledger, teams []string) error {
	c, err := workflows.Dial(ctx, engine, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := l.ServedWorkflows(ctx, teams)
	if err != nil {
		return err
	}
	front := workflows.Front{Client: c, Prefix: l.Prefix()}
	return await(ctx, closeWait, func() (bool, error) {
		for _, id := range ids {
			if d, err := front.Describe(ctx, id); err != nil || d.Status == "Running" {
				return false, err
			}
		}
		return true, nil
	})
}

// finished tells a person where to look next.
func (s *stack) finished() {
	s.note("")
	s.note("every assignment has ended")
	if s.engine.UI != "" {
		s.note("Web UI: %s/namespaces/%s/workflows", s.engine.UI, s.engine.Namespace)
	}
	dir := ""
	if s.demo != nil {
		dir = "--state-dir " + shellWord(s.stateDir) + " "
	}
	s.note("next: cox %sstatus", dir)
	s.note("      cox %sevents", dir)
	if s.demo != nil {
		s.note("      cox %sassignment show %s", dir, s.demo.first())
		s.note("the repository of this demo is %s; remove it all with: rm -r %s", s.demo.repo, shellWord(s.demo.dir))
		if bin, err := appserver.Find(os.Environ()); err == nil {
			s.note("the real Codex is at %s; repeat on it with: cox up --demo --adapter codex-app-server", bin)
		} else {
			s.note("no Codex was found; with one installed: cox up --demo --adapter codex-app-server")
		}
	} else {
		s.note("      cox review list")
	}
	if !s.on("exit-when-done") {
		s.note("Ctrl-C stops everything that this command started")
	}
}
