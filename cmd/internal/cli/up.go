package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"coxswain/activities/codex/appserver/managed"
	"coxswain/cmd/internal/supervise"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
	"coxswain/workflows"
)

func upLeaf() leaf {
	options := append(loopOptions()[:5:5], adapterOptions()...)
	options = slices.Concat(options, engineOptions(), workerOptions(), logOptions())
	return leaf{
		name: "up", usage: "start everything: Temporal if none answers, the worker, the loops",
		about: "Turns on the loops of the teams of the current repository. Ctrl-C stops everything that it started,\n" +
			"and nothing else: nothing new begins, the turns that run may end within 30 s, and a second Ctrl-C interrupts\n" +
			"them at once. --detach leaves it running in the background until cox down.\n" +
			"When the Temporal or the worker that it found goes away, it says so and puts one of its own in its place, but\n" +
			"for a Temporal that was named. --demo shows the whole way on a throwaway repository with a state directory and\n" +
			"ports of its own; its folder is kept and named at the end.",
		example: "cox up --demo",
		options: append(options,
			&option{name: "no-loop", kind: truthKind, usage: "start Temporal and the worker only"},
			&option{name: "detach", kind: truthKind, usage: "start it in the background and return once it is ready; cox down stops it"},
			&option{name: "demo", kind: truthKind, usage: "four assignments on a throwaway repository, on the fake adapter unless --adapter names another"},
			&option{name: "exit-when-done", kind: truthKind, usage: "end when every assignment of the covered teams has ended"},
			&option{name: "port", kind: wholeKind, fallback: "7233", env: []string{"COX_TEMPORAL_PORT"}, usage: "`PORT` of the embedded Temporal; 0 picks a free one. The variable also says at which port one that answers is used"},
			&option{name: "ui-port", kind: wholeKind, fallback: "8233", env: []string{"COX_UI_PORT"}, usage: "`PORT` of its Web UI; 0 picks a free one"},
		),
		run: up,
	}
}

func up(ctx context.Context, in *call) error {
	if err := in.checkUp(); err != nil {
		return err
	}
	if in.on("detach") {
		return in.detach(ctx)
	}
	var scene *demo
	if in.on("demo") {
		var err error
		if scene, err = in.setDemo(ctx); err != nil {
			return err
		}
		defer scene.name() // once nothing writes into it any more
	}
	paths, err := in.paths()
	if err != nil {
		return err
	}
	s := &stack{call: in, stateDir: paths.StateDir, demo: scene, hurry: hearHurry(), patience: managed.DrainTime, leave: func() {}}
	defer s.hurry.stop()
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
	borrowed *borrowedEngine // nil while the engine is this command's own
	release  func()          // stops the worker that this command started; nil while another's is used
	loops    *loops
	stops    []func() // the last one first

	hurry    *hurry        // a second interrupt
	patience time.Duration // how long the app-server's turns may still go on when all stops
	owned    bool          // the app-server, if any, is this command's worker's
	leave    func()        // turns off the loops that this command turned on; again is harmless
}

func (s *stack) stop() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
}

func (s *stack) run(ctx context.Context) error {
	if err := s.checkTeams(ctx); err != nil {
		return err
	}
	if err := s.awaitRemains(ctx); err != nil {
		return err
	}
	if err := s.startTemporal(ctx); err != nil {
		return err
	}
	l, err := s.newLedger(ctx)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, s.stopServer, s.stopWorker)
	if _, running := worker.Running(s.stateDir); running {
		s.note("a worker of this state directory runs already; it is used and left running")
		s.noteIgnored()
	} else if err := s.ownWorker(ctx); err != nil {
		return err
	}
	if err := s.choose(ctx, l); err != nil {
		return err
	}
	return s.attend(ctx, l)
}

// startTemporal uses the engine that is named, or the one that answers at the usual
// address, and starts the embedded one otherwise.
func (s *stack) startTemporal(ctx context.Context) error {
	engine, err := s.call.engine(s.stateDir)
	if err != nil {
		return err
	}
	named := engine.Address != "" || s.environmentNamesEngine()
	if usual := s.usualAddress(); !named && usual != "" && listening(usual) {
		engine.Address = usual
	}
	if engine.Address != "" || named {
		c, err := workflows.Dial(ctx, engine, nil)
		if err != nil {
			return err
		}
		c.Close()
		s.note("Temporal at %s is used", engine.AddressName())
		s.borrow(ctx, engine, !named)
		return s.tellOthers(engine)
	}
	port, ui := s.whole("port"), s.whole("ui-port")
	if s.demo != nil && !s.given("port") {
		port = 0
	}
	if s.demo != nil && !s.given("ui-port") {
		ui = 0
	}
	if err := s.ownEngine(ctx, port, ui); err != nil {
		return err
	}
	return s.tellOthers(workflows.Engine{Address: s.engine.Address, Namespace: s.engine.Namespace})
}

// usualAddress is where a Temporal that nobody named is looked for: at the usual port,
// which COX_TEMPORAL_PORT moves. It is "" for a demo and for who asks for a port of
// their own, by --port or by 0.
func (s *stack) usualAddress() string {
	port := s.value("port")
	if s.demo != nil || port.source == "flag" || port.parsed == 0 {
		return ""
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.whole("port")))
}

// ownEngine starts the embedded Temporal and keeps it until everything else has
// stopped.
func (s *stack) ownEngine(ctx context.Context, port, ui int) error {
	s.note("starting Temporal …")
	child, record, err := s.startEngine(ctx, s.stateDir, port, ui)
	if err != nil {
		return err
	}
	s.engine = record
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var kept sync.WaitGroup
	kept.Go(func() { s.keepEngine(keeping, child) })
	s.stops = slices.Insert(s.stops, 0, func() {
		cancel()
		kept.Wait()
		_ = os.Remove(engineFile(s.stateDir)) // a record of an ended process is ignored by its readers
	})
	if s.on("exit-when-done") {
		s.note("Temporal at %s", record.Address) // its Web UI ends with this command
	} else {
		s.note("Temporal at %s, Web UI at %s", record.Address, record.UI)
	}
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
	if s.demo != nil {
		teams, err = s.demo.create(ctx, l)
	} else {
		teams, err = s.covered(ctx, l)
	}
	if why, ok := errors.AsType[*noTeamError](err); ok {
		s.note("no loop is on: %s; next: %s", why.reason, why.next)
		return nil
	}
	if err != nil || len(teams) == 0 {
		return err
	}
	r := &loops{call: s.call, ledger: l, teams: teams}
	s.leave = sync.OnceFunc(func() {
		if err := r.leave(ctx); err != nil {
			s.log().Warn("a loop was not turned off", "error", err)
		}
	})
	s.stops = append(s.stops, s.leave)
	if err := r.prepare(ctx); err != nil {
		return err
	}
	s.loops = r
	_, err = r.turnOn(ctx)
	return err
}

// shown are the teams whose events are shown, and the event behind which they begin.
func (s *stack) shown(ctx context.Context, l *ledger.Ledger) (ids []string, since int64, err error) {
	if s.loops == nil { // nobody's
		since, err = newestEvent(ctx, l)
		return nil, since, err
	}
	for _, t := range s.loops.teams {
		ids = append(ids, t.ID)
	}
	s.note("loop is on for %s", strings.Join(ids, ", "))
	s.loops.noteHeld()
	return ids, s.loops.since, nil
}

// refresh looks after the children and reads the covered loops again.
func (s *stack) refresh(ctx context.Context) error {
	if err := s.tend(ctx); err != nil || s.loops == nil {
		return err
	}
	return s.loops.reload(ctx)
}

// attend shows what happens until it is interrupted or everything is done.
func (s *stack) attend(ctx context.Context, l *ledger.Ledger) error {
	ids, since, err := s.shown(ctx, l)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err := s.tellReady(ids); err != nil {
		return err
	}
	ended := false
	f := newFollower(s.call, l, ids, since)
	err = f.run(ctx, func() (bool, error) {
		if err := s.refresh(ctx); err != nil {
			return false, err
		}
		done, err := allEnded(ctx, l, ids)
		if done && !ended {
			ended = true
			s.awaitWorkflows(ctx, l, ids)
			s.finished()
		}
		if err != nil || s.loops == nil || done && s.on("exit-when-done") {
			return done, err
		}
		return false, s.offByOthers(ctx)
	})
	interrupted := ctx.Err() != nil
	switch {
	case err != nil && !models.IsCode(err, models.CodeVersionConflict):
		return err
	case err == nil && ctx.Err() != nil && s.on("exit-when-done") && !ended:
		err = models.Errorf(models.CodeInterrupted, "interrupted before every assignment had ended").Hint("cox up")
	}
	ctx = context.WithoutCancel(ctx)
	if s.leave(); err == nil || interrupted { // also after the last decision its turn is let end
		s.drain(ctx, l, func() { _ = f.show(ctx) }) // what is not shown stands in the ledger
	}
	return s.end(ctx, l, ids, err)
}

// offByOthers tells a person which covered loops somebody else switched off; who
// waits for the end of the work then waits for nothing.
func (s *stack) offByOthers(ctx context.Context) error {
	off, err := s.loops.newlyOff(ctx)
	for _, t := range off {
		s.note("the loop of %s was turned off by %s", t.ID, t.Loop.SetBy)
	}
	if err == nil && len(off) > 0 && s.on("exit-when-done") {
		return models.Errorf(models.CodeVersionConflict, "the loop of %s was turned off by %s while work is left", off[0].ID, off[0].Loop.SetBy).
			With("team_id", off[0].ID).With("set_by", off[0].Loop.SetBy).Hint("cox up")
	}
	return err
}
