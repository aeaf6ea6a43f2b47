package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"coxswain/activities/codex/appserver/managed"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// drainLook is the time between two looks at the turns that are waited for.
const drainLook = 200 * time.Millisecond

// hurry is closed by the second interrupt of a command that drains at the first.
type hurry struct {
	asked   chan struct{}
	signals chan os.Signal
	ended   chan struct{}
	stop    func()
}

// hearHurry counts the interrupts of this process from now on.
func hearHurry() *hurry {
	h := &hurry{asked: make(chan struct{}), signals: make(chan os.Signal, 4), ended: make(chan struct{})}
	h.stop = sync.OnceFunc(func() { signal.Stop(h.signals); close(h.ended) })
	signal.Notify(h.signals, os.Interrupt, syscall.SIGTERM)
	go h.count()
	return h
}

func (h *hurry) count() {
	for n := 1; ; n++ {
		select {
		case <-h.signals:
			if n == 2 {
				close(h.asked)
				return
			}
		case <-h.ended:
			return
		}
	}
}

// until is a context that ends when somebody is in a hurry.
func (h *hurry) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-h.asked:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// drain lets the turns of this command's worker end before that is stopped: no new
// one begins, and a second interrupt, or the end of the drain time, cuts the waiting
// short. show is called at each look.
func (s *stack) drain(ctx context.Context, l *ledger.Ledger, show func()) {
	pid, running := worker.Running(s.stateDir)
	if s.release == nil || !running || syscall.Kill(pid, syscall.SIGUSR1) != nil {
		return
	}
	began := time.Now()
	w := turnWatch{call: s.call, ledger: l, node: ledger.LocalNodeID(s.stateDir)}
	w.await(ctx, s.hurry.asked, managed.DrainTime, show)
	s.patience = max(0, managed.DrainTime-time.Since(began))
}

// turnWatch tells a person which turns are waited for.
type turnWatch struct {
	*call
	ledger *ledger.Ledger
	node   string
	told   string
}

// await returns when no turn of the node is active, or nobody waits any more.
func (w *turnWatch) await(ctx context.Context, asked <-chan struct{}, limit time.Duration, show func()) {
	t, end := time.NewTicker(drainLook), time.NewTimer(limit)
	defer t.Stop()
	defer end.Stop()
	for {
		names, err := w.tell(ctx, "stopping: waiting for the turns of %s to end, for at most "+limit.String()+"; Ctrl-C interrupts them")
		show()
		if err != nil || len(names) == 0 {
			return
		}
		select {
		case <-t.C:
		case <-end.C:
			w.note("the turns of %s did not end in %s and are interrupted", strings.Join(names, ", "), limit)
			return
		case <-asked:
			w.note("the turns of %s are interrupted", strings.Join(names, ", "))
			return
		}
	}
}

// tell names the turns under way, whenever they are others than before.
func (w *turnWatch) tell(ctx context.Context, format string) (names []string, err error) {
	turns, err := w.ledger.TurnsUnderWay(ctx, w.node)
	for _, t := range turns {
		names = append(names, t.Name())
	}
	if now := strings.Join(names, ", "); now != w.told && now != "" {
		w.told = now
		w.note(format, now)
	}
	return names, err
}

// endServer ends the app-server that outlived its worker. Its turns may end first,
// within the time that is left, and until somebody is in a hurry.
func (in *call) endServer(h *hurry, stateDir string, patience time.Duration) {
	if pid, running := managed.Running(stateDir); running && patience > 0 {
		in.note("stopping Codex (process %d), which may end its turns", pid)
	}
	ctx, cancel := h.until(context.Background())
	defer cancel()
	if _, err := managed.Stop(ctx, stateDir, patience); err != nil {
		in.log().Warn("the app-server was not ended; cox down tries again", "error", err)
	}
}
