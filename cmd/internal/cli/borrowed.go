package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"coxswain/activities/codex/appserver/managed"
	"coxswain/models/ledger"
	"coxswain/worker"
	"coxswain/workflows"
)

// borrowedEngine is a Temporal that somebody else keeps, and may stop.
type borrowedEngine struct {
	engine  workflows.Engine
	free    bool      // nobody named it: with its owner gone, its address is anyone's
	answers chan bool // one for each look
	misses  int       // looks in a row without an answer
	stop    func()    // ends the looking
}

// Figures of a borrowed engine.
const (
	engineLook   = time.Second // between two looks
	missesToWarn = 2           // one may be a moment of load
	missesToTake = 10          // its owner starts it again sooner than that, if at all
)

// borrow looks at the engine until this command stops.
func (s *stack) borrow(ctx context.Context, e workflows.Engine, free bool) {
	b := &borrowedEngine{engine: e, free: free, answers: make(chan bool)}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { b.look(ctx) })
	b.stop = func() { cancel(); looking.Wait() }
	s.borrowed = b
	s.stops = append(s.stops, b.stop)
}

func (b *borrowedEngine) look(ctx context.Context) {
	t := time.NewTicker(engineLook)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		select {
		case b.answers <- b.answering(ctx):
		case <-ctx.Done():
			return
		}
	}
}

// answering asks the engine. Nobody listening on this host is an answer at once,
// where a connection would be tried for seconds.
func (b *borrowedEngine) answering(ctx context.Context) bool {
	address := b.engine.AddressName()
	if loopback(address) && !listening(address) {
		return false
	}
	c, err := workflows.Dial(ctx, b.engine, slog.New(slog.DiscardHandler))
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// tend looks after what this command uses and did not start: the engine, and the
// worker, which may both go with the command that had started them.
func (s *stack) tend(ctx context.Context) error {
	if s.borrowed != nil {
		select {
		case answers := <-s.borrowed.answers:
			s.heard(ctx, answers)
		default:
		}
	}
	if s.release != nil || s.borrowed != nil && s.borrowed.misses > 0 {
		return nil
	}
	if _, running := worker.Running(s.stateDir); running {
		return nil
	}
	s.note("the worker that was used has ended; starting one …")
	err := s.ownWorker(ctx)
	if _, running := worker.Running(s.stateDir); err != nil && running {
		return nil // another command was faster with the node's one worker
	}
	return err
}

// heard takes one look's answer in.
func (s *stack) heard(ctx context.Context, answers bool) {
	b := s.borrowed
	if answers {
		if b.misses >= missesToWarn {
			s.note("Temporal at %s answers again", b.engine.AddressName())
		}
		b.misses = 0
		return
	}
	b.misses++
	takes := b.free && s.release != nil
	switch {
	case b.misses == missesToWarn && takes:
		s.note("warning: Temporal at %s does not answer any more, and nothing goes on; unless it comes back, one is started in its place", b.engine.AddressName())
	case b.misses == missesToWarn:
		s.note("warning: Temporal at %s does not answer any more, and nothing goes on until it does; next: start it again, or cox %sdown and cox %sup with another", b.engine.AddressName(), s.elsewhere(), s.elsewhere())
	case b.misses == missesToTake && takes && !listening(b.engine.AddressName()):
		if err := s.takePlace(ctx); err != nil && ctx.Err() == nil {
			s.note("warning: Temporal was not started in its place: %v; next: cox %sdown and cox %sup", err, s.elsewhere(), s.elsewhere())
		}
	}
}

// takePlace starts a Temporal of our own where the borrowed one was. It knows
// nothing of what the other one knew, so that the worker has to begin anew on it.
func (s *stack) takePlace(ctx context.Context) error {
	if err := s.ownEngine(ctx, portOf(s.borrowed.engine.AddressName()), s.whole("ui-port")); err != nil {
		return err
	}
	s.borrowed.stop()
	s.borrowed = nil
	s.stopWorker()
	return s.ownWorker(ctx)
}

// ownWorker starts a worker and keeps it.
func (s *stack) ownWorker(ctx context.Context) error {
	_, before := managed.Running(s.stateDir)
	release, err := s.startWorker(ctx, s.stateDir, s.engine.Address != "")
	s.owned = s.owned || err == nil || !before // one that a failed start found goes on as it did
	if err != nil {
		return err
	}
	s.release = release
	s.note("worker is ready, node %s", ledger.LocalNodeID(s.stateDir))
	return nil
}

func (s *stack) stopWorker() {
	if s.release != nil {
		s.release()
		s.release = nil
	}
}

// stopServer ends the app-server that this command's worker left behind.
func (s *stack) stopServer() {
	if s.owned {
		s.endServer(s.hurry, s.stateDir, s.patience)
	}
}

// remainsWait is how long children may take to end after their `cox up` was killed.
const remainsWait = max(workerGrace, engineGrace) + 5*time.Second

// awaitRemains waits for the children of a `cox up` that was killed: they end by
// themselves, and would be used until they have. What goes on all the same is used.
func (s *stack) awaitRemains(ctx context.Context) error {
	if _, err := os.Stat(upFile(s.stateDir)); err == nil {
		if err := s.awaitChildren(ctx); err != nil {
			return err
		}
	}
	s.stops = append(s.stops, func() { _ = os.Remove(upFile(s.stateDir)) }) // a record of an ended process is ignored by its readers
	return s.tellOthers(workflows.Engine{})
}

func (s *stack) awaitChildren(ctx context.Context) error {
	told := false
	err := await(ctx, remainsWait, func() (bool, error) {
		_, engine, err := readEngine(s.stateDir)
		_, starting := engineHolds(s.stateDir) // and has told nobody its address yet
		engine = engine || starting
		_, working := worker.Running(s.stateDir)
		if (engine || working) && !told {
			told = true
			s.note("an earlier cox up was killed; waiting for what it had started to end …")
		}
		return err != nil || !engine && !working, err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r, found, _ := readEngine(s.stateDir); found && !listening(r.Address) {
		return os.Remove(engineFile(s.stateDir)) // its number is another process's now
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
