package e2e_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// silentTurn ends without a handoff: one nudge, then a person, whose answer goes
// on in the same thread.
func silentTurn(h *home, l *ledger.Ledger, id string) {
	h.becomes(id, models.AssignmentAwaitingHuman)
	h.wantTurns(l, id, models.TurnCompleted, models.TurnCompleted)
	q := h.question(id)
	if q.Kind != "no_handoff" {
		h.t.Errorf("asked as %s", q.Kind)
	}
	h.respond(q, "hand off what you have")
	h.becomes(id, models.AssignmentAccepted)
	h.oneThread(l, id, 1)
	h.wantTurns(l, id, models.TurnCompleted, models.TurnCompleted, models.TurnCompleted)
	h.workerWasTold(l, id, []string{"Your assignment is `" + id + "`"}, []string{"has no handoff yet"}, []string{"hand off what you have", q.ID})
}

func reminderIsEnough(h *home, l *ledger.Ledger, id string) {
	h.becomes(id, models.AssignmentAccepted)
	if asked := events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventInterventionRequested}}); len(asked) != 0 {
		h.t.Errorf("a person was asked: %+v", asked)
	}
	h.oneThread(l, id, 1)
	h.workerWasTold(l, id, []string{"Your assignment is"}, []string{"has no handoff yet"})
}

func workerAsks(h *home, l *ledger.Ledger, id string) {
	h.becomes(id, models.AssignmentAwaitingHuman)
	h.respond(h.question(id), "yes, go on with it")
	h.becomes(id, models.AssignmentAccepted)
	h.oneThread(l, id, 1)
	h.workerWasTold(l, id, []string{"Your assignment is"}, []string{"May the scripted worker go on", "yes, go on with it"})
}

// integratorAsksAWorker puts a question about a run that is under way: its handoff is
// refused meanwhile, and the answer resumes it.
func integratorAsksAWorker(h *home, l *ledger.Ledger, id string) {
	run := h.hangs(l, id)
	integrator := ledger.As(models.Principal{ActorID: models.IntegratorID(theTeam), Role: models.RoleIntegrator})
	q, err := l.RequestIntervention(h.t.Context(), integrator, run.ID, "Is this still wanted?", "decision", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	within(h.t, time.Minute, "its turn ends without a handoff", func() bool { return len(h.turns(l, id)) == 1 })
	if a := h.shown(id); a.Status != models.AssignmentAwaitingHuman {
		h.t.Errorf("while a person is asked it is %s", a.Status)
	}
	h.respond(models.Intervention{ID: q.ID}, "yes, it is wanted")
	h.becomes(id, models.AssignmentAccepted)
	h.oneThread(l, id, 1)
	h.workerWasTold(l, id, []string{"Your assignment is"}, []string{models.IntegratorID(theTeam), "Is this still wanted?", "yes, it is wanted"})
}

func cancelInACommand(h *home, l *ledger.Ledger, id string) {
	h.called(l, id, "sleep 471101", models.AssignmentCancelled, "cancel", "--reason", "no longer wanted", id)
}

func supersedeInACommand(h *home, l *ledger.Ledger, id string) {
	h.called(l, id, "sleep 471102", models.AssignmentSuperseded, "supersede", "--by", "replacement", "--reason", "done elsewhere", id)
}

// called calls an assignment off while a command of its turn runs, with another one
// in its background.
func (h *home) called(l *ledger.Ledger, id, command string, want models.AssignmentStatus, args ...string) {
	h.t.Helper()
	runs := func() int { return strings.Count(fmt.Sprint(h.processes()), command) }
	within(h.t, 2*time.Minute, "its commands run", func() bool { return runs() >= 2 })
	h.ok(&struct{}{}, append([]string{"assignment"}, args...)...)
	ended := h.oneThread(l, id, 1)
	if n := runs(); n != 0 {
		h.t.Errorf("the run has ended, and %d of its commands have not: %v", n, h.processes())
	}
	if a := h.shown(id); a.Status != want || !ended[0].Status.Terminal() {
		h.t.Errorf("%s is %s, its run %s", id, a.Status, ended[0].Status)
	}
	h.wantTurns(l, id, models.TurnInterrupted)
	h.workerWasTold(l, id, []string{"Your assignment is"})
	open, err := l.Commands(h.t.Context(), ledger.CommandFilter{AssignmentID: id, OpenOnly: true})
	if err != nil || len(open) != 0 {
		h.t.Errorf("left to do: %+v, %v", open, err)
	}
}

// leaked is what the fake's agents say where they leak something.
const leaked = "fake-agent-leak-4711"

func secretsInCalls(h *home, l *ledger.Ledger, id string) { h.leaks(l, id, "heartbeat_run", 3) }

func secretInAHandoff(h *home, l *ledger.Ledger, id string) { h.leaks(l, id, "submit_handoff", 1) }

// leaks waits for the question that follows refused secrets, looks for them in
// every file of the state directory, and lets the run go on.
func (h *home) leaks(l *ledger.Ledger, id, operation string, refusals int) {
	h.t.Helper()
	h.becomes(id, models.AssignmentAwaitingHuman)
	q := h.question(id)
	if q.Kind != models.EventSecretRefused {
		h.t.Errorf("asked as %s", q.Kind)
	}
	noted := events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventSecretRefused}})
	if len(noted) != refusals {
		h.t.Errorf("%d refusals are noted, want %d", len(noted), refusals)
	}
	for _, e := range noted {
		if e.Payload["operation"] != operation || e.Payload["field"] == "" || e.Payload["rule"] == "" {
			h.t.Errorf("noted %v", e.Payload)
		}
	}
	h.storedNowhere(leaked)
	h.respond(q, "leave the password out")
	h.becomes(id, models.AssignmentAccepted)
	h.oneThread(l, id, 1)
	h.workerWasTold(l, id, []string{"Your assignment is"}, []string{"leave the password out"})
	h.storedNowhere(leaked)
}

// storedNowhere looks for a text in every file below the state directory.
func (h *home) storedNowhere(text string) {
	h.t.Helper()
	files := 0
	err := filepath.WalkDir(h.state(), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // gone between the look at its folder and this one
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // a thread's file that is just replaced
		}
		files++
		if bytes.Contains(content, []byte(text)) {
			h.t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		h.t.Errorf("%d files were read, %v", files, err)
	}
}

// rateLimitBacksOff waits for the second try: it comes after a back-off, on the
// same run, and the failure is told.
func rateLimitBacksOff(h *home, l *ledger.Ledger, id string) {
	ended := func() []models.Event {
		return events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventTurnEnded}})
	}
	within(h.t, 2*time.Minute, "a second try fails too", func() bool { return len(ended()) >= 2 })
	failed := ended()
	for _, e := range failed {
		if e.Payload["status"] != string(models.TurnFailed) || e.Payload["error_kind"] != "rate_limit" {
			h.t.Errorf("turn %+v", e.Payload)
		}
	}
	started := events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventTurnStarted}})
	if wait := started[1].CreatedAt.Sub(failed[0].CreatedAt); wait < models.BackOff(1) || started[1].RunID != started[0].RunID {
		h.t.Errorf("tried again after %s, want %s, run %s after %s", wait, models.BackOff(1), started[1].RunID, started[0].RunID)
	}
	h.ok(&struct{}{}, "assignment", "cancel", "--reason", "the model is overloaded", id)
	h.oneThread(l, id, 1) // called off between two turns, its run ends at once
}
