package live

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coxswain/activities/codex/appserver/managed"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// A turn that was streaming when the worker was killed outright, or stopped, goes on:
// whether it ends before or after the next worker looks, that one sees the whole of
// it, and the model is asked for nothing twice.
func TestLiveTurnOutlivesAKilledWorker(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		signal syscall.Signal
		await  bool
	}{
		"killed, ends under the next worker":  {syscall.SIGKILL, true},
		"killed, ends while nobody looks":     {syscall.SIGKILL, false},
		"stopped, ends under the next worker": {syscall.SIGTERM, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outlive(t, how.signal, how.await)
		})
	}
}

// streaming is a stack whose worker's turn streams until it is released.
func streaming(t *testing.T) (r *rig, s *stack, release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	r = newRig(t, agents(func(t turn) reply {
		answer := work(t)
		if t.first && t.at() == 1 {
			answer.Release = release
		}
		return answer
	}))
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s = r.up()
	r.until("the worker's second request", func(context.Context) (bool, error) { return len(r.outputsOf("Your assignment is ")) == 1, nil })
	return r, s, release
}

// watched waits until the ledger has the streaming turn and its message.
func (r *rig) watched(l *ledger.Ledger) ledger.RunDetail {
	r.t.Helper()
	return r.awaitRun(l, "one", "a watched turn", func(d ledger.RunDetail) bool {
		return len(d.Turns) == 1 && len(d.Messages) == 1 && d.Messages[0].State == models.OutboxDelivered
	})
}

func outlive(t *testing.T, signal syscall.Signal, await bool) {
	t.Helper()
	r, s, release := streaming(t)
	l := r.ledger()
	before := r.watched(l)
	server, running := managed.Running(r.state)
	first, _ := worker.Running(r.state)
	if !running {
		t.Fatal("no app-server runs")
	}
	s.signalWorker(signal)
	if !await {
		close(release)
	}
	r.until("the next worker adopts Codex", func(context.Context) (bool, error) {
		pid, there := worker.Running(r.state)
		return there && pid != first && bytes.Contains(read(t, filepath.Join(r.state, "worker.log")), []byte("codex app-server is adopted")), nil
	})
	if await {
		close(release)
	}
	r.until("the assignment is accepted", func(ctx context.Context) (bool, error) {
		a, err := l.Assignment(ctx, "one")
		return err == nil && a.Status == models.AssignmentAccepted, err
	})
	r.until("the receipts of the prompt and of the nudge", func(ctx context.Context) (bool, error) { // a decision may come before its nudge's receipt
		events, err := l.Events(ctx, ledger.EventFilter{Types: []string{models.EventMessageDelivered}, Limit: 1000})
		return len(events) == 2, err
	})
	r.wantUndisturbed(l, before)
	if pid, _ := managed.Running(r.state); pid != server {
		t.Errorf("Codex was process %d and is %d", server, pid)
	}
	r.must("down")
	<-s.ended
	r.wantNoProcess(server)
	r.intact()
}

// wantUndisturbed checks that the run had the one turn of before, and that no step
// of it was asked for twice.
func (r *rig) wantUndisturbed(l *ledger.Ledger, before ledger.RunDetail) {
	r.t.Helper()
	run := r.onlyRun(l, "one")
	if len(run.Turns) != 1 || run.Turns[0].ID != before.Turns[0].ID || run.Turns[0].Status != models.TurnCompleted || run.SessionRef != before.SessionRef {
		r.t.Errorf("thread %s, turns %+v; want the completed %s on %s", run.SessionRef, run.Turns, before.Turns[0].ID, before.SessionRef)
	}
	// The thread tells the totals of a turn that ended unseen when it is loaded again.
	r.awaitRun(l, "one", "the totals of its turn", func(d ledger.RunDetail) bool {
		tokens := d.Turns[0].Tokens
		return tokens.Total > 0 && !tokens.Incomplete && d.Tokens == tokens
	})
	steps := map[int]int{}
	for _, q := range r.model.Requests() {
		if q.ThreadID == run.SessionRef {
			steps[len(q.Outputs)]++
		}
	}
	for n, times := range steps {
		if times != 1 {
			r.t.Errorf("the model was asked %d times for step %d", times, n)
		}
	}
	r.toldOnce(l)
}

// wantNoProcess checks that neither the server's group nor any process of the rig's
// world is left.
func (r *rig) wantNoProcess(server int) {
	r.t.Helper()
	r.until("every process ends", func(context.Context) (bool, error) {
		if !errors.Is(syscall.Kill(-server, 0), syscall.ESRCH) {
			return false, errors.New("the app-server's group is there")
		}
		found, err := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range found {
			env, readErr := os.ReadFile(path)
			if readErr == nil && strings.Contains(string(env), r.state) {
				return false, errors.New(path)
			}
		}
		return err == nil, err
	})
}
