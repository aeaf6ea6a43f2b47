package codextest

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"coxswain/activities/codex"

	"go.uber.org/goleak"
)

// absentThread is a well-formed id that no host has made.
const absentThread = "01890000-0000-7000-8000-000000000000"

func testRestart(t *testing.T, s Setup) {
	b := open(t, s)
	thread := b.thread()
	first := b.turn(thread.ID, "msg-1", "@say one")
	b.events.WaitEnded(t, first.ID)
	b.close()

	b = open(t, s)
	left := codex.ThreadNotLoaded
	if s.Outlives {
		left = codex.ThreadIdle
	}
	b.wantStatus(thread.ID, left)
	if b.host.Holds(thread.ID) {
		t.Error("the new host holds a thread that it has not resumed")
	}
	back, err := b.host.ResumeThread(b.ctx, thread.ID, s.Spec)
	if err != nil || back.ID != thread.ID || back.Status != codex.ThreadIdle {
		t.Fatalf("resume: %+v %v", back, err)
	}
	if !b.holds(thread.ID, "msg-1") {
		t.Error("the history lost the client message id")
	}
	b.events.Wait(t, "the totals of the thread, in the name of its last turn", func(e codex.Event) bool {
		return e.Type == codex.EventTokens && e.TurnID == first.ID && e.Tokens.Total > 0
	})
	turn := b.turn(thread.ID, "msg-2", "@say two")
	if end := b.events.WaitEnded(t, turn.ID); end.Status != codex.TurnCompleted {
		t.Errorf("turn after the restart ended as %+v", end)
	}
	turns, err := b.host.ListTurns(b.ctx, thread.ID, 0)
	if err != nil || len(turns) != 2 || turns[0].ID != turn.ID {
		t.Errorf("turns, newest first: %+v %v", turns, err)
	}
}

func testActiveTurn(t *testing.T, s Setup) {
	b := open(t, s)
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@hang")
	b.delivered(thread.ID, "msg-1")
	b.close()

	b = open(t, s)
	if s.Outlives {
		b.keptTurn(thread, turn)
	} else {
		b.lostTurn(thread, turn)
	}
	if !b.holds(thread.ID, "msg-1") {
		t.Error("the history lost the client message id")
	}
	again := b.turn(thread.ID, "msg-2", "@say back")
	if end := b.events.WaitEnded(t, again.ID); end.Status != codex.TurnCompleted {
		t.Errorf("turn after the resume ended as %+v", end)
	}
}

// keptTurn attaches to a turn that went on without its host, and ends it.
func (b *bench) keptTurn(thread codex.Thread, turn codex.Turn) {
	b.Helper()
	back, err := b.host.ResumeThread(b.ctx, thread.ID, b.spec)
	if err != nil || back.Status != codex.ThreadActive || !b.host.Holds(thread.ID) {
		b.Fatalf("resume: %+v %v", back, err)
	}
	turns, err := b.host.ListTurns(b.ctx, thread.ID, 0)
	if err != nil || len(turns) != 1 || turns[0].ID != turn.ID || turns[0].Status != codex.TurnInProgress {
		b.Errorf("turns after the host's end: %+v %v", turns, err)
	}
	if err := b.host.InterruptTurn(b.ctx, thread.ID, turn.ID); err != nil {
		b.Fatal(err)
	}
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnInterrupted {
		b.Errorf("turn ended as %+v", end)
	}
}

// lostTurn finds a turn interrupted that ended with its host.
func (b *bench) lostTurn(thread codex.Thread, turn codex.Turn) {
	b.Helper()
	back, err := b.host.ResumeThread(b.ctx, thread.ID, b.spec)
	if err != nil || back.Status != codex.ThreadIdle {
		b.Fatalf("resume: %+v %v", back, err)
	}
	turns, err := b.host.ListTurns(b.ctx, thread.ID, 0)
	if err != nil || len(turns) != 1 || turns[0].ID != turn.ID || turns[0].Status != codex.TurnInterrupted {
		b.Errorf("turns after the host's end: %+v %v", turns, err)
	}
}

func testArchive(b *bench) {
	used, empty := b.thread(), b.thread()
	b.events.WaitEnded(b, b.turn(used.ID, "msg-1", "@say one").ID)
	for _, id := range []string{used.ID, used.ID, empty.ID, empty.ID, absentThread} {
		if err := b.host.ArchiveThread(b.ctx, id); err != nil {
			b.Errorf("archive %s: %v", id, err)
		}
	}
	b.events.Wait(b, "end of the archived thread", func(e codex.Event) bool {
		return e.Type == codex.EventThreadClosed && e.ThreadID == used.ID
	})
	loaded, err := b.host.LoadedThreads(b.ctx)
	if err != nil || slices.Contains(loaded, used.ID) || slices.Contains(loaded, empty.ID) {
		b.Errorf("threads loaded after their archive: %v %v", loaded, err)
	}
	if !b.holds(used.ID, "msg-1") {
		b.Error("an archived thread's history cannot be read")
	}
}

func testUnknownThread(b *bench) {
	in := codex.TurnInput{Text: "@say lost", ClientMessageID: "msg-1"}
	_, err := b.host.ReadThread(b.ctx, absentThread)
	b.wantKind(err, codex.ErrUnknownID, "read")
	_, err = b.host.ResumeThread(b.ctx, absentThread, b.spec)
	b.wantKind(err, codex.ErrUnknownID, "resume")
	_, err = b.host.ListTurns(b.ctx, absentThread, 0)
	b.wantKind(err, codex.ErrUnknownID, "list turns")
	_, err = b.host.ListTurnItems(b.ctx, absentThread, "")
	b.wantKind(err, codex.ErrUnknownID, "list items")
	_, err = b.host.StartTurn(b.ctx, absentThread, in)
	b.wantKind(err, codex.ErrUnknownID, "start turn")
	b.wantKind(b.host.SteerTurn(b.ctx, absentThread, absentThread, in), codex.ErrUnknownID, "steer")
	b.wantKind(b.host.InterruptTurn(b.ctx, absentThread, absentThread), codex.ErrUnknownID, "interrupt")
	if left, err := b.host.CleanBackgroundTerminals(b.ctx, absentThread); err != nil || left != 0 {
		b.Errorf("terminals of a thread that is not loaded: %d %v", left, err)
	}
}

func testUnsubscribe(b *bench) {
	thread := b.thread()
	b.events.WaitEnded(b, b.turn(thread.ID, "msg-1", "@say one").ID)
	if err := b.host.Unsubscribe(b.ctx, thread.ID); err != nil {
		b.Fatal(err)
	}
	if _, err := b.host.ResumeThread(b.ctx, thread.ID, b.spec); err != nil {
		b.Fatal(err)
	}
	turn := b.turn(thread.ID, "msg-2", "@say two")
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Errorf("turn ended as %+v", end)
	}
}

func testClose(t *testing.T, s Setup) {
	b := open(t, s)
	thread := b.thread()
	select {
	case <-b.host.Done():
		t.Fatalf("host is gone before its end: %v", b.host.Err())
	default:
	}
	b.close()
	if err := b.host.Err(); err != nil {
		t.Errorf("a closed host failed: %v", err)
	}
	_, err := b.host.ReadThread(b.ctx, thread.ID)
	b.wantKind(err, codex.ErrClosed, "read after close")
	if err := b.host.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// close ends the host and waits for its Done.
func (b *bench) close() {
	b.Helper()
	if err := b.host.Close(); err != nil {
		b.Fatalf("close: %v", err)
	}
	select {
	case <-b.host.Done():
	case <-time.After(Patience):
		b.Fatalf("host is not done %s after its close", Patience)
	}
}

func testCancelSubscription(b *bench) {
	thread := b.thread()
	var seen atomic.Int64
	cancel := b.host.Subscribe(func(codex.Event) { seen.Add(1) })
	b.events.WaitEnded(b, b.turn(thread.ID, "msg-1", "@say one").ID)
	cancel()
	cancel()
	later := Record(b, b.host) // subscribed after it, so told after it
	turn := b.turn(thread.ID, "msg-2", "@hang")
	b.delivered(thread.ID, "msg-2")
	before := seen.Load()
	if err := b.host.InterruptTurn(b.ctx, thread.ID, turn.ID); err != nil {
		b.Fatal(err)
	}
	later.WaitEnded(b, turn.ID)
	if after := seen.Load(); after != before || before == 0 {
		b.Errorf("%d events before the subscription's end, %d after it", before, after-before)
	}
}

func testNoLeak(t *testing.T, s Setup) {
	work := func() {
		b := open(t, s)
		thread := b.thread()
		b.events.WaitEnded(t, b.turn(thread.ID, "msg-1", "@say one").ID)
		turn := b.turn(thread.ID, "msg-2", "@hang")
		b.delivered(thread.ID, "msg-2")
		if s.Outlives { // the turn would go on, and its model with it
			if err := b.host.InterruptTurn(b.ctx, thread.ID, turn.ID); err != nil {
				t.Fatal(err)
			}
			b.events.WaitEnded(t, turn.ID)
		}
		b.close()
	}
	work() // what a process starts once is no leak
	before := goleak.IgnoreCurrent()
	work()
	if err := goleak.Find(before); err != nil {
		t.Errorf("goroutines left: %v", err)
	}
}
