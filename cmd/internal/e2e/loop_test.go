package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// planDoc is the document of a dry run.
type planDoc struct {
	OK    bool
	Teams []struct {
		TeamID   string `json:"team_id"`
		Commands []struct {
			ID           string             `json:"command_id"`
			Type         models.CommandType `json:"command_type"`
			AssignmentID string             `json:"assignment_id"`
			Target       string             `json:"target_actor_id"`
			Key          string             `json:"idempotency_key"`
		}
		LeftOut  []models.LeftOut `json:"left_out"`
		Probe    *models.Probe
		ProbeAge string `json:"probe_age"`
	}
}

func TestDryRunLeavesNoTrace(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.ok(&struct{}{}, "loop", "--once", "--adapter", "fake", "--team", theTeam, "--address", e.Address) // leaves a probe behind
	h.assign("high", "", "--priority", "9", "--path", "src/**")
	h.assign("bound", "", "--priority", "5", "--target-actor", "codex-worker-jo")
	h.assign("meets", "", "--priority", "4", "--path", "src/main.go")
	h.assign("later", "", "--priority", "3", "--depends-on", "high")
	h.assign("last", "", "--priority", "1")
	if pid, running := worker.Running(h.state()); running {
		t.Fatalf("worker %d still runs", pid)
	}

	traps := h.trap()
	before := snapshot(t, h.state())
	args := []string{"loop", "--dry-run", "--adapter", "fake", "--team", theTeam, "--max-concurrent-runs", "2"}
	var first, second planDoc
	h.ok(&first, args...)
	h.ok(&second, args...)
	same(t, before, snapshot(t, h.state()))
	for _, dir := range []string{traps, h.env["TMPDIR"]} {
		if left := snapshot(t, dir); len(left) > 1 {
			t.Errorf("left in %s: %v", dir, slices.Sorted(maps.Keys(left)))
		}
	}
	h.planned(first)
	if fmt.Sprint(first.Teams[0].Commands) != fmt.Sprint(second.Teams[0].Commands) || fmt.Sprint(first.Teams[0].LeftOut) != fmt.Sprint(second.Teams[0].LeftOut) {
		t.Errorf("two plans differ:\n%+v\n%+v", first, second)
	}
}

// planned checks the plan: two starts in the order of priority, the bound worker
// as target, and a reason for each of the others.
func (h *home) planned(doc planDoc) {
	h.t.Helper()
	if len(doc.Teams) != 1 || doc.Teams[0].Probe == nil || doc.Teams[0].ProbeAge == "" {
		h.t.Fatalf("no team, or no probe with its age: %+v", doc)
	}
	var starts []string
	for _, c := range doc.Teams[0].Commands {
		starts = append(starts, string(c.Type)+" "+c.AssignmentID+" "+c.Target)
		if c.ID == "" || c.Key == "" {
			h.t.Errorf("a command without id or key: %+v", c)
		}
	}
	want := []string{"start_assignment high codex-worker-high", "start_assignment bound codex-worker-jo"}
	if !slices.Equal(starts, want) {
		h.t.Errorf("planned %q, want %q", starts, want)
	}
	reasons := map[string]string{"meets": "high", "later": "high", "last": "2 runs"}
	for _, left := range doc.Teams[0].LeftOut {
		if part, ok := reasons[left.AssignmentID]; !ok || !strings.Contains(left.Reason, part) {
			h.t.Errorf("%s is left out because %q, want a word of %q", left.AssignmentID, left.Reason, part)
		}
		delete(reasons, left.AssignmentID)
	}
	if len(reasons) > 0 {
		h.t.Errorf("without a reason: %v", reasons)
	}
}

// trap makes every program that cox could start write a file instead. It returns
// the folder of those files.
func (h *home) trap() string {
	h.t.Helper()
	caught := filepath.Join(h.dir, "caught")
	if err := os.Mkdir(caught, 0o700); err != nil {
		h.t.Fatal(err)
	}
	script := "#!/bin/sh\n/bin/echo \"$0 $*\" > \"" + caught + "/${0##*/}\"\nexit 1\n"
	var bin string
	for _, name := range []string{"git", "codex", "cox", "cox-temporal", "sh", "node", "hostname"} {
		bin = filepath.Dir(h.write("traps/"+name, script, 0o755))
	}
	h.env["PATH"] = bin
	h.env["COX_TEMPORAL_BIN"], h.env["COX_CODEX_BIN"] = filepath.Join(bin, "cox-temporal"), filepath.Join(bin, "codex")
	return caught
}

func TestDryRunWithoutLedgerCreatesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.fails(4, "NOT_FOUND", "loop", "--dry-run", "--adapter", "fake")
	if _, err := os.Lstat(h.state()); !os.IsNotExist(err) {
		t.Errorf("the state directory is there: %v", err)
	}
	for _, name := range []string{"XDG_STATE_HOME", "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR"} {
		if left := snapshot(t, h.env[name]); len(left) > 1 {
			t.Errorf("%s has %v", name, slices.Sorted(maps.Keys(left)))
		}
	}
}

// snapshot describes every file below a folder, and the folder itself, in all that
// a trace would change.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := "folder"
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%d bytes, sha256 %x", len(content), sha256.Sum256(content))
		}
		out[path] = fmt.Sprintf("%s %s %s", info.Mode(), info.ModTime().Format(time.RFC3339Nano), sum)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, was := range before {
		if after[path] != was {
			t.Errorf("%s was %s, is %s", path, was, after[path])
		}
	}
	for path := range after {
		if _, known := before[path]; !known {
			t.Errorf("%s appeared", path)
		}
	}
}

// TestSamePassDispatchesOnce runs every pass twice at the same time: each command
// is there once, and the loop never decides about a handoff itself.
func TestSamePassDispatchesOnce(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("quiet", "ignore")
	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	l := h.ledger(h.state())

	h.twoPasses(e)
	within(t, time.Minute, "the handoff and the end of its turn", func() bool {
		runs, err := l.Runs(t.Context(), ledger.RunFilter{AssignmentID: "quiet"})
		return err == nil && len(runs) == 1 && runs[0].HandedOffAt != nil && runs[0].EndedAt != nil
	})
	if a := h.shown("quiet"); a.Status != models.AssignmentAwaitingReview {
		t.Errorf("after the first pass it is %s", a.Status)
	}
	h.twoPasses(e)
	h.seen(l, models.EventReviewNudgeDispatched, 1)
	within(t, time.Minute, "the end of the integrator's turn", func() bool {
		return len(events(t, l, ledger.EventFilter{Types: []string{models.EventTurnEnded}})) == 2
	})
	h.twoPasses(e) // not due again: nothing to do
	for kind, want := range map[string]int{
		models.EventCommandDispatched: 2, models.EventRunClaimed: 1, models.EventReviewNudgeDispatched: 1,
		models.EventHandoffSubmitted: 1, models.EventIntegratorReview: 0, models.EventTurnStarted: 2,
	} {
		var planned []models.Event
		for _, found := range events(t, l, ledger.EventFilter{Types: []string{kind}}) {
			if found.Payload["command_type"] != string(models.CommandRefresh) {
				planned = append(planned, found)
			}
		}
		if len(planned) != want {
			t.Errorf("%d events %s, want %d: %+v", len(planned), kind, want, planned)
		}
	}
	if a := h.shown("quiet"); a.Status != models.AssignmentAwaitingReview || a.HandoffEventID == "" {
		t.Errorf("in the end it is %s", a.Status)
	}
	w.interrupt()
}

// twoPasses runs one pass twice at a time.
func (h *home) twoPasses(e engine) {
	h.t.Helper()
	args := []string{"--json", "loop", "--once", "--adapter", "fake", "--team", theTeam, "--address", e.Address}
	first, second := h.start(args...), h.start(args...)
	first.ends(0, runLimit)
	second.ends(0, runLimit)
}

// shown is an assignment as a user sees it.
func (h *home) shown(id string) models.Assignment {
	h.t.Helper()
	var doc struct{ Assignment models.Assignment }
	h.ok(&doc, "assignment", "show", id)
	return doc.Assignment
}

// TestTwoPassesWithoutWorker lets two passes compete for the node's one worker.
func TestTwoPassesWithoutWorker(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("one", "")
	h.twoPasses(e)
	if claims := events(t, h.ledger(h.state()), ledger.EventFilter{Types: []string{models.EventRunClaimed}}); len(claims) != 1 {
		t.Errorf("claimed %d times", len(claims))
	}
}
