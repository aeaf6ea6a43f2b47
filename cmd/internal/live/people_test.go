package live

import (
	"context"
	"strings"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
)

// steered is the newest message when a person has said something into the turn.
func (t turn) steered() bool { return strings.Contains(t.User, "says this about assignment") }

// asWorker lets a request whose newest message names no contract go on with an
// assignment.
func (t turn) asWorker(assignment string) turn {
	t.assignment = assignment
	return t
}

// A person's words reach the active turn of the real Codex, once, and the turn goes
// on with them: there is no second one.
func TestLiveAPersonSteersTheRunningTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, agents(func(t turn) reply {
		if t.steered() {
			return work(t.asWorker("one"))
		}
		return reply{Pause: true} // thinks for ever, until somebody says something
	}))
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up("--exit-when-done")
	l := r.made()
	run := r.awaitRun(l, "one", "works", func(d ledger.RunDetail) bool {
		return len(d.Turns) == 1 && len(r.requests("Your assignment is ")) > 0
	})
	said := object(r.must("run", "steer", "--message", "Write it to "+outFile("one")+" now", run.ID), "message")
	wantStatus(t, s.finish(), "accepted", "one")

	run = r.onlyRun(l, "one")
	wantTurns(t, run, models.TurnCompleted)
	r.wasTold(run.SessionRef, []string{"Your assignment is `one`"}, []string{"says this about assignment `one`", "Write it to " + outFile("one") + " now"})
	var receipt models.OutboxItem
	for _, m := range run.Messages {
		if m.ID == text(said, "message_id") {
			receipt = m
		}
	}
	if receipt.State != models.OutboxDelivered || receipt.TurnID != run.Turns[0].ID || receipt.Reason != "" {
		t.Errorf("the receipt is %+v, want it in turn %s", receipt, run.Turns[0].ID)
	}
	r.logTells(run.ID, "turn started", "says: Write it to", "userMessage: "+receipt.ID, "commandExecution", "handed off by", "turn completed")
	r.intact()
}

// logTells checks that the log of a run, read without a worker, holds texts in an
// order.
func (r *rig) logTells(run string, texts ...string) {
	r.t.Helper()
	var all strings.Builder
	for _, e := range list(r.must("run", "logs", run), "entries") {
		all.WriteString(text(e, "text") + "\n")
	}
	rest := all.String()
	for _, want := range texts {
		_, after, found := strings.Cut(rest, want)
		if !found {
			r.t.Errorf("the log lacks %q in its place:\n%s", want, all.String())
			return
		}
		rest = after
	}
}

// A person stops a turn while its command runs: the turn ends as interrupted, the
// command is gone, and the answer resumes the same thread.
func TestLiveAPersonStopsARunAndLetsItGoOn(t *testing.T) {
	t.Parallel()
	const mark = "987.5"
	r := newRig(t, agents(func(t turn) reply {
		switch {
		case strings.Contains(t.User, "The answer of"):
			return work(t)
		case t.at() == 0:
			return codextest.Exec(t.id(), "sleep "+mark)
		}
		return reply{Pause: true}
	}))
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up("--exit-when-done")
	l := r.made()
	run := r.awaitRun(l, "one", "works", func(d ledger.RunDetail) bool { return len(d.Turns) == 1 })
	r.until("its command runs", func(context.Context) (bool, error) { return sleepers(t, mark, r.repo) > 0, nil })
	r.must("run", "interrupt", "--reason", "it only sleeps", run.ID)
	run = r.awaitRun(l, "one", "is stopped", func(d ledger.RunDetail) bool { return d.Turns[0].Status.Ended() })
	wantTurns(t, run, models.TurnInterrupted)
	r.until("its command is gone", func(context.Context) (bool, error) { return sleepers(t, mark, r.repo) == 0, nil })
	if run.EndedAt != nil || run.Status != models.RunAwaitingHuman {
		t.Errorf("the run is %s, ended %v", run.Status, run.EndedAt)
	}
	q := r.question(l, "one")
	wantAll(t, "the question", q.Prompt, "human:", "it only sleeps")
	r.respond(q, "Write it to "+outFile("one"))
	wantStatus(t, s.finish(), "accepted", "one")

	run = r.onlyRun(l, "one")
	wantTurns(t, run, models.TurnInterrupted, models.TurnCompleted)
	r.toldOnce(l)
	r.intact()
}

// Words that the turn cannot read yet, since a command runs, are delivered once it
// can, and never a second time.
func TestLiveWordsWaitBehindARunningCommand(t *testing.T) {
	t.Parallel()
	const mark = "988.5"
	r := newRig(t, agents(func(t turn) reply {
		switch {
		case t.steered():
			return work(t.asWorker("one"))
		case t.at() == 0: // longer than a receipt is waited for
			return codextest.Exec(t.id(), "sleep 15 && sleep "+mark)
		}
		return reply{Pause: true}
	}))
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up("--exit-when-done")
	l := r.made()
	run := r.awaitRun(l, "one", "works", func(d ledger.RunDetail) bool { return len(d.Turns) == 1 })
	said := object(r.must("run", "steer", "--message", "Write it now", run.ID), "message")
	wantStatus(t, s.finish(), "accepted", "one")

	run = r.onlyRun(l, "one")
	wantTurns(t, run, models.TurnCompleted)
	r.wasTold(run.SessionRef, []string{"Your assignment is `one`"}, []string{"Write it now"})
	for _, m := range run.Messages {
		if m.ID == text(said, "message_id") && (m.State != models.OutboxDelivered || m.TurnID != run.Turns[0].ID) {
			t.Errorf("the receipt is %+v, want it in turn %s", m, run.Turns[0].ID)
		}
	}
	r.until("no command is left", func(context.Context) (bool, error) { return sleepers(t, mark, r.repo) == 0, nil })
	r.intact()
}
