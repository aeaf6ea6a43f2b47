package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func alertTests() map[string]func(*env) {
	return map[string]func(*env){
		"alert/latched":               alertLatched,
		"alert/told_again_by_its_id":  alertAgain,
		"alert/all_done_once":         alertDone,
		"alert/usage_limit":           alertLimit,
		"alert/parked_team":           alertParkedTeam,
		"still/holds_of_resumes":      stillHolds,
		"still/approval_and_cap":      stillAsks,
		"idle/what_nobody_takes_up":   idleReasons,
		"still/one_reason_each":       stillReasons,
		"report/a_night":              reportNight,
		"node/settings_while_it_runs": nodeSettings,
	}
}

// told latches and tells everything, and returns "kind change" of each notice.
func (e *env) told() []string {
	e.Helper()
	_, err := e.l.LatchAlerts(e.ctx, "node-1")
	e.ok(err)
	out := []string{}
	for {
		n, found, err := e.l.NextNotice(e.ctx, "node-1")
		e.ok(err)
		if !found {
			return out
		}
		e.ok(e.l.EndNotice(e.ctx, n.ID, ""))
		out = append(out, string(n.Kind)+" "+n.Change)
	}
}

// Ten bad looks are one alert and one recovery.
func alertLatched(e *env) {
	e.node()
	run, by := e.managed("one")
	sameJSON(e, "nothing to tell", e.told(), []string{})
	q := e.ask(by, run.ID, "which?")
	sameJSON(e, "told", e.told(), []string{"needs_you raised"})
	for range 10 {
		e.clock.advance(time.Minute)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
		sameJSON(e, "told once", e.told(), []string{})
	}
	second, other := e.managed("two")
	e.ask(other, second.ID, "and this?")
	sameJSON(e, "another thing is told too", e.told(), []string{"needs_you raised"})
	e.ok(e.answer(ann, q.ID, "that"))
	sameJSON(e, "one is left", e.told(), []string{})
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(ann), "two", nil, "no")
	e.ok(err)
	sameJSON(e, "recovered", e.told(), []string{"needs_you cleared"})
	sameJSON(e, "once", e.told(), []string{})
}

func alertAgain(e *env) {
	e.node()
	run, by := e.managed("one")
	e.ask(by, run.ID, "which?")
	_, err := e.l.LatchAlerts(e.ctx, "node-1")
	e.ok(err)
	first, found, err := e.l.NextNotice(e.ctx, "node-1")
	e.ok(err)
	same(e, "found", found, true)
	again, found, err := e.l.NextNotice(e.ctx, "node-1") // by the worker after one that was killed
	e.ok(err)
	same(e, "the same id, another attempt", found && again.ID == first.ID && again.Attempts == first.Attempts+1, true)
	same(e, "the id is in the payload", again.Payload["id"], any(first.ID))
	e.ok(e.l.EndNotice(e.ctx, again.ID, "exit status 1"))
	_, found, err = e.l.NextNotice(e.ctx, "node-1")
	e.ok(err)
	same(e, "a failure is not repeated", found, false)
	last, found, err := e.l.LastNotice(e.ctx, "node-1")
	e.ok(err)
	same(e, "it is shown", found && last.State == "failed" && last.Error == "exit status 1", true)
}

func alertDone(e *env) {
	e.node()
	e.create("one")
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(ann), "one", nil, "no")
	e.ok(err)
	sameJSON(e, "done", e.told(), []string{"all_done raised"})
	e.create("two")
	sameJSON(e, "new work is no news", e.told(), []string{})
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(ann), "two", nil, "no")
	e.ok(err)
	sameJSON(e, "done again", e.told(), []string{"all_done raised"})
}

// The limit is that of the account: it is told for as long as the account is held,
// whatever the last turn of a run was.
func alertLimit(e *env) {
	e.node()
	e.working("one")
	e.working("two")
	e.fail("one", "turn-one", models.FailureUsageLimit, "limit", usedUp(e.clock.Now().Add(-time.Minute)))
	sameJSON(e, "a limit whose reset has passed", e.told(), []string{})
	e.begun("one", "turn-2")
	reset := e.clock.Now().Add(3 * time.Hour)
	e.fail("one", "turn-2", models.FailureUsageLimit, "limit", usedUp(reset))
	sameJSON(e, "told", e.told(), []string{"limit_hit raised"})
	e.fail("two", "turn-two", models.FailureUsageLimit, "limit", usedUp(reset))
	sameJSON(e, "once for all runs", e.told(), []string{})
	n, found, err := e.l.LastNotice(e.ctx, "node-1")
	e.ok(err)
	same(e, "says until when", found && strings.Contains(n.Payload["summary"].(string), "until "+reset.Format("2006-01-02 15:04Z")), true)
	e.clock.advance(3 * time.Hour)
	e.ok(e.l.BeatNode(e.ctx, "node-1"))
	sameJSON(e, "cleared by the time alone", e.told(), []string{"limit_hit cleared"})
}

func alertParkedTeam(e *env) {
	e.node()
	for i := range models.BreakerLimit {
		id := fmt.Sprintf("a%d", i)
		e.working(id)
		e.fail(id, "turn-"+id, models.FailureConnection, "connection refused", nil)
	}
	sameJSON(e, "told", slices.Sorted(slices.Values(e.told())), []string{"needs_you raised", "parked raised"})
	e.ok(e.answer(ann, e.questions("", models.AskBreaker)[0].ID, "the proxy is back"))
	sameJSON(e, "recovered", slices.Sorted(slices.Values(e.told())), []string{"needs_you cleared", "parked cleared"})
}

// A resume that something holds says what, not how its last turn ended.
func stillHolds(e *env) {
	e.node()
	run := e.working("one")
	e.fail("one", "turn-one", models.FailureServer, "500", nil)
	e.plan()
	same(e, "a back-off", e.still()["one"].Code, models.StillRetry)
	reset := e.clock.Now().Add(3 * time.Hour)
	e.working("two")
	for i := range models.BreakerLimit {
		e.working(fmt.Sprintf("b%d", i))
	}
	e.fail("two", "turn-two", models.FailureUsageLimit, "limit", usedUp(reset))
	for _, id := range []string{"one", "two"} {
		got := e.still()[id]
		same(e, "the account's limit holds "+id, got.Code, models.StillUsageLimit)
		same(e, "until when", strings.Contains(got.Reason, reset.Format("2006-01-02 15:04Z")), true)
	}
	own, err := e.l.StillOf(e.ctx, "one", ledger.Sight{NodeID: "node-1", Working: true})
	e.ok(err)
	same(e, "of one assignment", own != nil && own.Code == models.StillUsageLimit && own.RunID == run.ID, true)
	for i := range models.BreakerLimit {
		id := fmt.Sprintf("b%d", i)
		e.fail(id, "turn-"+id, models.FailureConnection, "connection refused", nil)
	}
	got := e.still()["one"]
	same(e, "a parked team goes before it", got.Code, models.StillBreaker)
	same(e, "which a person can change", got.Next, "cox inbox")
}

// begun is a turn that somebody else began on the thread of an assignment.
func (e *env) begun(id, turn string) {
	e.Helper()
	_, err := e.l.TurnStarted(e.ctx, ledger.TurnReport{ThreadID: "thread-" + id, TurnID: turn})
	e.ok(err)
}

// What asks for leave and what a cap stopped have reasons of their own.
func stillAsks(e *env) {
	e.asked("git push origin main", models.RiskPush)
	got := e.still()["one"]
	same(e, "a request", got.Code, models.StillApproval)
	same(e, "accept or decline", strings.Contains(got.Next, "--accept"), true)
	e.configure(map[string]string{"max_turns": "1"})
	e.working("capped")
	e.fail("capped", "turn-capped", models.FailureServer, "a", nil)
	e.plan()
	got = e.still()["capped"]
	same(e, "a cap", got.Code, models.StillCap)
	same(e, "and how it is answered", strings.HasPrefix(got.Next, "cox intervention respond"), true)
}

// idleReasons: a change says what of it nobody takes up. What goes on by itself is not
// listed.
func idleReasons(e *env) {
	e.node()
	here := ledger.Sight{NodeID: "node-1", Working: true}
	idle := func(sight ledger.Sight, ids ...string) string {
		e.Helper()
		found, err := e.l.Idle(e.ctx, sight, ids, nil)
		e.ok(err)
		codes := []string{}
		for _, i := range found {
			codes = append(codes, fmt.Sprintf("%s %d %s", i.Code, i.Count, i.Next))
		}
		return strings.Join(codes, "; ")
	}
	e.working("live")
	e.create("new", func(n *models.NewAssignment) { n.AllowedPaths = []string{"new"} })
	e.create("late", func(n *models.NewAssignment) { n.DependsOn = []string{"new"}; n.AllowedPaths = []string{"late"} })
	same(e, "everything runs", idle(here, "new", "late", "live"), "")
	same(e, "no worker", idle(ledger.Sight{NodeID: "node-1"}, "new", "live"), "no_worker 2 cox up")
	e.ok(e.l.EngineAway(e.ctx, "node-1", true))
	same(e, "no engine", idle(here, "new", "live"), "engine_away 2 cox down && cox up")
	e.ok(e.l.EngineAway(e.ctx, "node-1", false))
	_, err := e.l.PauseLoops(e.ctx, ledger.As(ann), wholeCrew, "lunch")
	e.ok(err)
	same(e, "a paused loop: live runs go on", idle(here, "new", "late", "live"), "paused 2 cox loop resume --team "+crew)
	_, err = e.l.ResumeLoops(e.ctx, ledger.As(ann), wholeCrew)
	e.ok(err)
	_, err = e.l.TurnLoopOff(e.ctx, ledger.As(ann), crew)
	e.ok(err)
	same(e, "a loop that is off", idle(here, "new", "live"), "loop_off 1 cox loop --team "+crew)
	found, err := e.l.Idle(e.ctx, here, nil, []string{crew})
	e.ok(err)
	same(e, "all that its team could start", len(found) == 1 && found[0].Count == 2, true)
	_, _, err = e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 9})
	e.ok(err)
	e.fail("live", "turn-live", models.FailureUsageLimit, "limit", nil)
	same(e, "a usage limit", idle(here, "new", "live"), "usage_limit 1 ; usage_limit 1 ")
	e.stop()
	same(e, "stopped", idle(here, "new"), "stopped 1 cox resume --team "+crew)
	same(e, "an unknown assignment", idle(here, "nobody"), "")
}

func (e *env) still() map[string]models.Still {
	e.Helper()
	s, err := e.l.Status(e.ctx, ledger.Sight{NodeID: "node-1", Working: true})
	e.ok(err)
	out := map[string]models.Still{}
	for _, x := range s.Still {
		out[x.AssignmentID] = x
	}
	return out
}

func stillReasons(e *env) {
	e.node()
	run, by := e.managed("asks")
	e.ask(by, run.ID, "which?")
	e.managed("works")
	e.startTurn("thread-works", "turn-1")
	e.create("late", func(n *models.NewAssignment) { n.DependsOn = []string{"asks"}; n.AllowedPaths = []string{"late"} })
	e.create("crossed", func(n *models.NewAssignment) { n.AllowedPaths = []string{"dir-asks"} })
	e.create("next", func(n *models.NewAssignment) { n.AllowedPaths = []string{"next"} })
	got := e.still()
	for id, code := range map[string]string{"asks": "question", "late": "dependency", "crossed": "path", "next": "queued"} {
		same(e, id, got[id].Code, code)
	}
	_, moves := got["works"]
	same(e, "what works is not listed", moves, false)
	e.ok(e.l.EngineAway(e.ctx, "node-1", true))
	same(e, "without an engine", e.still()["next"].Code, "engine_away")
	e.ok(e.l.EngineAway(e.ctx, "node-1", false))
	_, err := e.l.PauseLoops(e.ctx, ledger.As(ann), wholeCrew, "lunch")
	e.ok(err)
	same(e, "paused", e.still()["next"].Next, "cox loop resume --team "+crew)
	_, err = e.l.ResumeLoops(e.ctx, ledger.As(ann), wholeCrew)
	e.ok(err)
	_, err = e.l.TurnLoopOff(e.ctx, ledger.As(ann), crew)
	e.ok(err)
	same(e, "off", e.still()["next"].Code, "loop_off")
	e.stop()
	same(e, "stopped", e.still()["next"].Code, "stopped")
	same(e, "the question stands first", e.still()["asks"].Code, "question")
	s, err := e.l.Status(e.ctx, ledger.Sight{NodeID: "node-1", Working: false})
	e.ok(err)
	same(e, "without a worker as many", len(s.Still) >= len(got), true)
}

func reportNight(e *env) {
	e.node()
	from := e.clock.Now()
	_, by := e.managed("done")
	e.startTurn("thread-done", "turn-1")
	e.clock.advance(10 * time.Minute)
	handoff := e.handOff(by, "done")
	e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: "thread-done", TurnID: "turn-1", Status: models.TurnCompleted, Tokens: models.TokenUsage{Input: 70, Output: 30, Total: 100}}))
	e.clock.advance(time.Hour)
	_, err := e.decide(boss, handoff.ID, models.DecisionAccept)
	e.ok(err)
	e.ok(e.l.RecordDirt(e.ctx, "done", []string{"dir-done/a.txt"}, 0))
	run, by := e.managed("asks")
	q := e.ask(by, run.ID, "which?")
	e.clock.advance(30 * time.Minute)
	_, err = e.l.PauseLoops(e.ctx, ledger.As(ann), wholeCrew, "lunch")
	e.ok(err)
	e.create("gone")
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(ann), "gone", nil, "no")
	e.ok(err)
	e.clock.advance(20 * time.Minute)
	_, err = e.l.ResumeLoops(e.ctx, ledger.As(ann), wholeCrew)
	e.ok(err)
	e.ok(e.l.BeatNode(e.ctx, "node-1")) // or it would need a person too
	r, err := e.l.Report(e.ctx, ledger.ReportFilter{Since: from, Until: e.clock.Now()})
	e.ok(err)
	same(e, "done", len(r.Done) == 1 && r.Done[0].AssignmentID == "done" && r.Done[0].By == boss.ActorID && r.Done[0].Tokens.Total == 100, true)
	sameJSON(e, "files", r.Done[0].Files, []string{"dir-done/a.txt"})
	same(e, "ended", len(r.Ended) == 1 && r.Ended[0].AssignmentID == "gone", true)
	same(e, "open", len(r.Open) == 1 && r.Open[0].AssignmentID == "asks", true)
	same(e, "tokens", r.Tokens.Total, int64(100))
	seconds := map[string]int64{}
	for _, c := range r.Causes {
		seconds[c.Cause] = c.Seconds
	}
	sameJSON(e, "waits", seconds, map[string]int64{"review": 3600, "person": 3000, "pause": 1200})
	same(e, "what needs a person", len(r.People) == 1 && r.People[0].ID == q.ID, true)
	later, err := e.l.Report(e.ctx, ledger.ReportFilter{Since: from.Add(40 * time.Minute), Until: from.Add(50 * time.Minute)})
	e.ok(err)
	same(e, "a span in the middle", len(later.Done) == 0 && len(later.Waits) == 1 && later.Waits[0].Seconds == 600 && later.Waits[0].Open, true)
	_, err = e.l.Report(e.ctx, ledger.ReportFilter{Since: from, Until: e.clock.Now(), TeamID: "nobody"})
	e.refused(models.CodeNotFound, err)
	other, err := e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "others", WorkspaceID: space})
	e.ok(err)
	none, err := e.l.Report(e.ctx, ledger.ReportFilter{Since: from, Until: e.clock.Now(), TeamID: other.ID})
	e.ok(err)
	same(e, "another team's night", len(none.Done)+len(none.Ended)+len(none.Open)+len(none.Waits)+len(none.People), 0)
}

func nodeSettings(e *env) {
	e.node()
	e.woken()
	e.ok(e.l.ConfigureNode(e.ctx, "node-1", 3, models.ConfigNote{Problem: "config.yaml:1: max_runs", Restart: []string{"transport"}}))
	n, err := e.l.Node(e.ctx, "node-1")
	e.ok(err)
	same(e, "cap", n.MaxRuns, 3)
	same(e, "its loops look again", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	note, err := e.l.ConfigNote(e.ctx, "node-1")
	e.ok(err)
	same(e, "note", note.Problem == "config.yaml:1: max_runs" && len(note.Restart) == 1 && note.Since.Equal(e.clock.Now()), true)
	e.refused(models.CodeNotFound, e.l.ConfigureNode(e.ctx, "nowhere", 3, models.ConfigNote{}))
}
