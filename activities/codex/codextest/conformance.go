package codextest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/activities/codex"
	"coxswain/models"
)

// Setup is one host under test with a state of its own: what a second Open of
// the same Setup finds is what the first one left.
type Setup struct {
	// Open opens a host over the Setup's state, with the policy AskPeople. It is called
	// once at a time: the
	// suite closes a host before it opens the next one.
	Open func(ctx context.Context) (codex.Adapter, error)
	// Spec is the configuration of the threads. Its CWD is an existing folder
	// that the threads may write.
	Spec codex.ThreadSpec
	// Outlives tells that threads and turns outlive their host: the next one finds
	// them loaded and running.
	Outlives bool
}

// Factory makes a Setup whose resources end with the test.
type Factory func(t *testing.T) Setup

// Conformance proves that a host fulfils the contract of package codex. The
// model or agent behind the host must obey package directive.
func Conformance(t *testing.T, factory Factory) {
	// Alone: the parallel cases below begin when this one has ended.
	t.Run("no goroutine left", func(t *testing.T) { testNoLeak(t, factory(t)) })
	t.Run("one host", func(t *testing.T) {
		t.Parallel()
		shared := open(t, factory(t))
		for name, run := range map[string]func(*bench){
			"empty thread": testEmptyThread, "turn in order": testTurnInOrder, "commands and files": testWork, "commands beside each other": testOneFolder,
			"two threads interleave": testInterleave, "steer the active turn": testSteer, "steer another turn": testSteerMismatch,
			"interrupt a running turn": testInterrupt, "interrupt right after the start": testInterruptAtOnce,
			"interrupt an idle thread": testInterruptIdle, "archive twice": testArchive, "unknown thread": testUnknownThread,
			"unsubscribe and resume": testUnsubscribe, "failed model": testFailedModel, "a person accepts": testAccepted, "a person declines": testDeclined,
			"a request ends with its turn": testRequestEnds, "nobody is asked": testDenied, "subscription ends": testCancelSubscription,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(shared.fork(t, name))
			})
		}
	})
	for name, run := range map[string]func(*testing.T, Setup){
		"probe": testProbe, "resume in a new host": testRestart, "active turn at the host's end": testActiveTurn, "close": testClose,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, factory(t))
		})
	}
}

// bench is an opened host with its recorder and the test's context.
type bench struct {
	*testing.T
	ctx    context.Context
	host   codex.Adapter
	events *Recorder
	spec   codex.ThreadSpec
}

func open(t *testing.T, s Setup) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Patience)
	t.Cleanup(cancel)
	host, err := s.Open(ctx)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &bench{T: t, ctx: ctx, host: host, events: Record(t, host), spec: s.Spec}
}

// fork is the same host for one case among others: with a recorder and a folder
// of its own.
func (b *bench) fork(t *testing.T, name string) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Patience)
	t.Cleanup(cancel)
	spec := b.spec
	spec.CWD = filepath.Join(spec.CWD, strings.ReplaceAll(name, " ", "-"))
	if err := os.Mkdir(spec.CWD, 0o700); err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, ctx: ctx, host: b.host, events: Record(t, b.host), spec: spec}
}

func (b *bench) thread() codex.Thread {
	b.Helper()
	thread, err := b.host.StartThread(b.ctx, b.spec)
	if err != nil {
		b.Fatalf("start thread: %v", err)
	}
	return thread
}

func (b *bench) turn(threadID, messageID, text string) codex.Turn {
	b.Helper()
	turn, err := b.host.StartTurn(b.ctx, threadID, codex.TurnInput{Text: text, ClientMessageID: messageID})
	if err != nil {
		b.Fatalf("start turn: %v", err)
	}
	return turn
}

// delivered waits until the message is in the thread's history; other cases on
// the same host use the same ids.
func (b *bench) delivered(threadID, messageID string) codex.Event {
	b.Helper()
	return b.events.Wait(b, "user message "+messageID, func(e codex.Event) bool {
		return e.Type == codex.EventItemCompleted && e.ThreadID == threadID && e.Item.ClientID == messageID
	})
}

func (b *bench) wantKind(err error, want codex.ErrorKind, what string) {
	b.Helper()
	if codex.KindOf(err) != want {
		b.Errorf("%s: error %v, want kind %s", what, err, want)
	}
}

func (b *bench) wantStatus(threadID string, want codex.ThreadStatus) {
	b.Helper()
	thread, err := b.host.ReadThread(b.ctx, threadID)
	if err != nil || thread.Status != want {
		b.Errorf("thread reads as %q (%v), want %q", thread.Status, err, want)
	}
}

// holds tells whether the thread's items hold the client message id.
func (b *bench) holds(threadID, messageID string) bool {
	b.Helper()
	items, err := b.host.ListTurnItems(b.ctx, threadID, "")
	if err != nil {
		b.Fatalf("list items: %v", err)
	}
	for _, item := range items {
		if item.ClientID == messageID {
			return true
		}
	}
	return false
}

func testProbe(t *testing.T, s Setup) {
	b := open(t, s)
	probe, err := b.host.Probe(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if probe.Version == "" || probe.Transport == "" {
		t.Errorf("probe names no version or transport: %+v", probe)
	}
	if missing := (models.Probe{Capabilities: probe.Capabilities}).Missing(); len(missing) > 0 {
		t.Errorf("required capabilities missing: %v", missing)
	}
	for _, name := range []string{"can_archive_thread", "can_clean_terminals"} {
		if !probe.Capabilities[name] {
			t.Errorf("capability %s missing", name)
		}
	}
	if probe.SandboxDetail == "" {
		t.Error("the probe does not say what holds the agent")
	}
	if loaded, err := b.host.LoadedThreads(b.ctx); err != nil || len(loaded) != 0 {
		t.Errorf("the probe left threads: %v %v", loaded, err)
	}
	if kind := b.host.Kind(); kind != models.AdapterKindCodex && kind != models.AdapterKindFake {
		t.Errorf("kind %q is no adapter kind", kind)
	}
}
