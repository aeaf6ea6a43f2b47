package live

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// A thread that never had a turn goes with its host. Its prompt is told to another
// one under the binding's next generation, and the old token is worth nothing.
func TestLiveVanishedThreadIsReplaced(t *testing.T) {
	t.Parallel()
	vanish(t, func(*rig, string) {})
}

// A kill within the first write of a thread leaves a file without a line, which
// Codex can neither resume nor read: the thread has vanished as well.
func TestLiveThreadWithAnEmptyFileIsReplaced(t *testing.T) {
	t.Parallel()
	vanish(t, func(r *rig, thread string) {
		day := time.Now().Format("2006/01/02")
		name := "rollout-" + time.Now().Format("2006-01-02T15-04-05") + "-" + thread + ".jsonl"
		write(t, filepath.Join(r.codex, "sessions", filepath.FromSlash(day), name), "")
	})
}

// vanish kills the worker between a thread's start and its first turn, and leaves
// something of the thread.
func vanish(t *testing.T, leave func(r *rig, thread string)) {
	t.Helper()
	r := newRig(t, agents(func(t turn) reply { return work(t) }))
	relay := r.relayed()
	write(t, filepath.Join(relay, holdFile), "")
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up("--exit-when-done", "--transport", "stdio")
	r.until("the first turn is held back", func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(relay, heldFile))
		return err == nil, err
	})
	l := r.ledger()
	before := r.onlyRun(l, "one")
	if before.SessionRef == "" || len(before.Turns) != 0 || len(before.Messages) != 1 {
		t.Fatalf("run %+v, want a thread without a turn and its message", before)
	}
	token := l.BindingToken(before.BindingID, before.Messages[0].Generation)
	if _, _, err := l.Bound(t.Context(), token); err != nil {
		t.Fatalf("the first generation's token: %v", err)
	}
	check(t, os.Remove(filepath.Join(relay, holdFile)))
	s.killWorker()
	leave(r, before.SessionRef)
	wantStatus(t, s.finish(), "accepted", "one")

	run := r.onlyRun(l, "one")
	if run.SessionRef == before.SessionRef || run.InteractiveURL != "codex://threads/"+run.SessionRef {
		t.Errorf("the run is still tied to the vanished thread: %s, %s", run.SessionRef, run.InteractiveURL)
	}
	if _, asked := r.histories()[before.SessionRef]; asked {
		t.Error("the vanished thread asked the model")
	}
	if m := run.Messages[0]; len(run.Messages) != 1 || m.ID != before.Messages[0].ID || m.Generation != 2 || m.State != models.OutboxDelivered {
		t.Errorf("messages %+v, want the same one delivered in generation 2", run.Messages)
	}
	r.toldOnce(l)
	r.intact()
	r.wantWorthless(token, l)
}

// wantWorthless checks that a token opens nothing, neither the ledger nor a
// server of tools.
func (r *rig) wantWorthless(token string, l *ledger.Ledger) {
	r.t.Helper()
	if _, _, err := l.Bound(r.t.Context(), token); !models.IsCode(err, models.CodeForbidden) {
		r.t.Errorf("the old token: %v, want FORBIDDEN", err)
	}
	cmd := exec.Command(r.bin.cox, "mcp") // stdin is empty: a server would end at once, in success
	cmd.Dir, cmd.Env = r.repo, append(append([]string(nil), r.env...), "COX_BINDING_TOKEN="+token)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 8 || !strings.Contains(string(out), "the token names no active binding") {
		r.t.Errorf("cox mcp with the old token: %v, %s", err, out)
	}
	if strings.Contains(r.logs(), token) {
		r.t.Error("a log holds the token")
	}
}
