package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// TestDescribed15TheLoopPassByPass is number 15 of the described ledger's tests:
// a dry run lists the command and changes nothing; a pass claims, with thread and
// cursor; after the handoff a pass makes one nudge as the integrator; the next one
// makes nothing; an adapter that cannot be had schedules nothing.
func TestDescribed15TheLoopPassByPass(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	const id = "task.alpha"
	h.assign(id, "ignore")
	l := h.ledger(h.state())
	seen := len(events(t, l, ledger.EventFilter{}))

	var dry planDoc
	h.ok(&dry, "loop", "--dry-run", "--adapter", "fake", "--team", theTeam)
	want := "cmd_start_assignment_task_alpha_" + models.ShortHash(id, 8) + "_rev1_attempt1"
	if len(dry.Teams) != 1 || len(dry.Teams[0].Commands) != 1 || dry.Teams[0].Commands[0].ID != want {
		t.Errorf("a dry run plans %+v, want %s", dry.Teams, want)
	}
	if a := h.shown(id); a.Status != models.AssignmentReady || a.Revision != 1 || len(events(t, l, ledger.EventFilter{})) != seen {
		t.Errorf("after the dry run it is %+v", a)
	}

	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	if made := h.pass(e); len(made) != 1 || made[0].ID != want || made[0].State != models.CommandDone {
		t.Fatalf("the first pass made %+v", made)
	}
	run := h.endedRun(l, id)
	cursor, _ := run.Metadata["communication_cursor"].(map[string]any)
	if run.SessionRef == "" || len(run.Turns) != 1 || cursor["last_seen_turn_id"] != run.Turns[0].ID || run.SessionKind != models.SessionKindCodexThread {
		t.Errorf("the run %+v, cursor %v", run.Run, cursor)
	}
	h.seen(l, models.EventReviewNudgeDispatched, 1) // live work goes on between two passes
	h.integratorEnds(l, 1)
	if made := h.pass(e); len(made) != 0 {
		t.Errorf("a pass after the nudge made %+v", made)
	}
	nudges := events(t, l, ledger.EventFilter{Types: []string{models.EventReviewNudgeDispatched}})
	if a := h.shown(id); len(nudges) != 1 || a.Status != models.AssignmentAwaitingReview || !h.integratorWasTold(a.HandoffEventID) {
		t.Errorf("%d nudges, and it is %s", len(nudges), a.Status)
	}

	h.assign("next", "")
	h.env["COX_CODEX_BIN"] = h.write("bin/codex", "#!/bin/sh\nexit 127\n", 0o755)
	h.fails(7, "ADAPTER_UNAVAILABLE", "loop", "--once", "--adapter", "codex-app-server", "--team", theTeam, "--address", e.Address)
	made, err := l.Commands(t.Context(), ledger.CommandFilter{AssignmentID: "next"})
	if a := h.shown("next"); err != nil || len(made) != 0 || a.Status != models.AssignmentReady {
		t.Errorf("without an adapter it is %s, commands %+v, %v", a.Status, made, err)
	}
	w.interrupt()
	h.toldOnce(l)
}

// pass runs `cox loop --once` and returns the commands that it made.
func (h *home) pass(e engine) []models.Command {
	h.t.Helper()
	var doc struct{ Commands []models.Command }
	h.ok(&doc, "loop", "--once", "--adapter", "fake", "--team", theTeam, "--address", e.Address)
	return slices.DeleteFunc(doc.Commands, func(c models.Command) bool { return c.Type == models.CommandRefresh })
}

// endedRun waits for the end of an assignment's only run.
func (h *home) endedRun(l *ledger.Ledger, id string) ledger.RunDetail {
	h.t.Helper()
	runs := h.oneThread(l, id, 1)
	d, err := l.RunDetail(context.Background(), runs[0].ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

// integratorEnds waits for the end of so many turns that belong to no assignment.
func (h *home) integratorEnds(l *ledger.Ledger, want int) {
	h.t.Helper()
	within(h.t, time.Minute, "the integrator's turn ends", func() bool {
		n := 0
		for _, e := range events(h.t, l, ledger.EventFilter{Types: []string{models.EventTurnEnded}}) {
			if e.AssignmentID == "" {
				n++
			}
		}
		return n >= want
	})
}

// TestDescribed19OneNudgeForTwoHandoffs is the first half of number 19: one nudge
// names both handoffs; what is appended after a handoff neither breaks nor repeats
// it; the next pass makes none.
func TestDescribed19OneNudgeForTwoHandoffs(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	l := h.ledger(h.state())
	var handoffs []string
	for _, id := range []string{"one", "two"} {
		h.assign(id, "ignore")
		handoffs = append(handoffs, h.outsider(l, id))
	}
	h.appended(l, "one")
	w := h.start("worker", "--address", e.Address)
	w.says(time.Minute, "is ready")
	loop := h.start("loop", "--adapter", "fake", "--address", e.Address)
	h.seen(l, models.EventReviewNudgeDispatched, 1)
	h.integratorEnds(l, 1)
	h.appended(l, "two")
	if made := h.pass(e); len(made) != 0 {
		t.Errorf("a pass after the nudge made %+v", made)
	}
	loop.interrupt()
	nudges := events(t, l, ledger.EventFilter{Types: []string{models.EventReviewNudgeDispatched}})
	if len(nudges) != 1 || fmt.Sprint(nudges[0].Payload["pending_event_ids"]) != fmt.Sprint(handoffs) {
		t.Errorf("nudges %+v, want one about %v", nudges, handoffs)
	}
	if !h.integratorWasTold(handoffs...) || len(h.told("")) != 1 {
		t.Errorf("the threads hold %+v", h.told(""))
	}
	w.interrupt()
	h.toldOnce(l)
}

// outsider claims and hands off an assignment without the loop, and returns the
// handoff.
func (h *home) outsider(l *ledger.Ledger, id string) string {
	h.t.Helper()
	by := models.Principal{ActorID: "agent-" + id, Role: models.RoleAgent}
	if _, err := l.ClaimAssignment(h.t.Context(), ledger.As(by), ledger.ClaimRequest{AssignmentID: id}); err != nil {
		h.t.Fatal(err)
	}
	event, err := l.SubmitHandoff(h.t.Context(), ledger.As(by), ledger.HandoffRequest{AssignmentID: id, Payload: map[string]any{"summary": "done"}})
	if err != nil {
		h.t.Fatal(err)
	}
	return event.ID
}

func (h *home) appended(l *ledger.Ledger, id string) {
	h.t.Helper()
	_, err := l.AppendEvent(h.t.Context(), somebody(), ledger.AppendRequest{AssignmentID: id, Type: "note", Payload: map[string]any{"text": "looking at it"}})
	if err != nil {
		h.t.Fatal(err)
	}
}

// stepsOfAStart are what the ledger shows, step by step, while an assignment is
// started.
func stepsOfAStart() map[string]func(run ledger.RunDetail, thread string) bool {
	return map[string]func(ledger.RunDetail, string) bool{
		"intended": func(run ledger.RunDetail, _ string) bool { return run.ID != "" },
		"thread":   func(_ ledger.RunDetail, thread string) bool { return thread != "" },
		"claimed":  func(run ledger.RunDetail, _ string) bool { return run.Status == models.RunClaimed },
		"sending": func(run ledger.RunDetail, _ string) bool {
			return len(run.Messages) > 0 && run.Messages[0].State != models.OutboxPending
		},
		"turn": func(run ledger.RunDetail, _ string) bool { return len(run.Turns) > 0 },
	}
}

// TestDescribed19KilledAfterEachStepOfAStart is the second half: the worker is
// killed after each step of a start, and in the end there is one run on one thread
// with one prompt.
func TestDescribed19KilledAfterEachStepOfAStart(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	for step, reached := range stepsOfAStart() {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.site()
			h.assign("one", "")
			l := h.ledger(h.state())
			p := h.start("up", "--json", "--exit-when-done", "--adapter", "fake", "--address", e.Address)
			h.killWorkerWhen(l, reached)
			p.ends(0, demoLimit)
			h.startedOnce(l)
		})
	}
}

// killWorkerWhen kills the worker as soon as the ledger shows a step.
func (h *home) killWorkerWhen(l *ledger.Ledger, reached func(ledger.RunDetail, string) bool) {
	h.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); ; <-tick.C {
		runs, err := l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: "one"})
		if err == nil && len(runs) == 1 {
			var run ledger.RunDetail
			var spec ledger.Spec
			if run, err = l.RunDetail(h.t.Context(), runs[0].ID); err == nil {
				spec, err = l.ThreadSpec(h.t.Context(), run.BindingID)
			}
			if err == nil && reached(run, spec.Binding.ThreadID) {
				break
			}
		}
		if time.Now().After(end) {
			h.t.Fatalf("the step was not seen (%v)", err)
		}
	}
	pid, running := worker.Running(h.state())
	if !running {
		h.t.Fatal("no worker runs")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
}

// startedOnce checks that the assignment was started once, whatever happened
// meanwhile: one run, one thread of its own, one first prompt.
func (h *home) startedOnce(l *ledger.Ledger) {
	h.t.Helper()
	if a := h.shown("one"); a.Status != models.AssignmentAccepted {
		h.t.Errorf("it is %s", a.Status)
	}
	run := h.oneThread(l, "one", 1)[0]
	prompts, threads := 0, map[string]bool{}
	for _, m := range h.told("") {
		if strings.HasPrefix(m.text, "You are Codex worker actor") {
			threads[m.thread] = true
		}
		if strings.Contains(m.text, "Your assignment is `one`") {
			prompts++
		}
	}
	if prompts != 1 || len(threads) != 1 || !threads[run.SessionRef] {
		h.t.Errorf("%d first prompts, workers' threads %v, the run is on %s", prompts, threads, run.SessionRef)
	}
	if claims := events(h.t, l, ledger.EventFilter{Types: []string{models.EventRunClaimed}}); len(claims) != 1 {
		h.t.Errorf("claimed %d times", len(claims))
	}
	h.toldOnce(l)
}
