package fake_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/codextest"
	"coxswain/activities/codex/fake"

	"go.uber.org/goleak"
)

// The test binary is also the agent, the coordination server and a host that a
// test can kill: its first argument says which.
func TestMain(m *testing.M) {
	roles := map[string]func() error{
		"fake-agent": func() error {
			return fake.RunAgent(context.Background(), os.Stdin, os.Stdout, os.Stderr)
		},
		"mcp":  func() error { return serveLedger(os.Args[2]) },
		"host": func() error { return runHost(os.Args[2], os.Args[3]) },
	}
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			if err := role(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

func agentCommand() []string { return []string{os.Args[0], "fake-agent"} }

// bench is a host over a folder, with a workspace.
type bench struct {
	*testing.T
	dir, cwd string
	host     codex.Adapter
	events   *codextest.Recorder
	spec     codex.ThreadSpec
}

func newBench(t *testing.T, change func(*fake.Options)) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir(), cwd: t.TempDir()}
	b.spec = codex.ThreadSpec{CWD: b.cwd, Writable: true, TempDir: t.TempDir()}
	b.open(change)
	return b
}

func (b *bench) open(change func(*fake.Options)) {
	b.Helper()
	opts := fake.Options{Dir: b.dir, Agent: agentCommand()}
	if change != nil {
		change(&opts)
	}
	host, err := fake.Open(b.Context(), opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := host.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	b.host, b.events = host, codextest.Record(b, host)
}

// shell makes an agent of a shell script.
func shell(script string) func(*fake.Options) {
	return func(o *fake.Options) { o.Agent = []string{"/bin/sh", "-c", script} }
}

func (b *bench) thread() string {
	b.Helper()
	thread, err := b.host.StartThread(b.Context(), b.spec)
	if err != nil {
		b.Fatal(err)
	}
	return thread.ID
}

func (b *bench) start(threadID, text string) codex.Turn {
	b.Helper()
	turn, err := b.host.StartTurn(b.Context(), threadID, codex.TurnInput{Text: text, ClientMessageID: "msg-" + text})
	if err != nil {
		b.Fatal(err)
	}
	return turn
}

// play starts a turn and waits for its end.
func (b *bench) play(threadID, text string) codex.Turn {
	b.Helper()
	return b.events.WaitEnded(b, b.start(threadID, text).ID)
}

func (b *bench) wantKind(err error, want codex.ErrorKind) {
	b.Helper()
	if codex.KindOf(err) != want {
		b.Errorf("error %v, want kind %s", err, want)
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(codextest.Patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", codextest.Patience, what)
		}
	}
}

// pids waits for a file of process ids that an agent's command has written.
func (b *bench) pids(path string, n int) []int {
	b.Helper()
	var out []int
	eventually(b.T, path+" names its processes", func() bool {
		data, err := os.ReadFile(path)
		fields := strings.Fields(string(data))
		if err != nil || len(fields) < n || !strings.HasSuffix(string(data), "\n") {
			return false
		}
		out = nil
		for _, field := range fields {
			pid, err := strconv.Atoi(field)
			if err != nil {
				b.Fatalf("%s holds %q", path, data)
			}
			out = append(out, pid)
		}
		return true
	})
	return out
}

// alive tells whether a process runs; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func (b *bench) wantAlive(pids []int) {
	b.Helper()
	for _, pid := range pids {
		if !alive(pid) {
			b.Errorf("process %d should run", pid)
		}
	}
}

// wantGone waits until orphans that were killed are gone.
func (b *bench) wantGone(pids []int) {
	b.Helper()
	for _, pid := range pids {
		eventually(b.T, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
}
