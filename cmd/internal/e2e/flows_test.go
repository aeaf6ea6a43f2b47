package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// flow is one way that an assignment may go besides the straight one. A flow of an
// integrator's own has a team of its own, so that no other handoff makes it look.
type flow struct {
	id        string
	behaviour string
	follow    func(h *home, l *ledger.Ledger, id string)
	ownTeam   bool
}

func (f flow) team() string {
	if f.ownTeam {
		return "team-" + f.id
	}
	return theTeam
}

func flows() []flow {
	return []flow{
		{"questioned", "slow:8s", integratorAsksAWorker, false}, // first, while its turn is under way
		{"silent", "no_handoff_told", silentTurn, false},
		{"reminded", "no_handoff_once", reminderIsEnough, false},
		{"fixed", "needs_fix_once", fixOnTheSameThread, false},
		{"rejected", "reject", rejected, false},
		{"cancelled", "command:sleep 471101 & sleep 471101", cancelInACommand, false},
		{"superseded", "command:sleep 471102 & sleep 471102", supersedeInACommand, false},
		{"replacement", "", nil, false},
		{"asking", "ask", workerAsks, false},
		{"doubted", "reviewer_asks", reviewerAsks, true},
		{"followed", "follow_up", followUp, false},
		{"replaced", "replace", replacedByTheIntegrator, false},
		{"ignored", "ignore", ignoredReview, true},
		{"stubborn", "ignore_told", ignoredUntilTold, true},
		{"leaking", "leak_calls", secretsInCalls, false},
		{"blurting", "leak_handoff", secretInAHandoff, false},
		{"limited", "fail:rate_limit", rateLimitBacksOff, false},
	}
}

// TestFlows lets every flow go its way on one stack, all beside one another, and
// checks in the end that nobody was told anything twice.
func TestFlows(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	for _, f := range flows() {
		if f.ownTeam {
			h.ok(&struct{}{}, "team", "create", "--workspace", theSite, f.team())
		}
		h.assign(f.id, f.behaviour, "--team", f.team())
	}
	up := h.start("up", "--adapter", "fake", "--address", e.Address, "--max-concurrent-runs", "20", "--review-nudge-interval", "2")
	l := h.ledger(h.state())
	for _, f := range flows() {
		if f.follow == nil {
			continue
		}
		t.Run(f.id, func(t *testing.T) {
			sub := *h // fails on its own
			sub.t = t
			f.follow(&sub, l, f.id)
		})
	}
	within(t, time.Minute, "no agent outlives its turn", func() bool {
		return !strings.Contains(fmt.Sprint(h.processes()), "fake-agent")
	})
	up.interrupt()
	h.toldOnce(l)
}

// told is a message in a thread's history, and the thread.
type told struct{ thread, id, text string }

// told lists the messages of a thread in order, of all threads for "".
func (h *home) told(thread string) (out []told) {
	h.t.Helper()
	for _, th := range histories(h.t, h.state()) {
		for _, item := range th.Items {
			if item.Type == "userMessage" && (thread == "" || thread == th.ID) {
				out = append(out, told{th.ID, item.ClientID, item.Text})
			}
		}
	}
	return out
}

// toldOnce compares the receipts in the ledger with the histories of the threads:
// each message stands in one of them, once, and no other stands there.
func (h *home) toldOnce(l *ledger.Ledger) {
	h.t.Helper()
	var receipts, found []string
	for _, e := range events(h.t, l, ledger.EventFilter{Types: []string{models.EventMessageDelivered}}) {
		receipts = append(receipts, fmt.Sprint(e.Payload["message_id"]))
	}
	for _, m := range h.told("") {
		found = append(found, m.id)
	}
	slices.Sort(receipts)
	slices.Sort(found)
	if !slices.Equal(receipts, found) || len(found) == 0 || len(slices.Compact(slices.Clone(found))) != len(found) {
		h.t.Errorf("the threads hold %d messages %q, the ledger %d receipts %q", len(found), found, len(receipts), receipts)
	}
}

// workerWasTold checks the messages of an assignment's one thread, each by parts
// that it has to contain.
func (h *home) workerWasTold(l *ledger.Ledger, id string, want ...[]string) {
	h.t.Helper()
	runs, err := l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: id})
	if err != nil || len(runs) == 0 {
		h.t.Fatalf("%s: runs %v, %v", id, runs, err)
	}
	got := h.told(runs[0].SessionRef)
	if len(got) != len(want) {
		h.t.Fatalf("%s was told %d messages, want %d", id, len(got), len(want))
	}
	for i, parts := range want {
		for _, part := range parts {
			if !strings.Contains(got[i].text, part) {
				h.t.Errorf("message %d to %s lacks %q:\n%s", i+1, id, part, got[i].text)
			}
		}
	}
}

// integratorWasTold tells whether one message to a thread that no worker has
// contains all parts.
func (h *home) integratorWasTold(parts ...string) bool {
	h.t.Helper()
	return slices.ContainsFunc(h.told(""), func(m told) bool {
		return strings.HasPrefix(m.text, "You are Codex integrator actor") &&
			!slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(m.text, p) })
	})
}

// turns are how the turns of an assignment's runs ended, in order.
func (h *home) turns(l *ledger.Ledger, id string) (out []models.TurnStatus) {
	h.t.Helper()
	for _, e := range events(h.t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventTurnEnded}}) {
		status, _ := e.Payload["status"].(string)
		out = append(out, models.TurnStatus(status))
	}
	return out
}

func (h *home) wantTurns(l *ledger.Ledger, id string, want ...models.TurnStatus) {
	h.t.Helper()
	if got := h.turns(l, id); !slices.Equal(got, want) {
		h.t.Errorf("turns of %s ended %v, want %v", id, got, want)
	}
}

// question waits for the one open question about an assignment.
func (h *home) question(id string) models.Intervention {
	h.t.Helper()
	var found models.Intervention
	within(h.t, 2*time.Minute, "a person is asked about "+id, func() bool {
		var doc struct{ Interventions []models.Intervention }
		h.ok(&doc, "intervention", "list")
		for _, q := range doc.Interventions {
			if q.AssignmentID == id {
				found = q
				return true
			}
		}
		return false
	})
	return found
}

// respond answers a question as a person does.
func (h *home) respond(q models.Intervention, text string) {
	h.t.Helper()
	h.ok(&struct{}{}, "intervention", "respond", "--response", text, q.ID)
}

// oneThread checks that all runs of an assignment were on one thread and have
// ended, and returns them, the newest first.
func (h *home) oneThread(l *ledger.Ledger, id string, want int) []models.Run {
	h.t.Helper()
	var runs []models.Run
	var err error
	within(h.t, time.Minute, "the runs of "+id+" end", func() bool {
		runs, err = l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: id})
		return err == nil && !slices.ContainsFunc(runs, func(r models.Run) bool { return r.EndedAt == nil })
	})
	if len(runs) != want {
		h.t.Fatalf("%s: %d runs, want %d", id, len(runs), want)
	}
	for _, r := range runs {
		if r.SessionRef == "" || r.SessionRef != runs[0].SessionRef {
			h.t.Errorf("%s: run %+v is not on thread %s", id, r, runs[0].SessionRef)
		}
	}
	return runs
}
