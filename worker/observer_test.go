package worker

import (
	"slices"
	"testing"

	"github.com/gofrs/flock"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

func TestTheObserverWritesWhatATurnDid(t *testing.T) {
	r := newRig(t)
	o, host := r.observing()
	for _, id := range []string{"i1", "i2", "i3"} {
		host.send(codex.Event{Type: codex.EventItemCompleted, ThreadID: "th", TurnID: "tu", Item: codex.Item{ID: id, Type: "commandExecution", Text: "make " + id}})
	}
	host.send(codex.Event{Type: codex.EventTokens, ThreadID: "th", TurnID: "tu", Tokens: codex.Tokens{Input: 5, Output: 6, Total: 11}})
	host.send(codex.Event{Type: codex.EventRateLimits, Limits: map[string]any{"used": 42.0}})
	o.flush(t.Context())
	if turn, found := r.turn("tu"); !found || turn.Items != 3 || turn.LastItem != "commandExecution" || turn.Tokens.Total != 11 {
		t.Errorf("turn %+v", turn)
	}
	if len(o.moved()) != 0 {
		t.Error("progress that was written counts as new")
	}
	host.send(codex.Event{Type: codex.EventItemCompleted, ThreadID: "th", TurnID: "tu", Item: codex.Item{ID: "i4", Type: "agentMessage", Text: "done"}})
	o.flush(t.Context())
	before, _ := r.turn("tu")
	host.send(codex.Event{Type: codex.EventTokens, ThreadID: "th", TurnID: "tu", Tokens: codex.Tokens{Input: 5, Output: 6, Total: 11}})
	host.send(codex.Event{Type: codex.EventSign, ThreadID: "th", TurnID: "tu"})
	o.flush(t.Context())
	if after, _ := r.turn("tu"); !after.ProgressAt.Equal(before.ProgressAt) || after.SignAt.Equal(before.SignAt) {
		t.Errorf("unchanged token totals and retries count as progress, or for nothing: %+v, %+v", before, after)
	}
	host.send(codex.Event{Type: codex.EventTurnEnded, ThreadID: "th", TurnID: "tu", Turn: codex.Turn{Status: codex.TurnCompleted}})
	r.until("the end is not written", func() bool { turn, _ := r.turn("tu"); return turn.Status == models.TurnCompleted })
	items, err := r.l.RunItems(t.Context(), r.run.ID)
	r.ok(err)
	if len(items) != 4 || items[0].Summary != "make i1" || items[3].Summary != "done" {
		t.Errorf("items %+v", items)
	}
	run, err := r.l.Run(t.Context(), r.run.ID)
	r.ok(err)
	if limits, _ := run.Metadata["rate_limits"].(map[string]any); run.Tokens.Total != 11 || limits["used"] != 42.0 {
		t.Errorf("run %+v", run)
	}
}

func TestTheObserverKeepsTheOrderOfFacts(t *testing.T) {
	r := newRig(t)
	_, host := r.observing()
	host.send(codex.Event{Type: codex.EventTurnEnded, ThreadID: "th", TurnID: "tu", Turn: codex.Turn{Status: codex.TurnFailed, Error: "boom", ErrorKind: "server"}})
	host.send(codex.Event{Type: codex.EventTurnStarted, ThreadID: "th", TurnID: "tu-2"})
	host.send(codex.Event{Type: codex.EventItemCompleted, ThreadID: "th", TurnID: "tu-2", Item: codex.Item{Type: "userMessage", ClientID: "msg_x"}})
	host.send(codex.Event{Type: codex.EventServerRequest, ThreadID: "th", TurnID: "tu-2", Request: codex.ServerRequest{Method: "exec", Answer: "declined"}})
	host.send(codex.Event{Type: codex.EventThreadClosed, ThreadID: "th"})
	host.send(codex.Event{Type: codex.EventTurnStarted, ThreadID: "nobodys", TurnID: "tu-9"})
	r.until("the second turn is not recorded with its cause", func() bool { turn, _ := r.turn("tu-2"); return turn.CauseID == "msg_x" })
	first, _ := r.turn("tu")
	second, _ := r.turn("tu-2")
	if first.Status != models.TurnFailed || first.ErrorKind != "server" || first.Error != "boom" || second.Status != models.TurnActive || second.RunID != r.run.ID {
		t.Errorf("turns %+v, %+v", first, second)
	}
	r.until("the answered request is not recorded", func() bool {
		e, err := r.l.Events(t.Context(), ledger.EventFilter{Types: []string{models.EventServerRequest}})
		r.ok(err)
		return len(e) == 1 && e[0].Payload["answer"] == "declined"
	})
	if _, found := r.turn("tu-9"); found {
		t.Error("a turn of a thread that the ledger does not know was recorded")
	}
}

func TestATurnThatBeginsAfterTheCancelIsInterrupted(t *testing.T) {
	r := newRig(t)
	_, host := r.observing()
	host.send(codex.Event{Type: codex.EventTurnStarted, ThreadID: "th", TurnID: "tu-2"})
	r.until("the wanted turn is not recorded", func() bool { _, found := r.turn("tu-2"); return found })
	_, err := r.l.CancelAssignment(t.Context(), ledger.As(ann), "a", nil, "stop")
	r.ok(err)
	host.send(codex.Event{Type: codex.EventTurnStarted, ThreadID: "th", TurnID: "tu-3"})
	r.until("the unwanted turn is not interrupted", func() bool { return len(host.interrupts()) > 0 })
	if got := host.interrupts(); !slices.Equal(got, []string{"th tu-3"}) {
		t.Errorf("interrupted %v", got)
	}
}

// The end of a turn is not forgotten because another process held the ledger.
func TestABusyLedgerIsWaitedFor(t *testing.T) {
	r := newRig(t)
	lock := flock.New(r.at.Path + ".lock")
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatalf("the ledger's lock was not taken: %t, %v", ok, err)
	}
	o, host := newObserver(r.l, discard()), newScripted()
	o.retry = 0
	if err := o.write(t.Context(), ended(host)); !models.IsCode(err, models.CodeLedgerBusy) {
		t.Fatalf("a held ledger says %v", err)
	}
	done := make(chan struct{})
	go func() { o.persist(t.Context(), ended(host)); close(done) }()
	r.ok(lock.Unlock())
	<-done
	if turn, _ := r.turn("tu"); turn.Status != models.TurnCompleted {
		t.Errorf("turn %+v", turn)
	}
}

func ended(host codex.Adapter) fact {
	return fact{host, codex.Event{Type: codex.EventTurnEnded, ThreadID: "th", TurnID: "tu", Turn: codex.Turn{Status: codex.TurnCompleted}}}
}
