package codextest

import (
	"context"
	"path/filepath"
	"time"

	"coxswain/activities/codex"
	"coxswain/models"
)

// AskPeople is the policy of the suite's hosts: a person is asked about every
// command.
func AskPeople(_ context.Context, r models.ApprovalRequest) (models.Ruled, time.Duration) {
	p := models.Policy{Rows: []models.PolicyRow{{Class: models.RiskOrdinary, Ruling: models.RulingAsk}}}
	return p.Decide(r), p.WaitFor()
}

// asks starts a turn in a thread that may ask, and waits for its request.
func (b *bench) asks(command string) (turn codex.Turn, e codex.Event) {
	b.Helper()
	b.spec.AskPerson = true
	thread := b.thread()
	turn = b.turn(thread.ID, "msg-1", "@ask "+command)
	return turn, b.events.Wait(b, "request of turn "+turn.ID, func(e codex.Event) bool {
		return e.Type == codex.EventServerRequest && e.TurnID == turn.ID
	})
}

func (b *bench) wantResolved(turn codex.Turn, e codex.Event) {
	b.Helper()
	b.events.Wait(b, "end of request "+e.Request.ID, func(r codex.Event) bool {
		return r.Type == codex.EventRequestResolved && r.TurnID == turn.ID && r.Request.ID == e.Request.ID
	})
}

func (b *bench) answer(e codex.Event, v models.Verdict) error {
	return b.host.AnswerRequest(b.ctx, refOf(e), codex.Answer{Verdict: v})
}

func refOf(e codex.Event) codex.RequestRef {
	return codex.RequestRef{ThreadID: e.ThreadID, TurnID: e.TurnID, ID: e.Request.ID}
}

func testAccepted(b *bench) {
	turn, e := b.asks("touch accepted")
	if e.Request.Answer != "" || e.Request.Asked == nil || e.Request.Class != models.RiskOrdinary || e.Request.Wait != models.DefaultWait {
		b.Fatalf("request %+v", e.Request)
	}
	if argv := e.Request.Asked.Argv; len(argv) != 2 || argv[0] != "touch" || argv[1] != "accepted" {
		b.Errorf("words %q of %q", argv, e.Request.Asked.Command)
	}
	if now, err := b.host.ReadThread(b.ctx, e.ThreadID); err != nil || now.Status != codex.ThreadActive || !now.Asking {
		b.Errorf("thread %+v, %v", now, err)
	}
	other := e
	other.TurnID = "another"
	b.wantKind(b.answer(other, models.VerdictAccept), codex.ErrRequestGone, "the same request of another turn")
	if !b.host.Waits(refOf(e)) {
		b.Error("the request does not wait")
	}
	if err := b.answer(e, models.VerdictAccept); err != nil {
		b.Fatal(err)
	}
	b.wantKind(b.answer(e, models.VerdictDecline), codex.ErrRequestGone, "a second answer")
	b.wantResolved(turn, e)
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Errorf("turn ended as %+v", end)
	}
	waitFile(b, filepath.Join(b.spec.CWD, "accepted"))
	if now, err := b.host.ReadThread(b.ctx, e.ThreadID); err != nil || now.Asking {
		b.Errorf("thread %+v, %v", now, err)
	}
}

func testDeclined(b *bench) {
	turn, e := b.asks("rm -rf made")
	if e.Request.Class != models.RiskDestructive {
		b.Errorf("class %s", e.Request.Class)
	}
	if err := b.answer(e, models.VerdictDecline); err != nil {
		b.Fatal(err)
	}
	b.wantResolved(turn, e)
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Errorf("turn ended as %+v", end)
	}
	item := b.events.Wait(b, "the command's item", func(i codex.Event) bool {
		return i.Type == codex.EventItemCompleted && i.TurnID == turn.ID && i.Item.Type == "commandExecution"
	})
	if item.Item.Status != "declined" {
		b.Errorf("item %+v", item.Item)
	}
}

func testRequestEnds(b *bench) {
	turn, e := b.asks("touch never-made")
	if err := b.host.InterruptTurn(b.ctx, e.ThreadID, turn.ID); err != nil {
		b.Fatal(err)
	}
	b.events.WaitEnded(b, turn.ID)
	b.wantKind(b.answer(e, models.VerdictAccept), codex.ErrRequestGone, "an answer to an ended request")
	if b.host.Waits(refOf(e)) {
		b.Error("an ended request waits")
	}
}

func testDenied(b *bench) {
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@ask git push")
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Errorf("turn ended as %+v", end)
	}
	e := b.events.Wait(b, "the denial", func(e codex.Event) bool { return e.Type == codex.EventServerRequest && e.TurnID == turn.ID })
	if e.Request.Answer != codex.AnsweredDenied || e.Request.Class != models.RiskPush || e.Request.Detail != "git push" || e.Request.Asked != nil {
		b.Errorf("request %+v", e.Request)
	}
}
