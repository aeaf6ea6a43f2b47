package fake_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/fake"
)

func TestAgentThatFailsGivesAFailedTurnWithTheReason(t *testing.T) {
	done := `echo '{"type":"end","status":"completed"}'`
	for name, c := range map[string]struct{ script, want string }{
		"dies before its first line": {"echo no such thing >&2; exit 127", "exit status 127; stderr ends: no such thing"},
		"ends without a last word":   {"cat >/dev/null & exit 0", "ended early"},
		"ends by a signal":           {"kill -9 $$", "signal: killed"},
		"writes no report":           {"echo hello; exec cat", `no report but "hello"`},
		"writes an unknown report":   {`echo '{"type":"dance"}'; exec cat`, `"dance" is not known`},
		"writes a line without end":  {"exec tr '\\0' x </dev/zero", "token too long"},
		"completes and then fails":   {done + "; exit 3", "exit status 3"},
		"fails of its own":           {`echo '{"type":"end","status":"failed","error":"no luck","error_kind":"usage_limit"}'`, "no luck"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, shell(c.script))
			end := b.play(b.thread(), "go")
			kind := "other"
			if c.want == "no luck" {
				kind = "usage_limit"
			}
			if end.Status != codex.TurnFailed || end.ErrorKind != kind || !strings.Contains(end.Error, c.want) {
				t.Errorf("turn ended as %+v, want failed %s with %q", end, kind, c.want)
			}
		})
	}
}

func TestAgentThatCannotBeStarted(t *testing.T) {
	b := newBench(t, func(o *fake.Options) { o.Agent = []string{"/no/such/agent"} })
	_, err := b.host.Probe(t.Context())
	b.wantKind(err, codex.ErrNotFound)
	if end := b.play(b.thread(), "go"); end.Status != codex.TurnFailed || !strings.Contains(end.Error, "/no/such/agent") {
		t.Errorf("turn ended as %+v", end)
	}
}

// A subscriber that is slower than the agent loses none of its last words.
func TestLastWordsWaitForASlowListener(t *testing.T) {
	script := `for i in 1 2 3; do echo '{"type":"item","item":"agentMessage","text":"word"}'; done; echo '{"type":"end","status":"completed"}'; echo $$ > pid`
	b := newBench(t, shell(script))
	slow := sync.OnceFunc(func() {
		b.wantGone(b.pids(filepath.Join(b.cwd, "pid"), 1))
		time.Sleep(1500 * time.Millisecond) // longer than the host waits for a pipe that outlives its agent
	})
	defer b.host.Subscribe(func(e codex.Event) {
		if e.Type == codex.EventItemCompleted && e.Item.Type == "agentMessage" {
			slow()
		}
	})()
	thread := b.thread()
	if end := b.play(thread, "go"); end.Status != codex.TurnCompleted {
		t.Errorf("turn ended as %+v", end)
	}
	if items, err := b.host.ListTurnItems(t.Context(), thread, ""); err != nil || len(items) != 4 {
		t.Errorf("%d items, %v, want the message and three words", len(items), err)
	}
}

func TestStderrFloodIsDrainedAndItsEndKept(t *testing.T) {
	b := newBench(t, shell("head -c 5000000 /dev/zero | tr '\\0' z >&2; echo the end >&2; exit 1"))
	end := b.play(b.thread(), "go")
	if end.Status != codex.TurnFailed || !strings.HasSuffix(end.Error, "the end") || len(end.Error) > 2000 {
		t.Errorf("turn ended as %s with %d bytes of error", end.Status, len(end.Error))
	}
}

func TestInterruptLeavesNoProcess(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	turn := b.start(thread, "@run sleep 300 & echo $PPID $$ $! > pids; sleep 300")
	pids := b.pids(filepath.Join(b.cwd, "pids"), 3)
	b.wantAlive(pids)
	if err := b.host.InterruptTurn(t.Context(), thread, turn.ID); err != nil {
		t.Fatal(err)
	}
	if end := b.events.WaitEnded(t, turn.ID); end.Status != codex.TurnInterrupted {
		t.Errorf("turn ended as %+v", end)
	}
	b.wantGone(pids)
}

func TestAgentDeafToSIGTERMIsKilledWithItsGroups(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid command, which only Linux has: ", err)
	}
	// The command in a session of its own stands for one that the agent reports.
	script := `trap '' TERM; setsid sleep 300 & echo "{\"type\":\"process\",\"group\":$!}"; sleep 301 & echo $$ $! > own; pgrep -P $$ -x sleep > pids; wait`
	b := newBench(t, func(o *fake.Options) { shell(script)(o); o.StopTimeout = 100 * time.Millisecond })
	thread := b.thread()
	turn := b.start(thread, "go")
	pids := append(b.pids(filepath.Join(b.cwd, "own"), 2), b.pids(filepath.Join(b.cwd, "pids"), 2)...)
	if err := b.host.InterruptTurn(t.Context(), thread, turn.ID); err != nil {
		t.Fatal(err)
	}
	if end := b.events.WaitEnded(t, turn.ID); end.Status != codex.TurnInterrupted {
		t.Errorf("turn ended as %+v", end)
	}
	b.wantGone(pids)
}

func TestBackgroundCommandEndsWithItsStep(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	if end := b.play(thread, "@run sleep 300 & echo $! > pid"); end.Status != codex.TurnCompleted {
		t.Errorf("turn ended as %+v", end)
	}
	b.wantGone(b.pids(filepath.Join(b.cwd, "pid"), 1))
}

func TestOneTurnAtATime(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	turn := b.start(thread, "@hang")
	_, err := b.host.StartTurn(t.Context(), thread, codex.TurnInput{Text: "@say second", ClientMessageID: "second"})
	b.wantKind(err, codex.ErrTurnMismatch)
	items, err := b.host.ListTurnItems(t.Context(), thread, "")
	if err != nil || len(items) != 1 || items[0].TurnID != turn.ID {
		t.Errorf("a refused turn left items: %+v %v", items, err)
	}
}

func TestTokensGrowOverTurnsAndHosts(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	b.play(thread, "@say one")
	b.reopen(thread)
	b.play(thread, "@say two")
	b.play(thread, "@say three")
	var last codex.Tokens
	n := 0
	for _, e := range b.events.Events(thread) {
		if e.Type != codex.EventTokens {
			continue
		}
		if n++; e.Tokens.Input <= last.Input || e.Tokens.Output <= last.Output || e.Tokens.Total != e.Tokens.Input+e.Tokens.Output {
			t.Errorf("tokens %+v after %+v", e.Tokens, last)
		}
		last = e.Tokens
	}
	if n != 3 || last.Output < 3 { // one at the resume and one of each turn
		t.Errorf("%d token events, the last %+v", n, last)
	}
}

// reopen closes the host and resumes the thread in a new one.
func (b *bench) reopen(threadID string) {
	b.Helper()
	if err := b.host.Close(); err != nil {
		b.Fatal(err)
	}
	b.open(nil)
	if _, err := b.host.ResumeThread(b.Context(), threadID, b.spec); err != nil {
		b.Fatal(err)
	}
}

func TestConfigurationIsAppliedOnlyWithoutSubscriber(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	other := b.spec
	other.CWD = t.TempDir()
	resume := func(want string) {
		t.Helper()
		if got, err := b.host.ResumeThread(t.Context(), thread, other); err != nil || got.CWD != want {
			t.Errorf("resumed in %q (%v), want %q", got.CWD, err, want)
		}
	}
	resume(b.cwd)
	if err := b.host.Unsubscribe(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	b.playUnheard(thread)
	resume(other.CWD)
	b.play(thread, "@write moved.txt x")
	if _, err := os.Stat(filepath.Join(other.CWD, "moved.txt")); err != nil {
		t.Errorf("the turn did not use the new configuration: %v", err)
	}
}

// playUnheard plays a turn that nobody is subscribed to.
func (b *bench) playUnheard(thread string) {
	b.Helper()
	turn := b.start(thread, "@say quiet")
	eventually(b.T, "the turn reads as completed", func() bool {
		turns, err := b.host.ListTurns(b.Context(), thread, 1)
		return err == nil && turns[0].ID == turn.ID && turns[0].Status == codex.TurnCompleted
	})
	if heard := b.events.Events(thread); len(heard) != 0 {
		b.Errorf("events without a subscription: %+v", heard)
	}
}

func TestArchivedThreadTakesNoTurn(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	turn := b.start(thread, "@hang")
	if err := b.host.ArchiveThread(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	if end := b.events.WaitEnded(t, turn.ID); end.Status != codex.TurnInterrupted {
		t.Errorf("turn ended as %+v", end)
	}
	_, err := b.host.ResumeThread(t.Context(), thread, b.spec)
	b.wantKind(err, codex.ErrRefused)
	_, err = b.host.StartTurn(t.Context(), thread, codex.TurnInput{Text: "@say late"})
	b.wantKind(err, codex.ErrUnknownID)
}

func TestSpecThatCodexWouldRefuse(t *testing.T) {
	b := newBench(t, nil)
	for _, spec := range []codex.ThreadSpec{
		{CWD: "relative"},
		{CWD: filepath.Join(b.cwd, "absent")},
		{CWD: b.cwd, MCP: codex.MCPServer{Name: "cox", Command: "/no/such/server"}},
	} {
		_, err := b.host.StartThread(t.Context(), spec)
		b.wantKind(err, codex.ErrRefused)
	}
}

func TestRequestCarriesTheThreadAndItsPast(t *testing.T) {
	script := `head -n 1 > request.json; echo '{"type":"end","status":"completed"}'`
	b := newBench(t, func(o *fake.Options) { shell(script)(o); o.Pace = 1500 * time.Millisecond })
	b.spec.DeveloperInstructions, b.spec.DenyPaths = "be kind", []string{"/private"}
	b.spec.MCP = codex.MCPServer{Name: "cox", Command: "/bin/true", Args: []string{"mcp"}, Env: map[string]string{"TOKEN": "t"}}
	thread := b.thread()
	b.play(thread, "first")
	turn := b.start(thread, "second")
	b.events.WaitEnded(t, turn.ID)
	data, err := os.ReadFile(filepath.Join(b.cwd, "request.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got fake.Request
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := fake.Request{
		ThreadID: thread, TurnID: turn.ID, ClientMessageID: "msg-second", Text: "second", CWD: b.cwd,
		DeveloperInstructions: "be kind", Writable: true, DenyPaths: []string{"/private"}, TempDir: b.spec.TempDir,
		MCP:    fake.Server{Name: "cox", Command: "/bin/true", Args: []string{"mcp"}, Env: map[string]string{"TOKEN": "t"}},
		PaceMS: 1500, History: []fake.Past{{Type: "userMessage", Text: "first"}},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("request\n%+v, want\n%+v", got, want)
	}
}
