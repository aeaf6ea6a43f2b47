package fake_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"coxswain/activities/codex"
	"coxswain/activities/codex/fake"
)

// hosted is what a host process tells the test.
type hosted struct{ Thread, Turn, Empty string }

// runHost is the host that a test kills: it starts a turn that would last and an
// empty thread, reports them once the agent's first item was reported, and
// waits.
func runHost(dir, cwd string) error {
	ctx := context.Background()
	host, err := fake.Open(ctx, fake.Options{Dir: dir, Agent: agentCommand()})
	if err != nil {
		return err
	}
	working := make(chan struct{})
	host.Subscribe(func(e codex.Event) {
		if e.Item.Text == "at work" {
			close(working)
		}
	})
	spec := codex.ThreadSpec{CWD: cwd, Writable: true}
	empty, err := host.StartThread(ctx, spec)
	if err != nil {
		return err
	}
	thread, err := host.StartThread(ctx, spec)
	if err != nil {
		return err
	}
	turn, err := host.StartTurn(ctx, thread.ID, codex.TurnInput{
		Text: "@say at work\n@run echo $PPID $$ > pids; sleep 300", ClientMessageID: "msg-1",
	})
	if err != nil {
		return err
	}
	<-working
	if err := json.NewEncoder(os.Stdout).Encode(hosted{thread.ID, turn.ID, empty.ID}); err != nil {
		return err
	}
	<-host.Done()
	return nil
}

func TestKilledHostLosesNothingAndLeavesNoProcess(t *testing.T) {
	b := newBench(t, nil)
	process := exec.Command(os.Args[0], "host", b.dir, b.cwd)
	process.Stderr = os.Stderr
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	var was hosted
	decoded := json.NewDecoder(stdout).Decode(&was)
	pids := b.pids(filepath.Join(b.cwd, "pids"), 2)
	b.wantAlive(pids)
	_, busy := b.host.ResumeThread(t.Context(), was.Thread, b.spec)
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err == nil || decoded != nil {
		t.Fatalf("host process: %v, its report: %v", err, decoded)
	}
	b.wantKind(busy, codex.ErrBusy)
	b.wantGone(pids)
	b.wantLost(was)
}

// wantLost checks what a host finds of the killed one, and that its thread goes
// on.
func (b *bench) wantLost(was hosted) {
	b.Helper()
	wantTurn := func() {
		b.Helper()
		turns, err := b.host.ListTurns(b.Context(), was.Thread, 0)
		if err != nil || len(turns) != 1 || turns[0].ID != was.Turn || turns[0].Status != codex.TurnInterrupted || !turns[0].EndedAt.IsZero() {
			b.Errorf("turns %+v %v", turns, err)
		}
	}
	wantTurn()
	_, err := b.host.ReadThread(b.Context(), was.Empty)
	b.wantKind(err, codex.ErrUnknownID)
	if thread, err := b.host.ResumeThread(b.Context(), was.Thread, b.spec); err != nil || thread.Status != codex.ThreadIdle {
		b.Fatalf("resume: %+v %v", thread, err)
	}
	wantTurn()
	items, err := b.host.ListTurnItems(b.Context(), was.Thread, was.Turn)
	if err != nil || len(items) != 2 || items[0].ClientID != "msg-1" || items[1].Text != "at work" {
		b.Errorf("items %+v %v", items, err)
	}
	if end := b.play(was.Thread, "@say on we go"); end.Status != codex.TurnCompleted {
		b.Errorf("turn ended as %+v", end)
	}
}

func TestTwoHostsNeverShareAThread(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	b.play(thread, "@say one")
	first := b.host
	b.open(nil)
	_, err := b.host.ResumeThread(t.Context(), thread, b.spec)
	b.wantKind(err, codex.ErrBusy)
	b.wantKind(b.host.ArchiveThread(t.Context(), thread), codex.ErrBusy)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.host.ResumeThread(t.Context(), thread, b.spec); err != nil {
		t.Errorf("resume after the first host's end: %v", err)
	}
}

func TestDamagedAndForeignFilesAreRefused(t *testing.T) {
	b := newBench(t, nil)
	id := "01890000-0000-7000-8000-00000000000"
	for n, text := range map[string]string{"1": "{", "2": `{"format":99}`} {
		if err := os.WriteFile(filepath.Join(b.dir, id+n+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := b.host.ReadThread(t.Context(), id+n)
		b.wantKind(err, codex.ErrRefused)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "..", "outside.json"), []byte(`{"format":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.host.ReadThread(t.Context(), "../outside")
	b.wantKind(err, codex.ErrUnknownID)
}

func TestEmptyThreadTouchesNoFile(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	if files, err := os.ReadDir(b.dir); err != nil || len(files) != 0 {
		t.Errorf("files of an empty thread: %v %v", files, err)
	}
	if err := b.host.Close(); err != nil {
		t.Fatal(err)
	}
	b.open(nil)
	_, err := b.host.ResumeThread(t.Context(), thread, b.spec)
	b.wantKind(err, codex.ErrUnknownID)
}

// A message whose history cannot be written is refused as not delivered.
func TestUnwritableHistoryRefusesTheMessage(t *testing.T) {
	b := newBench(t, nil)
	thread := b.thread()
	b.play(thread, "@say one")
	// A folder in the place of the temporary file fails for root as well.
	if err := os.Mkdir(filepath.Join(b.dir, thread+".json.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := b.host.StartTurn(t.Context(), thread, codex.TurnInput{Text: "@say two", ClientMessageID: "msg-2"})
	b.wantKind(err, codex.ErrRefused)
	items, err := b.host.ListTurnItems(t.Context(), thread, "")
	if err != nil || len(items) != 2 {
		t.Errorf("items after the refusal: %+v %v", items, err)
	}
	if err := os.Remove(filepath.Join(b.dir, thread+".json.tmp")); err != nil {
		t.Fatal(err)
	}
	if end := b.play(thread, "@say three"); end.Status != codex.TurnCompleted {
		t.Errorf("turn ended as %+v", end)
	}
}
