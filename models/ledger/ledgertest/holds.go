package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func holdTests() map[string]func(*env) {
	return map[string]func(*env){
		"hold/usage_limit_holds_the_account":       holdUsage,
		"hold/a_reset_that_passed_never_blocks":    holdPast,
		"hold/a_success_ends_it":                   holdSuccess,
		"hold/back_off_survives_and_is_replaced":   holdBackOff,
		"hold/auth_and_context_ask_at_once":        holdPerson,
		"breaker/identical_failures_park":          breakerParks,
		"breaker/other_failures_do_not":            breakerOthers,
		"breaker/decays_without_an_answer":         breakerDecays,
		"breaker/a_team_across_assignments":        breakerTeam,
		"cap/turns_over_all_runs":                  capTurns,
		"cap/raised":                               capRaised,
		"cap/runs_keep_a_start_back":               capRuns,
		"cap/tokens_while_a_turn_runs":             capTokens,
		"cap/time_counts_what_turns_took_together": capTime,
	}
}

// fail ends a turn in an error.
func (e *env) fail(id, turn, kind, message string, limits map[string]any) {
	e.Helper()
	e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: "thread-" + id, TurnID: turn, Status: models.TurnFailed, Error: message, ErrorKind: kind, Limits: limits}))
}

// plan runs a pass over the team and returns how many commands are new.
func (e *env) plan() int {
	e.Helper()
	p, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	return len(p.Commands)
}

// resumed carries out the open resume of a run, which begins a turn.
func (e *env) resumed(run models.Run, turn string) {
	e.Helper()
	w := e.beginOpen(run.ID, models.CommandResume)
	if due := w.Command.NotBefore; due != nil && due.After(e.clock.Now()) {
		e.clock.advance(due.Sub(e.clock.Now()))
	}
	e.ok(e.l.QueueMessage(e.ctx, w.Command.ID, "test", "go on"))
	e.startTurn(run.SessionRef, turn)
}

func usedUp(reset time.Time) map[string]any {
	return map[string]any{
		"primary":   map[string]any{"usedPercent": 100.0, "resetsAt": float64(reset.Unix())},
		"secondary": map[string]any{"usedPercent": 30.0, "resetsAt": float64(reset.Add(48 * time.Hour).Unix())},
	}
}

func holdUsage(e *env) {
	e.node()
	one, two := e.working("one"), e.working("two")
	e.create("three", func(n *models.NewAssignment) { n.AllowedPaths = []string{"three"} })
	reset := e.clock.Now().Add(3 * time.Hour)
	e.fail("one", "turn-one", models.FailureUsageLimit, "You've hit your usage limit.", usedUp(reset))
	e.fail("two", "turn-two", models.FailureUsageLimit, "You've hit your usage limit.", usedUp(reset))
	same(e, "commands while it is held", e.plan(), 0)
	same(e, "the visible reason", e.assignment("three").DeferredReason, "account: usage limit until "+reset.Format("2006-01-02 15:04Z"))
	s, err := e.l.Status(e.ctx, ledger.Sight{})
	e.ok(err)
	same(e, "held runs in the status", len(s.Held), 2)
	same(e, "says until when", s.Held[0].Until.Equal(reset) && strings.Contains(s.Held[0].Reason, "usage limit"), true)
	same(e, "the clock waits for it", !e.deadline().After(reset), true)
	held, err := e.l.Events(e.ctx, ledger.EventFilter{Types: []string{models.EventAccountHeld}})
	e.ok(err)
	same(e, "events of one hold", len(held), 1)

	e.clock.advance(3 * time.Hour)
	e.ok(e.l.BeatNode(e.ctx, "node-1"))
	e.reconcile()
	same(e, "the loop is woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	e.plan()
	for _, run := range []models.Run{one, two} {
		same(e, "resumes of "+run.AssignmentID, len(e.commands(run.ID, models.CommandResume)), 1)
	}
	same(e, "and the start", e.assignment("three").DeferredReason, "")
}

func holdPast(e *env) {
	e.node()
	run := e.working("one")
	e.fail("one", "turn-one", models.FailureUsageLimit, "limit", usedUp(e.clock.Now().Add(-time.Minute)))
	e.plan()
	w := e.beginOpen(run.ID, models.CommandResume)
	same(e, "backs off only", w.Command.NotBefore.Sub(e.clock.Now()), models.BackOff(1))
}

func holdSuccess(e *env) {
	e.node()
	one := e.working("one")
	e.working("two")
	e.fail("one", "turn-one", models.FailureUsageLimit, "limit", nil)
	same(e, "commands while it is held", e.plan(), 0)
	e.endTurn("thread-two", "turn-two")
	e.plan()
	same(e, "resumes after another run's success", len(e.commands(one.ID, models.CommandResume)), 1)
}

func holdBackOff(e *env) {
	e.node()
	run := e.working("one")
	e.fail("one", "turn-one", models.FailureServer, "500 at 10:00", nil)
	e.plan()
	old := e.beginOpen(run.ID, models.CommandResume)
	same(e, "first wait", old.Command.NotBefore.Sub(e.clock.Now()), 10*time.Second)
	same(e, "not planned twice", e.plan(), 0)

	// a turn that somebody else began ends before the retry is due
	e.clock.advance(time.Second)
	_, err := e.l.TurnStarted(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-late"})
	e.ok(err)
	e.clock.advance(time.Second)
	e.fail("one", "turn-late", models.FailureServer, "500 at 10:01", nil)
	e.ok(e.l.QueueMessage(e.ctx, old.Command.ID, "test", "go on"))
	same(e, "the old retry sends nothing", e.commands(run.ID, models.CommandResume)[0].State, models.CommandFailed)
	e.plan()
	fresh := e.beginOpen(run.ID, models.CommandResume)
	same(e, "the newer one waits longer", fresh.Command.NotBefore.Sub(e.clock.Now()), 20*time.Second)
	same(e, "for the newer turn", fresh.Command.Cause, "turn-late")
}

func holdPerson(e *env) {
	e.node()
	for _, kind := range []string{models.FailureAuth, models.FailureContext} {
		run := e.working(kind)
		e.fail(kind, "turn-"+kind, kind, "no", nil)
		e.plan()
		same(e, "resumes after "+kind, len(e.commands(run.ID, models.CommandResume)), 0)
		same(e, "questions after "+kind, len(e.questions(kind, "turn_failed")), 1)
	}
}

// failAgain lets the turns of a run fail in the same way, n times.
func (e *env) failAgain(id string, run models.Run, n int) {
	e.Helper()
	turn := "turn-" + id
	for i := range n {
		e.fail(id, turn, models.FailureServer, fmt.Sprintf("500 Internal Server Error, request %d", i), nil)
		if i == n-1 {
			return
		}
		e.plan()
		turn = fmt.Sprintf("turn-%s-%d-%d", id, e.clock.Now().UnixMilli(), i)
		e.resumed(run, turn)
	}
}

func breakerParks(e *env) {
	e.node()
	run := e.working("one")
	e.failAgain("one", run, models.BreakerLimit)
	for range 5 {
		same(e, "commands while it is parked", e.plan(), 0)
	}
	same(e, "events", len(e.events("one", models.EventBreakerTripped)), 1)
	asked := e.questions("one", models.AskBreaker)
	same(e, "questions", len(asked), 1)
	same(e, "all questions", len(e.run(run.ID).Interventions), 1)
	same(e, "the run waits", e.run(run.ID).Status, models.RunAwaitingHuman)
	e.ok(e.answer(ann, asked[0].ID, "the server is back"))
	same(e, "cleared", len(e.events("one", models.EventBreakerCleared)), 1)
	w := e.beginOpen(run.ID, models.CommandResume)
	same(e, "resumed by the answer", w.Command.Reason, "answered")
}

func breakerOthers(e *env) {
	e.node()
	run := e.working("one")
	turn := "turn-one"
	for i, message := range []string{"stream closed", "upstream refused", "stream closed", "upstream refused"} {
		e.fail("one", turn, models.FailureServer, message, nil)
		e.plan()
		turn = fmt.Sprintf("turn-%d", i)
		e.resumed(run, turn)
	}
	e.fail("one", turn, models.FailureServer, "stream closed", nil)
	same(e, "parked", len(e.events("one", models.EventBreakerTripped)), 0)
}

func breakerDecays(e *env) {
	e.node()
	run := e.working("one")
	e.failAgain("one", run, models.BreakerLimit)
	e.clock.advance(models.BreakerWindow - time.Second)
	e.reconcile()
	same(e, "still parked", len(e.questions("one", models.AskBreaker)), 1)
	same(e, "the clock waits for it", !e.deadline().After(e.clock.Now().Add(time.Second)), true)
	e.clock.advance(time.Second)
	e.reconcile()
	same(e, "questions after a healthy time", len(e.questions("one", models.AskBreaker)), 0)
	same(e, "the run goes on", e.run(run.ID).Status, models.RunRunning)
}

func breakerTeam(e *env) {
	e.node()
	for i := range models.BreakerLimit {
		id := fmt.Sprintf("a%d", i)
		e.working(id)
		e.fail(id, "turn-"+id, models.FailureConnection, "connection refused", nil)
	}
	e.create("next", func(n *models.NewAssignment) { n.AllowedPaths = []string{"next"} })
	same(e, "commands of a parked team", e.plan(), 0)
	same(e, "the visible reason", strings.HasPrefix(e.assignment("next").DeferredReason, "parked: 5 identical failures"), true)
	asked := e.questions("", models.AskBreaker)
	same(e, "questions", len(asked), 1)
	e.ok(e.answer(ann, asked[0].ID, "the proxy is back"))
	same(e, "commands afterwards", e.plan() > 1, true)
}

func capTurns(e *env) {
	e.node()
	e.configure(map[string]string{"max_turns": "2"})
	run := e.working("one")
	e.fail("one", "turn-one", models.FailureServer, "a", nil)
	e.plan()
	e.resumed(run, "turn-2")
	e.fail("one", "turn-2", models.FailureServer, "b", nil)
	same(e, "commands at the cap", e.plan(), 0)
	asked := e.questions("one", models.AskCap)
	same(e, "questions", len(asked), 1)
	same(e, "says which cap", strings.Contains(asked[0].Prompt, "took 2 turns, and max_turns is 2"), true)
	same(e, "once", e.plan(), 0)
	e.clock.advance(time.Second)
	e.ok(e.answer(ann, asked[0].ID, "two more"))
	e.clock.advance(time.Second)
	e.resumed(run, "turn-3")
	e.fail("one", "turn-3", models.FailureServer, "c", nil)
	e.plan()
	e.resumed(run, "turn-4")
	e.fail("one", "turn-4", models.FailureServer, "d", nil)
	e.plan()
	same(e, "asked again", len(e.questions("one", models.AskCap)), 1)
}

func capRaised(e *env) {
	e.node()
	e.configure(map[string]string{"max_turns": "1"})
	run := e.working("one")
	e.fail("one", "turn-one", models.FailureServer, "a", nil)
	e.plan()
	same(e, "questions", len(e.questions("one", models.AskCap)), 1)
	e.configure(map[string]string{"max_turns": "5"})
	same(e, "questions after the cap was raised", len(e.questions("one", models.AskCap)), 0)
	e.plan()
	same(e, "resumes", len(e.commands(run.ID, models.CommandResume)), 1)
}

func capRuns(e *env) {
	e.node()
	e.configure(map[string]string{"max_attempts": "1"})
	_, by := e.managed("one")
	e.startTurn("thread-one", "turn-one")
	ev := e.handOff(by, "one")
	e.endTurn("thread-one", "turn-one")
	_, err := e.decide(boss, ev.ID, models.DecisionNeedsFix)
	e.ok(err)
	same(e, "starts at the cap", e.plan(), 0)
	same(e, "the visible reason", e.assignment("one").DeferredReason, "cap: it had 1 runs, and max_attempts is 1")
	asked := e.questions("one", models.AskCap)
	same(e, "questions", len(asked), 1)
	same(e, "once", e.plan(), 0)
	e.ok(e.answer(ann, asked[0].ID, "once more"))
	same(e, "starts after the answer", e.plan(), 1)
}

func capTokens(e *env) {
	e.node()
	e.configure(map[string]string{"max_tokens": "1000"})
	run := e.working("one")
	e.heard(func(r *ledger.TurnReport) { r.Progress, r.Tokens.Total = true, 999 })
	same(e, "below", e.reconcile().Overdue, 0)
	e.heard(func(r *ledger.TurnReport) { r.Progress, r.Tokens.Total = true, 1200 })
	same(e, "beyond", e.reconcile().Overdue, 1)
	asked := e.questions("one", models.AskStale)
	same(e, "questions", len(asked), 1)
	e.clock.advance(time.Second)
	e.ok(e.answer(ann, asked[0].ID, "let it end"))
	same(e, "this turn may end", e.reconcile().Overdue, 0)
	e.endTurn("thread-one", "turn-one")
	e.plan()
	same(e, "resumes beyond the cap", len(e.commands(run.ID, models.CommandResume)), 0)
	same(e, "questions about the cap", len(e.questions("one", models.AskCap)), 1)
}

func capTime(e *env) {
	e.node()
	e.configure(map[string]string{"max_time": "90s"})
	run := e.working("one")
	e.clock.advance(time.Minute)
	e.fail("one", "turn-one", models.FailureServer, "a", nil)
	e.clock.advance(time.Hour) // between turns costs nothing
	e.ok(e.l.BeatNode(e.ctx, "node-1"))
	e.plan()
	e.resumed(run, "turn-2")
	e.clock.advance(30 * time.Second)
	same(e, "beyond", e.reconcile().Overdue, 1)
}
