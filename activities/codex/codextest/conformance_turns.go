package codextest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/activities/codex"
)

func testEmptyThread(b *bench) {
	thread := b.thread()
	if thread.ID == "" || thread.Status != codex.ThreadIdle {
		b.Fatalf("new thread: %+v", thread)
	}
	turns, err := b.host.ListTurns(b.ctx, thread.ID, 0)
	if err != nil || len(turns) != 0 {
		b.Errorf("turns of an empty thread: %v %v", turns, err)
	}
	items, err := b.host.ListTurnItems(b.ctx, thread.ID, "")
	if err != nil || len(items) != 0 {
		b.Errorf("items of an empty thread: %v %v", items, err)
	}
	loaded, err := b.host.LoadedThreads(b.ctx)
	if err != nil || !slices.Contains(loaded, thread.ID) {
		b.Errorf("loaded threads: %v %v", loaded, err)
	}
	b.wantStatus(thread.ID, codex.ThreadIdle)
}

func testTurnInOrder(b *bench) {
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@say hello")
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Fatalf("turn ended as %+v", end)
	}
	b.wantOrder(thread.ID, turn.ID)
	if !b.holds(thread.ID, "msg-1") {
		b.Error("the history does not hold the client message id")
	}
	turns, err := b.host.ListTurns(b.ctx, thread.ID, 1)
	if err != nil || len(turns) != 1 || turns[0].ID != turn.ID || turns[0].Status != codex.TurnCompleted {
		b.Errorf("turns: %+v %v", turns, err)
	}
	items, err := b.host.ListTurnItems(b.ctx, thread.ID, turn.ID)
	if err != nil || len(items) < 2 || items[0].Text != "@say hello" || items[len(items)-1].Text != "hello" {
		b.Errorf("items of the turn: %+v %v", items, err)
	}
}

// wantOrder checks the order of the events of a turn with one agent message.
func (b *bench) wantOrder(threadID, turnID string) {
	b.Helper()
	var order []string
	for _, e := range b.events.Events(threadID) {
		switch e.Type {
		case codex.EventProgress:
			continue
		case codex.EventItemCompleted:
			order = append(order, e.Item.Type)
		default:
			order = append(order, string(e.Type))
		}
		if e.TurnID != turnID {
			b.Errorf("event %s carries turn %q, want %q", e.Type, e.TurnID, turnID)
		}
		if e.Type == codex.EventTokens && e.Tokens.Total <= 0 {
			b.Errorf("tokens without a total: %+v", e.Tokens)
		}
	}
	want := "turn_started userMessage agentMessage tokens turn_ended"
	if got := strings.Join(order, " "); got != want {
		b.Errorf("events %q, want %q", got, want)
	}
}

func testWork(b *bench) {
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@run echo from-shell > ran.txt\n@write made.txt two words\n@say finished")
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Fatalf("turn ended as %+v", end)
	}
	for name, want := range map[string]string{"ran.txt": "from-shell\n", "made.txt": "two words\n"} {
		data, err := os.ReadFile(filepath.Join(b.spec.CWD, name))
		if err != nil || string(data) != want {
			b.Errorf("%s holds %q (%v), want %q", name, data, err, want)
		}
	}
	types := map[string]bool{}
	for _, e := range b.events.Events(thread.ID) {
		types[e.Item.Type] = true
		if e.Item.Status == "failed" || e.Item.Status == "declined" {
			b.Errorf("%s item %s: %s", e.Item.Type, e.Item.Status, e.Item.Text)
		}
	}
	for _, want := range []string{"commandExecution", "fileChange", "agentMessage"} {
		if !types[want] {
			b.Errorf("no completed %s item: %v", want, types)
		}
	}
}

// Threads of one workspace run their commands beside each other.
func testOneFolder(b *bench) {
	const threads = 4
	turns := make([]codex.Turn, threads)
	for i := range turns {
		text := fmt.Sprintf("@run echo a > first-%d.txt\n@run echo b > second-%d.txt\n@say finished", i, i)
		turns[i] = b.turn(b.thread().ID, fmt.Sprintf("msg-%d", i), text)
	}
	for i, turn := range turns {
		if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
			b.Errorf("turn ended as %+v", end)
		}
		for _, name := range []string{"first", "second"} {
			if _, err := os.Stat(filepath.Join(b.spec.CWD, fmt.Sprintf("%s-%d.txt", name, i))); err != nil {
				b.Errorf("the %s command of thread %d was not run: %v", name, i, err)
			}
		}
	}
}

func testInterleave(b *bench) {
	one, two := b.thread(), b.thread()
	held := b.turn(one.ID, "msg-1", "@hang")
	b.delivered(one.ID, "msg-1")
	quick := b.turn(two.ID, "msg-2", "@say quick")
	if end := b.events.WaitEnded(b, quick.ID); end.Status != codex.TurnCompleted {
		b.Errorf("second thread's turn ended as %+v", end)
	}
	b.wantStatus(one.ID, codex.ThreadActive)
	if err := b.host.InterruptTurn(b.ctx, one.ID, held.ID); err != nil {
		b.Fatal(err)
	}
	b.events.WaitEnded(b, held.ID)
	for _, e := range b.events.Events("") {
		if e.TurnID == held.ID && e.ThreadID != one.ID || e.TurnID == quick.ID && e.ThreadID != two.ID {
			b.Errorf("event of the wrong thread: %+v", e)
		}
	}
}

func testSteer(b *bench) {
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@hang")
	b.delivered(thread.ID, "msg-1")
	in := codex.TurnInput{Text: "@say steered", ClientMessageID: "msg-2"}
	if err := b.host.SteerTurn(b.ctx, thread.ID, turn.ID, in); err != nil {
		b.Fatal(err)
	}
	if e := b.delivered(thread.ID, "msg-2"); e.TurnID != turn.ID {
		b.Errorf("steered text went to turn %s, want %s", e.TurnID, turn.ID)
	}
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Errorf("turn ended as %+v", end)
	}
	if !b.holds(thread.ID, "msg-2") {
		b.Error("the history does not hold the steered message")
	}
}

func testSteerMismatch(b *bench) {
	thread := b.thread()
	first := b.turn(thread.ID, "msg-1", "@say one")
	b.events.WaitEnded(b, first.ID)
	in := codex.TurnInput{Text: "@say late", ClientMessageID: "msg-late"}
	b.wantKind(b.host.SteerTurn(b.ctx, thread.ID, first.ID, in), codex.ErrTurnMismatch, "steer of an idle thread")
	second := b.turn(thread.ID, "msg-2", "@hang")
	b.delivered(thread.ID, "msg-2")
	b.wantKind(b.host.SteerTurn(b.ctx, thread.ID, first.ID, in), codex.ErrTurnMismatch, "steer of another turn")
	if err := b.host.InterruptTurn(b.ctx, thread.ID, second.ID); err != nil {
		b.Fatal(err)
	}
	b.events.WaitEnded(b, second.ID)
	if b.holds(thread.ID, "msg-late") {
		b.Error("a refused steer is in the history")
	}
}

func testInterrupt(b *bench) {
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@run touch began && sleep 300")
	waitFile(b, filepath.Join(b.spec.CWD, "began"))
	if err := b.host.InterruptTurn(b.ctx, thread.ID, turn.ID); err != nil {
		b.Fatal(err)
	}
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnInterrupted {
		b.Errorf("turn ended as %+v", end)
	}
	left, err := b.host.CleanBackgroundTerminals(b.ctx, thread.ID)
	if err != nil || left != 0 {
		b.Errorf("background terminals left: %d %v", left, err)
	}
	turns, err := b.host.ListTurns(b.ctx, thread.ID, 0)
	if err != nil || len(turns) != 1 || turns[0].Status != codex.TurnInterrupted {
		b.Errorf("turns: %+v %v", turns, err)
	}
	b.wantStatus(thread.ID, codex.ThreadIdle)
}

// An interrupt that follows the start without any wait either ends the turn or
// says that the turn is not active yet; repeated, as a cancel does, it ends it.
func testInterruptAtOnce(b *bench) {
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@hang")
	if err := b.host.InterruptTurn(b.ctx, thread.ID, turn.ID); err != nil {
		b.Fatal(err)
	}
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnInterrupted {
		b.Errorf("turn ended as %+v", end)
	}
}

func testInterruptIdle(b *bench) {
	thread := b.thread()
	turn := b.turn(thread.ID, "msg-1", "@say one")
	b.events.WaitEnded(b, turn.ID)
	b.wantKind(b.host.InterruptTurn(b.ctx, thread.ID, turn.ID), codex.ErrTurnMismatch, "interrupt of an idle thread")
	second := b.turn(thread.ID, "msg-2", "@hang")
	b.delivered(thread.ID, "msg-2")
	b.wantKind(b.host.InterruptTurn(b.ctx, thread.ID, turn.ID), codex.ErrTurnMismatch, "interrupt of another turn")
	b.wantStatus(thread.ID, codex.ThreadActive)
	if err := b.host.InterruptTurn(b.ctx, thread.ID, second.ID); err != nil {
		b.Fatal(err)
	}
	b.events.WaitEnded(b, second.ID)
}

func testFailedModel(b *bench) {
	thread := b.thread()
	for status, kind := range map[string]string{"429": "rate_limit", "500": "server", "401": "auth"} {
		turn := b.turn(thread.ID, "msg-"+status, "@fail "+status)
		end := b.events.WaitEnded(b, turn.ID)
		if end.Status != codex.TurnFailed || end.ErrorKind != kind || end.Error == "" {
			b.Errorf("model status %s: turn ended as %+v, want failed with kind %s", status, end, kind)
		}
	}
	turn := b.turn(thread.ID, "msg-ok", "@say recovered")
	if end := b.events.WaitEnded(b, turn.ID); end.Status != codex.TurnCompleted {
		b.Errorf("turn after the failures ended as %+v", end)
	}
}

// waitFile waits until a command of the agent has made the file.
func waitFile(t testing.TB, path string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Patience)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s was not made within %s", path, Patience)
		}
	}
}
