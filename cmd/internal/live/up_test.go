package live

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"coxswain/models/ledger"
	"coxswain/worker"
)

// stack is one running `cox up`.
type stack struct {
	r      *rig
	cmd    *exec.Cmd
	stdout output
	stderr output
	ended  chan struct{}
	err    error // of Wait, after ended
}

// output collects what a process writes, readable while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// up starts `cox up` with the real Codex; it is stopped with the test. A nudge
// that a busy machine delays comes again soon.
func (r *rig) up(args ...string) *stack {
	r.t.Helper()
	args = append([]string{
		"up", "--json", "--port", "0", "--ui-port", "0", "--poll-interval", "1", "--review-nudge-interval", "20",
		"--codex-home", r.codex, "--codex-bin", r.bin.codex,
	}, args...)
	s := &stack{r: r, cmd: exec.Command(r.bin.cox, args...), ended: make(chan struct{})}
	s.cmd.Dir, s.cmd.Env = r.repo, r.env
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.WaitDelay = 5 * time.Second
	check(r.t, s.cmd.Start())
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	r.t.Cleanup(s.stop)
	return s
}

// stop ends the stack as Ctrl-C does, twice, and fails when that takes too long.
func (s *stack) stop() {
	select {
	case <-s.ended:
	default:
		_ = s.cmd.Process.Signal(syscall.SIGINT)  // it may just have ended
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // nobody waits for a turn that the model left hanging
		select {
		case <-s.ended:
		case <-time.After(patience):
			_ = s.cmd.Process.Kill() // its children end with it
			<-s.ended
			s.r.t.Errorf("cox up did not stop within %s", patience)
		}
	}
	if s.r.t.Failed() {
		s.r.t.Logf("cox up said:\n%s\n%s", s.stderr.String(), s.r.logs())
	}
}

// finish waits for the end by itself and returns the document.
func (s *stack) finish() map[string]any {
	s.r.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.r.t.Fatalf("cox up did not end within %s", patience)
	}
	doc := map[string]any{}
	if err := json.Unmarshal([]byte(s.stdout.String()), &doc); err != nil || s.err != nil || doc["ok"] != true {
		s.r.t.Fatalf("cox up: %v, %v, %v", s.err, err, doc)
	}
	return doc
}

// wantStatus checks how assignments ended in the document of `cox up`.
func wantStatus(t *testing.T, doc map[string]any, status string, ids ...string) {
	t.Helper()
	found := map[string]string{}
	for _, row := range list(doc, "assignments") {
		found[text(row, "assignment_id")] = text(row, "status")
	}
	for _, id := range ids {
		if found[id] != status {
			t.Errorf("assignment %s is %q, want %q (all: %v)", id, found[id], status, found)
		}
	}
}

// awaitRun waits until the assignment has a run that fits.
func (r *rig) awaitRun(l *ledger.Ledger, assignment, what string, fits func(ledger.RunDetail) bool) ledger.RunDetail {
	r.t.Helper()
	var out ledger.RunDetail
	r.until(assignment+": "+what, func(ctx context.Context) (bool, error) {
		runs, err := l.Runs(ctx, ledger.RunFilter{AssignmentID: assignment})
		for _, run := range runs {
			d, err := l.RunDetail(ctx, run.ID)
			if err == nil && fits(d) {
				out = d
				return true, nil
			}
		}
		return false, err
	})
	return out
}

// onlyRun is the one run that an assignment has had.
func (r *rig) onlyRun(l *ledger.Ledger, assignment string) ledger.RunDetail {
	r.t.Helper()
	runs, err := l.Runs(r.t.Context(), ledger.RunFilter{AssignmentID: assignment})
	check(r.t, err)
	if len(runs) != 1 {
		r.t.Fatalf("assignment %s has %d runs, want 1", assignment, len(runs))
	}
	d, err := l.RunDetail(r.t.Context(), runs[0].ID)
	check(r.t, err)
	return d
}

// killWorker kills the worker outright; over stdio Codex dies with it.
func (s *stack) killWorker() {
	s.r.t.Helper()
	s.signalWorker(syscall.SIGKILL)
}

func (s *stack) signalWorker(signal syscall.Signal) {
	s.r.t.Helper()
	pid, running := worker.Running(s.r.state)
	if !running {
		s.r.t.Fatal("no worker runs")
	}
	check(s.r.t, syscall.Kill(pid, signal))
}

// list is a list of objects in a document, text a text; both are empty when the
// document has none.
func list(doc map[string]any, key string) (out []map[string]any) {
	entries, _ := doc[key].([]any)
	for _, e := range entries {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func object(doc map[string]any, key string) map[string]any {
	m, _ := doc[key].(map[string]any)
	return m
}

func text(doc map[string]any, key string) string {
	s, _ := doc[key].(string)
	return strings.TrimSpace(s)
}
