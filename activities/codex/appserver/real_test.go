package appserver_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/codextest"
)

// world is a hermetic real Codex with its scripted model.
type world struct {
	server  *codextest.Server
	options appserver.Options
	spec    codex.ThreadSpec
	root    string
}

func newWorld(t testing.TB, model codextest.Model) *world {
	t.Helper()
	bin := codextest.Binary(t)
	root := t.TempDir()
	w := &world{server: codextest.NewServer(t, model), root: root}
	home := codextest.WriteHome(t, root, w.server.BaseURL())
	for _, dir := range []string{"workspace", "state/temp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.options = appserver.Options{
		Bin: bin, CodexHome: home, ProofDir: root,
		Env: append(codextest.Env(home), "MY_API_KEY=hidden-key", "COX_FENCE=hidden-fence", "PLAIN=visible"),
	}
	w.spec = codex.ThreadSpec{
		CWD: filepath.Join(root, "workspace"), Model: codextest.ModelSlug, Writable: true,
		DenyPaths: []string{filepath.Join(root, "state")}, TempDir: filepath.Join(root, "state/temp"),
		Env: map[string]string{"COX_RUN": "run-1"},
	}
	return w
}

func (w *world) open(t *testing.T) *appserver.Host { return openChild(t, w.options) }

// run plays one turn to its end on a new thread.
func (w *world) run(t testing.TB, host *appserver.Host, text string) (codex.Thread, codex.Turn) {
	t.Helper()
	events := codextest.Record(t, host)
	thread, err := host.StartThread(t.Context(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := host.StartTurn(t.Context(), thread.ID, codex.TurnInput{Text: text, ClientMessageID: "msg-1"})
	if err != nil {
		t.Fatal(err)
	}
	return thread, events.WaitEnded(t, turn.ID)
}

// outputs are the results that the model was told in its last request.
func (w *world) outputs() string {
	log := w.server.Requests()
	return strings.Join(log[len(log)-1].Outputs, "\n")
}

func TestConformance(t *testing.T) {
	codextest.Binary(t)
	codextest.Conformance(t, func(t *testing.T) codextest.Setup {
		w := newWorld(t, codextest.Directives(nil))
		w.options.Policy = codextest.AskPeople
		return codextest.Setup{
			Spec: w.spec,
			Open: func(ctx context.Context) (codex.Adapter, error) { return appserver.Open(ctx, w.options) },
		}
	})
}

func TestProbeProvesTheSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	host := w.open(t)
	began := time.Now()
	probe, err := host.Probe(t.Context())
	if err != nil || !probe.SandboxProved {
		t.Fatalf("probe %+v, %v", probe, err)
	}
	t.Logf("first probe took %s: %s", time.Since(began), probe.SandboxDetail)
	if probe.Version != codextest.Version || probe.Transport != "stdio" {
		t.Errorf("probe %+v", probe)
	}
	began = time.Now()
	if _, err := host.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("second probe took %s", time.Since(began))
	if len(w.server.Requests()) != 0 {
		t.Error("the probe called the model")
	}
}

func TestAgentRunsUnderTheProfile(t *testing.T) {
	t.Parallel()
	for name, writable := range map[string]bool{"writable": true, "read-only": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, codextest.Directives(nil))
			secrets := []string{filepath.Join(w.root, "state/secret"), filepath.Join(w.options.CodexHome, "auth.json")}
			for _, path := range secrets {
				if err := os.WriteFile(path, []byte("classified"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.spec.Writable = writable
			host := w.open(t)
			lines := "@run cat " + strings.Join(secrets, " ") + "; echo read-done\n" +
				"@run echo x > in-workspace; echo x > $TMPDIR/in-temp; echo x > " + w.root + "/outside\n@run env"
			if _, end := w.run(t, host, lines); end.Status != codex.TurnCompleted {
				t.Fatalf("turn %+v", end)
			}
			w.wantEnvironment(t)
			w.wantFile(t, "workspace/in-workspace", writable)
			w.wantFile(t, "state/temp/in-temp", true)
			w.wantFile(t, "outside", false)
		})
	}
}

func (w *world) wantEnvironment(t *testing.T) {
	t.Helper()
	out := w.outputs()
	for _, want := range []string{"read-done", "PLAIN=visible", "COX_RUN=run-1", "TMPDIR=" + w.spec.TempDir} {
		if !strings.Contains(out, want) {
			t.Errorf("the agent does not see %q: %s", want, out)
		}
	}
	for _, hidden := range []string{"classified", "hidden-key", "hidden-fence"} {
		if strings.Contains(out, hidden) {
			t.Errorf("the agent sees %q", hidden)
		}
	}
}

func (w *world) wantFile(t *testing.T, name string, want bool) {
	t.Helper()
	_, err := os.Stat(filepath.Join(w.root, name))
	if (err == nil) != want {
		t.Errorf("file %s: %v, want it to be there: %t", name, err, want)
	}
}

func TestUserConfigurationIsNotWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir, cmd.Env = w.spec.CWD, append(codextest.Env(w.options.CodexHome), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	tree := filepath.Join(w.root, "tree")
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	git("worktree", "add", "-q", tree)
	path := filepath.Join(w.options.CodexHome, "config.toml")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	host := w.open(t)
	thread, _ := w.run(t, host, "@run echo x > made; true")
	if err := host.Unsubscribe(t.Context(), thread.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := host.ResumeThread(t.Context(), thread.ID, w.spec); err != nil {
		t.Fatal(err)
	}
	w.spec.CWD = tree
	w.run(t, host, "@run echo x > made; true")
	w.wantFile(t, "tree/made", true)
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("config.toml was written (%v):\n%s", err, after)
	}
}

func TestCoordinationToolIsCalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.spec.MCP = codex.MCPServer{Name: "cox", Command: self, Env: map[string]string{childVariable: "mcp", "BINDING": "b-1"}}
	host := w.open(t)
	thread, end := w.run(t, host, `@tool note {"note":"n1"}`)
	if end.Status != codex.TurnCompleted || !strings.Contains(w.outputs(), "noted n1 for b-1") {
		t.Errorf("turn %+v, the model was told %q", end, w.outputs())
	}
	items, err := host.ListTurnItems(t.Context(), thread.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	var calls []codex.Item
	for _, item := range items {
		if item.Type == "mcpToolCall" {
			calls = append(calls, item)
		}
	}
	if len(calls) != 1 || calls[0].Text != "cox/note" || calls[0].Status != "completed" {
		t.Errorf("tool calls %+v", calls)
	}
}

func TestThreadWithoutItsCoordinationServerIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	w.spec.MCP = codex.MCPServer{Name: "cox", Command: filepath.Join(w.root, "absent")}
	host := w.open(t)
	_, err := host.StartThread(t.Context(), w.spec)
	wantKind(t, err, codex.ErrRefused)
}

func TestEscalationIsDeclinedAndReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Script(codextest.Escalate("c1", "echo x > ../outside")))
	w.spec.AskPerson = true
	host := w.open(t)
	events := codextest.Record(t, host)
	if _, end := w.run(t, host, "please"); end.Status != codex.TurnCompleted {
		t.Errorf("turn %+v", end)
	}
	e := events.Wait(t, "server request", func(e codex.Event) bool { return e.Type == codex.EventServerRequest })
	if e.Request.Answer != codex.AnsweredDecline || !strings.Contains(e.Request.Detail, "../outside") {
		t.Errorf("request %+v", e.Request)
	}
	w.wantFile(t, "outside", false)
}

func TestSlowModelShowsProgress(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, func(codextest.Request) codextest.Reply { return codextest.Slow("long answer", release) })
	host := w.open(t)
	events := codextest.Record(t, host)
	thread, err := host.StartThread(t.Context(), w.spec)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := host.StartTurn(t.Context(), thread.ID, codex.TurnInput{Text: "go", ClientMessageID: "m"})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Wait(t, "the turn's request", func(r codextest.Request) bool { return r.ThreadID == thread.ID && r.User == "go" })
	events.Wait(t, "progress", func(e codex.Event) bool { return e.Type == codex.EventProgress && e.TurnID == turn.ID })
	close(release)
	if end := events.WaitEnded(t, turn.ID); end.Status != codex.TurnCompleted {
		t.Errorf("turn %+v", end)
	}
}

func TestCutStreamIsAConnectionFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(codextest.Request) codextest.Reply { return codextest.CutOff() })
	_, end := w.run(t, w.open(t), "go")
	if end.Status != codex.TurnFailed || end.ErrorKind != "connection" {
		t.Errorf("turn %+v", end)
	}
}

func TestUnsubscribedThreadTakesItsNewBinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bind := func(binding string) {
		w.spec.MCP = codex.MCPServer{Name: "cox", Command: self, Env: map[string]string{childVariable: "mcp", "BINDING": binding}}
	}
	bind("b-1")
	host := w.open(t)
	events := codextest.Record(t, host)
	thread, _ := w.run(t, host, `@tool note {"note":"n1"}`)
	if err := host.Unsubscribe(t.Context(), thread.ID); err != nil {
		t.Fatal(err)
	}
	bind("b-2")
	if _, err := host.ResumeThread(t.Context(), thread.ID, w.spec); err != nil {
		t.Fatal(err)
	}
	turn, err := host.StartTurn(t.Context(), thread.ID, codex.TurnInput{Text: `@tool note {"note":"n2"}`, ClientMessageID: "msg-2"})
	if err != nil {
		t.Fatal(err)
	}
	events.WaitEnded(t, turn.ID)
	if !strings.Contains(w.outputs(), "noted n2 for b-2") {
		t.Errorf("the model was told %q", w.outputs())
	}
}

// A tool server that was killed is started again by the next resume; Codex itself
// never does, and every call of the thread would fail.
func TestThreadGetsItsToolsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codextest.Directives(nil))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.spec.MCP = codex.MCPServer{Name: "cox", Command: self, Env: map[string]string{childVariable: "mcp", "BINDING": "b-1"}}
	host := w.open(t)
	events := codextest.Record(t, host)
	thread, _ := w.run(t, host, `@tool note {"note":"die"}`)
	if host.Holds(thread.ID) {
		t.Fatal("a thread without its tools counts as held")
	}
	if _, err := host.ResumeThread(t.Context(), thread.ID, w.spec); err != nil || !host.Holds(thread.ID) {
		t.Fatalf("resumed: %v, held: %t", err, host.Holds(thread.ID))
	}
	turn, err := host.StartTurn(t.Context(), thread.ID, codex.TurnInput{Text: `@tool note {"note":"n2"}`, ClientMessageID: "msg-2"})
	if err != nil {
		t.Fatal(err)
	}
	events.WaitEnded(t, turn.ID)
	if !strings.Contains(w.outputs(), "noted n2 for b-1") {
		t.Errorf("the model was told %q", w.outputs())
	}
}

func BenchmarkOpenToReady(b *testing.B) {
	w := newWorld(b, codextest.Directives(nil))
	for b.Loop() {
		host, err := appserver.Open(b.Context(), w.options)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := host.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkThreadAndTurn(b *testing.B) {
	w := newWorld(b, codextest.Directives(nil))
	host, err := appserver.Open(b.Context(), w.options)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w.run(b, host, "@say hello")
	}
	if err := host.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkSandboxProof(b *testing.B) {
	w := newWorld(b, codextest.Directives(nil))
	proof := appserver.Proof{Bin: w.options.Bin, Env: w.options.Env, CodexHome: w.options.CodexHome, Dir: w.root}
	for b.Loop() {
		if proved, detail, err := appserver.ProveSandbox(b.Context(), proof); err != nil || !proved {
			b.Fatal(proved, detail, err)
		}
	}
}
