package live

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"coxswain/activities/codex/appserver/managed"
	"coxswain/models"
	"coxswain/models/ledger"
)

// A killed app-server takes its turns along and nothing else: whether the worker lives
// or is killed with it, another server is started, and the turn is lost, resumed once,
// and done on the same thread.
func TestLiveKilledServerLosesItsTurnsOnly(t *testing.T) {
	t.Parallel()
	for name, both := range map[string]bool{"the worker lives": false, "with its worker": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loseServer(t, both)
		})
	}
}

func loseServer(t *testing.T, both bool) {
	t.Helper()
	r := newRig(t, agents(func(t turn) reply {
		answer := work(t)
		answer.Pause = t.first && t.at() == 1 // until Codex is gone
		return answer
	}))
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up()
	r.until("the worker's second request", func(context.Context) (bool, error) { return len(r.outputsOf("Your assignment is ")) == 1, nil })
	l := r.ledger()
	before := r.awaitRun(l, "one", "the prompt's receipt", func(d ledger.RunDetail) bool {
		return len(d.Messages) == 1 && d.Messages[0].State == models.OutboxDelivered
	})
	server, running := managed.Running(r.state)
	if !running {
		t.Fatal("no app-server runs")
	}
	check(t, syscall.Kill(-server, syscall.SIGKILL))
	if both {
		s.killWorker()
	}
	r.until("the assignment is accepted", func(ctx context.Context) (bool, error) {
		a, err := l.Assignment(ctx, "one")
		return err == nil && a.Status == models.AssignmentAccepted, err
	})
	run := r.onlyRun(l, "one")
	if run.SessionRef != before.SessionRef {
		t.Errorf("thread %s became %s", before.SessionRef, run.SessionRef)
	}
	wantLost(t, run)
	r.toldOnce(l)
	next, _ := managed.Running(r.state)
	if next == server {
		t.Errorf("Codex is still process %d", next)
	}
	r.must("down")
	<-s.ended
	r.wantNoProcess(next)
	r.intact()
}

// The first Ctrl-C names the turn that streams and lets it end, the server ends with
// it, and the next start goes on with what was handed off.
func TestLiveFirstInterruptLetsTheTurnEnd(t *testing.T) {
	t.Parallel()
	r, s, release := streaming(t)
	l := r.ledger()
	before := r.watched(l)
	server, _ := managed.Running(r.state)
	check(t, s.cmd.Process.Signal(syscall.SIGINT))
	r.until("it names the turn", func(context.Context) (bool, error) {
		return strings.Contains(s.stderr.String(), "waiting for the turns of one to end"), nil
	})
	close(release)
	<-s.ended
	if s.err != nil {
		t.Errorf("cox up ended with %v", s.err)
	}
	r.wantNoProcess(server)
	if a, err := l.Assignment(t.Context(), "one"); err != nil || a.Status != models.AssignmentAwaitingReview {
		t.Errorf("the assignment is %s, %v", a.Status, err)
	}
	wantStatus(t, r.up("--exit-when-done").finish(), "accepted", "one")
	r.wantUndisturbed(l, before)
	r.intact()
}
