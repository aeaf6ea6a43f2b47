package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coxswain/cmd/internal/doctor"
	"coxswain/models"
	"coxswain/models/ledger"
)

// TestAPersonSteersAndStopsRuns has two hanging workers: one works on once a
// person says something into its turn; the other is stopped, its turn ends with
// its commands, and the answer resumes the same thread.
func TestAPersonSteersAndStopsRuns(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	h.assign("steered", "hang_told")
	h.assign("stopped", "hang_told")
	up := h.start("up", "--adapter", "fake", "--address", e.Address, "--max-concurrent-runs", "2")
	l := h.ledger(h.state())
	for name, check := range map[string]func(*home, *ledger.Ledger){"steer": steerWorksOn, "interrupt": interruptWaits} {
		t.Run(name, func(t *testing.T) {
			sub := *h // fails on its own
			sub.t = t
			check(&sub, l)
		})
	}
	allStopped(h, l)
	healthy(h, e)
	within(t, time.Minute, "no agent outlives its turn", func() bool {
		return !strings.Contains(fmt.Sprint(h.processes()), "fake-agent")
	})
	up.interrupt()
}

// hangs waits until an assignment's agent hangs in its first turn, and returns its
// run.
func (h *home) hangs(l *ledger.Ledger, id string) models.Run {
	h.t.Helper()
	within(h.t, time.Minute, "its agent hangs", func() bool {
		return len(events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventRunHeartbeat}})) == 1
	})
	runs, err := l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: id})
	if err != nil || len(runs) != 1 {
		h.t.Fatalf("runs of %s: %+v, %v", id, runs, err)
	}
	return runs[0]
}

func steerWorksOn(h *home, l *ledger.Ledger) {
	run := h.hangs(l, "steered")
	var said struct{ Message models.OutboxItem }
	h.ok(&said, "run", "steer", "--message", "go on with the small solution", run.ID)
	h.becomes("steered", models.AssignmentAccepted)
	if ended := h.turns(l, "steered"); len(ended) != 1 {
		h.t.Errorf("%d turns, want the one that was steered: %+v", len(ended), ended)
	}
	var receipts int
	for _, e := range events(h.t, l, ledger.EventFilter{RunID: run.ID, Types: []string{models.EventMessageDelivered}}) {
		if e.Payload["message_id"] == said.Message.ID && e.Payload["resent_after_unknown"] == false {
			receipts++
		}
	}
	if receipts != 1 {
		h.t.Errorf("%d receipts of %s, want 1", receipts, said.Message.ID)
	}
	h.fails(2, "INVALID_ARGUMENT", "run", "steer", "--message", "too late", run.ID)
	h.tells(run.ID, "turn started", "says: go on with the small solution", "userMessage: "+said.Message.ID,
		"handed off by", "turn completed", "integrator_accepted by")
	h.tells(run.ID, "worker_steer "+said.Message.ID+" is in turn")
}

// tells checks that the log of a run holds texts in an order, and that the one
// that is followed says the same.
func (h *home) tells(run string, texts ...string) {
	h.t.Helper()
	var doc struct{ Entries []models.LogEntry }
	h.ok(&doc, "run", "logs", run)
	var all strings.Builder
	for _, e := range doc.Entries {
		all.WriteString(e.Text + "\n")
	}
	rest := all.String()
	for _, want := range texts {
		_, after, found := strings.Cut(rest, want)
		if !found {
			h.t.Fatalf("the log lacks %q in its place:\n%s", want, all.String())
		}
		rest = after
	}
	followed := h.cox("run", "logs", "--follow", run)
	if followed.code != 0 || !strings.Contains(followed.stdout, texts[len(texts)-1]) {
		h.t.Errorf("followed to exit %d: %s%s", followed.code, followed.stdout, followed.stderr)
	}
}

func interruptWaits(h *home, l *ledger.Ledger) {
	run := h.hangs(l, "stopped")
	var stop struct{ Intervention models.Intervention }
	h.ok(&stop, "run", "interrupt", "--reason", "wrong module", run.ID)
	within(h.t, time.Minute, "its turn ends", func() bool { return len(h.turns(l, "stopped")) == 1 })
	if ended := h.turns(l, "stopped"); ended[0] != models.TurnInterrupted {
		h.t.Errorf("the turn is %s, want interrupted", ended[0])
	}
	h.becomes("stopped", models.AssignmentAwaitingHuman)
	if asked := stop.Intervention; !strings.Contains(asked.Prompt, "wrong module") || !strings.Contains(asked.Prompt, "human:") {
		h.t.Errorf("the question %q does not say who stopped it and why", asked.Prompt)
	}
	h.ok(&struct{}{}, "intervention", "respond", "--response", "only touch the docs", stop.Intervention.ID)
	h.becomes("stopped", models.AssignmentAccepted)
	h.oneThread(l, "stopped", 1)
	if ended := h.turns(l, "stopped"); len(ended) != 2 {
		h.t.Errorf("%d turns, want the stopped one and the one after the answer", len(ended))
	}
}

// allStopped stops the whole team at once: the one run that works waits for a person,
// and its answer lets it finish; nothing is reviewed and nothing starts until a person
// lets the team go on.
func allStopped(h *home, l *ledger.Ledger) {
	h.t.Helper()
	h.assign("halted", "hang_told")
	run := h.hangs(l, "halted")
	var doc struct{ Stopped ledger.Stopped }
	h.ok(&doc, "stop", "--team", theTeam, "--reason", "the disk is full")
	if len(doc.Stopped.Questions) != 1 || doc.Stopped.Questions[0].RunID != run.ID || len(doc.Stopped.Loops) != 1 {
		h.t.Fatalf("stopped %+v", doc.Stopped)
	}
	h.becomes("halted", models.AssignmentAwaitingHuman)
	h.assign("later", "")
	var inbox struct {
		Inbox []struct {
			models.InboxEntry
			Command string
		}
	}
	h.ok(&inbox, "inbox")
	if len(inbox.Inbox) != 1 || inbox.Inbox[0].Kind != models.InboxRecovery || inbox.Inbox[0].AssignmentID != "halted" {
		h.t.Fatalf("the inbox is %+v", inbox.Inbox)
	}
	h.pasted(inbox.Inbox[0].Command)
	h.becomes("halted", models.AssignmentAwaitingReview)
	h.oneThread(l, "halted", 1)
	if a := h.shown("later"); a.Status != models.AssignmentReady {
		h.t.Errorf("in a stopped team a new assignment is %s", a.Status)
	}
	var again struct{ Stopped ledger.Stopped }
	h.ok(&again, "stop", "--all")
	if len(again.Stopped.Loops)+len(again.Stopped.Questions) != 0 {
		h.t.Errorf("a second stop did %+v", again.Stopped)
	}
	var back struct{ Resumed ledger.Resumed }
	h.ok(&back, "resume", "--all")
	if len(back.Resumed.Loops) != 1 {
		h.t.Errorf("resumed %+v", back.Resumed)
	}
	h.becomes("halted", models.AssignmentAccepted)
	h.becomes("later", models.AssignmentAccepted)
}

// pasted runs a command line of cox as a shell would.
func (h *home) pasted(line string) {
	h.t.Helper()
	cmd := h.command("/bin/sh", "-c", strings.Replace(line, "cox ", "\""+built.cox+"\" ", 1))
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// healthy: the doctor finds the worker and the engine that serve this ledger.
func healthy(h *home, e engine) {
	h.t.Helper()
	var doc struct{ Checks []doctor.Check }
	h.ok(&doc, "doctor", "--adapter", "fake", "--address", e.Address)
	for _, c := range doc.Checks {
		if c.Status != doctor.OK && c.Status != doctor.Skipped {
			h.t.Errorf("%s is %s: %s", c.Name, c.Status, c.Detail)
		}
	}
}
