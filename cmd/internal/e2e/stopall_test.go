package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// TestStopAllHaltsEveryAgent stops six hanging runs at once: within seconds no turn is
// active and no agent lives, what waited in line did not start, and all of it goes on.
func TestStopAllHaltsEveryAgent(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	const runs = 6
	for n := range runs {
		h.assign(fmt.Sprintf("hang-%d", n), "hang_told")
	}
	up := h.start("up", "--adapter", "fake", "--address", e.Address, "--max-concurrent-runs", fmt.Sprint(runs))
	l := h.ledger(h.state())
	h.seen(l, models.EventTurnStarted, runs)
	h.assign("waits", "")
	began := time.Now()
	var doc struct{ Stopped ledger.Stopped }
	h.ok(&doc, "stop", "--all", "--reason", "the disk is full")
	if len(doc.Stopped.Questions) != runs {
		t.Fatalf("stopped %+v", doc.Stopped)
	}
	agents := func() (n int) {
		for _, p := range h.processes() {
			if strings.Contains(p.args, "fake-agent") {
				n++
			}
		}
		return n
	}
	within(t, 10*time.Second, "no agent lives", func() bool { return agents() == 0 })
	t.Logf("%d turns were halted %s after cox stop began", runs, time.Since(began).Round(time.Millisecond))
	h.seen(l, models.EventTurnEnded, runs)
	var status struct{ Status ledger.Status }
	h.ok(&status, "status")
	if len(status.Status.Still) != runs+1 {
		t.Errorf("not moving: %+v", status.Status.Still)
	}
	for _, s := range status.Status.Still {
		if s.Next == "" || s.AssignmentID == "waits" && s.Code != models.StillStopped {
			t.Errorf("no clear reason: %+v", s)
		}
	}
	h.ok(&struct{}{}, "resume", "--all")
	for n := range runs {
		h.becomes(fmt.Sprintf("hang-%d", n), models.AssignmentAccepted)
		h.oneThread(l, fmt.Sprintf("hang-%d", n), 1)
	}
	h.becomes("waits", models.AssignmentAccepted)
	up.interrupt()
}

// TestPauseOutlivesRestarts: a paused loop starts nothing, whoever turns it on again.
func TestPauseOutlivesRestarts(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.ok(&struct{}{}, "loop", "pause", "--reason", "the release is cut")
	h.assign("later", "")
	for range 2 {
		up := h.start("up", "--adapter", "fake", "--address", e.Address)
		up.says(time.Minute, "the release is cut")
		up.says(time.Minute, "loop resume --team "+theTeam)
		up.interrupt()
	}
	if a := h.shown("later"); a.Status != models.AssignmentReady {
		t.Errorf("it is %s", a.Status)
	}
	up := h.start("up", "--adapter", "fake", "--address", e.Address)
	up.says(time.Minute, "loop is on")
	h.ok(&struct{}{}, "loop", "resume")
	h.becomes("later", models.AssignmentAccepted)
	var drained struct{ Waiting []models.Run }
	h.ok(&drained, "loop", "drain")
	if len(drained.Waiting) != 0 {
		t.Errorf("drained %+v", drained)
	}
	up.interrupt()
}

// TestPeopleAreToldOnceAcrossRestarts: the notify command runs once per change, also
// when the worker is started again, and a file that is wrong changes nothing.
func TestPeopleAreToldOnceAcrossRestarts(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	told := filepath.Join(h.dir, "told")
	config := func(text string) { h.write("config/cox/config.yaml", text, 0o600) }
	good := "notify:\n  command: cat >> " + told + "\n"
	config(good)
	h.assign("asks", "ask")
	lines := func(word string) int {
		text, _ := os.ReadFile(told) // before the first one there is none
		n := 0
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, word) {
				n++
			}
		}
		return n
	}
	up := h.start("up", "--adapter", "fake", "--address", e.Address)
	h.becomes("asks", models.AssignmentAwaitingHuman)
	within(t, 30*time.Second, "a person is told", func() bool { return lines(`"kind":"needs_you"`) == 1 })
	up.interrupt()
	up = h.start("up", "--adapter", "fake", "--address", e.Address)
	up.says(time.Minute, "loop is on")
	config("max_runs: abc\n")
	within(t, 30*time.Second, "status shows what is wrong", func() bool {
		r := h.cox("status")
		return r.code == 0 && strings.Contains(r.stdout, "keeps its last good settings") && strings.Contains(r.stdout, "config.yaml:1: max_runs")
	})
	h.fails(2, "INVALID_ARGUMENT", "workspace", "list")
	config(good + "max_runs: 7\n")
	l := h.ledger(h.state())
	within(t, 30*time.Second, "the worker takes the cap over", func() bool {
		n, err := l.Node(t.Context(), ledger.LocalNodeID(h.state()))
		return err == nil && n.MaxRuns == 7
	})
	questions, err := l.Interventions(t.Context(), ledger.InterventionFilter{Status: "open"})
	if err != nil || len(questions) != 1 {
		t.Fatalf("%v %v", questions, err)
	}
	h.ok(&struct{}{}, "intervention", "respond", "--response", "yes", questions[0].ID)
	h.becomes("asks", models.AssignmentAccepted)
	within(t, 30*time.Second, "the end is told", func() bool { return lines(`"kind":"all_done"`) == 1 && lines(`"change":"cleared"`) >= 1 })
	if n := lines(questions[0].ID); n != 2 { // its rise and its end
		t.Errorf("the question was told %d times", n)
	}
	up.interrupt()
	if logs, err := filepath.Glob(filepath.Join(h.state(), "worker.log")); err != nil || len(logs) != 1 {
		t.Errorf("logs %v %v", logs, err)
	}
}
