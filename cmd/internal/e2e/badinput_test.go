package e2e_test

import (
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// promptly is how long a refusal may take on a busy machine.
const promptly = time.Minute

func TestAdapterThatDiesBeforeItsFirstFrame(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("waiting", "")
	h.env["COX_CODEX_BIN"] = h.write("bin/codex", "#!/bin/sh\necho 'codex: libfoo is missing' >&2\nexit 127\n", 0o755)
	doc, r := h.fails(7, "ADAPTER_UNAVAILABLE", "loop", "--adapter", "codex-app-server", "--address", e.Address)
	if r.took > promptly {
		t.Errorf("it took %s", r.took)
	}
	if !strings.Contains(doc.Error.Message, "127") {
		t.Errorf("the reason is not told: %s", doc.Error.Message)
	}
	h.nothingStarted("waiting", "127")
}

func TestNoCodexAtAll(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("waiting", "")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.dir, "path")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(git, filepath.Join(path, "git")); err != nil {
		t.Fatal(err)
	}
	h.env["PATH"] = path
	doc, r := h.fails(7, "ADAPTER_UNAVAILABLE", "loop", "--adapter", "codex-app-server", "--address", e.Address)
	if r.took > promptly || !strings.Contains(doc.Error.Message, path) {
		t.Errorf("after %s, without the PATH %s: %s", r.took, path, doc.Error.Message)
	}
	if !strings.Contains(doc.Error.Next, "--codex-bin") {
		t.Errorf("no way out is named: %q", doc.Error.Next)
	}
	if _, err := os.Lstat(filepath.Join(h.state(), "worker.log")); !os.IsNotExist(err) {
		t.Errorf("a worker was started: %v", err)
	}
	h.nothingRuns(h.ledger(h.state()), "waiting")
}

// nothingStarted checks that an adapter that its probe refused is recorded with its
// reason and has no other consequence.
func (h *home) nothingStarted(assignment, reason string) {
	h.t.Helper()
	l := h.ledger(h.state())
	marked := events(h.t, l, ledger.EventFilter{Types: []string{models.EventAdapterUnavailable}})
	if len(marked) == 0 {
		h.t.Fatal("no event says that the adapter is unavailable")
	}
	if text, _ := marked[0].Payload["reason"].(string); !strings.Contains(text, reason) {
		h.t.Errorf("the recorded reason is %q, want %q in it", text, reason)
	}
	h.nothingRuns(l, assignment)
}

// nothingRuns checks that there is no run, no loop and no process.
func (h *home) nothingRuns(l *ledger.Ledger, assignment string) {
	h.t.Helper()
	if runs, err := l.Runs(h.t.Context(), ledger.RunFilter{}); err != nil || len(runs) != 0 {
		h.t.Errorf("runs %v, error %v", runs, err)
	}
	if a := h.shown(assignment); a.Status != models.AssignmentReady {
		h.t.Errorf("%s is %s", assignment, a.Status)
	}
	var teams struct{ Teams []models.Team }
	h.ok(&teams, "team", "list")
	if len(teams.Teams) != 1 || teams.Teams[0].Loop.Enabled {
		h.t.Errorf("the loop was left on: %+v", teams.Teams)
	}
	if left := h.processes(); len(left) != 0 {
		h.t.Errorf("left: %v", left)
	}
}

func TestLedgerOfANewerSchema(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.site()
	path := filepath.Join(h.state(), "ledger.db")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const userVersion = 60 // its offset in the header, SQLite file format 1.3
	if _, err := f.WriteAt(binary.BigEndian.AppendUint32(nil, 99), userVersion); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, path)
	for _, args := range [][]string{
		{"status"},
		{"assignment", "list"},
		{"assignment", "create", "--team", theTeam, "--title", "x"},
		{"loop", "--adapter", "fake"},
		{"loop", "--dry-run", "--adapter", "fake"},
		{"worker"},
		{"up", "--adapter", "fake", "--address", "127.0.0.1:1"},
	} {
		h.fails(7, "SCHEMA_VERSION_UNSUPPORTED", args...)
	}
	same(t, before, snapshot(t, path))
}

func TestEngineThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.site()
	h.assign("waiting", "")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() }) // nothing is lost with it
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{silent.Addr().String(), nobody} {
		for _, args := range [][]string{{"worker"}, {"up", "--adapter", "fake"}, {"loop", "--adapter", "fake"}} {
			doc, r := h.fails(7, "ENGINE_UNAVAILABLE", append(args, "--address", address)...)
			if r.took > promptly || !strings.Contains(doc.Error.Message, address) {
				t.Errorf("cox %s after %s: %s", args[0], r.took, doc.Error.Message)
			}
		}
	}
	if a := h.shown("waiting"); a.Status != models.AssignmentReady {
		t.Errorf("it is %s", a.Status)
	}
}
