package ledgertest

import (
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func runTests() map[string]func(*env) {
	return map[string]func(*env){
		"run/heartbeat":                   heartbeat,
		"run/heartbeat_renews_after_all":  heartbeatRenews,
		"run/heartbeat_while_waiting":     heartbeatWaiting,
		"run/another_actor_changes_none":  foreignRun,
		"run/binding_merges":              bindingMerges,
		"run/binding_refused_when_over":   bindingRefused,
		"run/lists":                       runLists,
		"run/heartbeat_never_shortens_it": heartbeatNeverShortens,
	}
}

func heartbeat(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	e.clock.advance(10 * time.Minute)
	ev, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "reading")
	e.ok(err)
	r, a := e.run(c.Run.ID), e.assignment("one")
	same(e, "run", r.Status, models.RunRunning)
	same(e, "assignment", a.Status, models.AssignmentRunning)
	same(e, "revision", a.Revision, c.Assignment.Revision)
	same(e, "heartbeat", r.HeartbeatAt.Equal(ev.CreatedAt), true)
	until := e.clock.Now().Add(time.Hour)
	same(e, "run, claim and task", r.LeaseExpiresAt.Equal(until) && a.LeaseExpiresAt.Equal(until) && r.Task.ExpiresAt.Equal(until), true)
	last := r.Events[len(r.Events)-1]
	same(e, "last event", last.Type, models.EventRunHeartbeat)
	same(e, "summary", last.Payload["summary"], any("reading"))
	_, err = e.l.HeartbeatRun(e.ctx, ledger.As(agentA), "run_none", "x")
	e.refused(models.CodeNotFound, err)
	for _, summary := range []string{strings.Repeat("x", ledger.MaxText+1), "a\x00b"} {
		e.unchanged("one", models.CodeInvalidArgument, func() error {
			_, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, summary)
			return err
		})
	}
}

func heartbeatRenews(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	e.clock.advance(3 * time.Hour)
	_, err := e.l.Reconcile(e.ctx)
	e.ok(err)
	_, err = e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "late, but nobody else came")
	e.ok(err)
	same(e, "task", e.run(c.Run.ID).Task.Status, "live")
	e.unchanged("one", models.CodeLeaseConflict, func() error { _, err := e.tryClaim(agentB, "one"); return err })
}

func heartbeatNeverShortens(e *env) {
	e.create("one")
	c, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA), ledger.ClaimRequest{AssignmentID: "one", TTL: 5 * time.Hour})
	e.ok(err)
	_, err = e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "x")
	e.ok(err)
	same(e, "expiry", e.run(c.Run.ID).LeaseExpiresAt.Equal(start.Add(5*time.Hour)), true)
}

func heartbeatWaiting(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, "which?", "", nil)
	e.ok(err)
	_, err = e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "waiting")
	e.ok(err)
	same(e, "run", e.run(c.Run.ID).Status, models.RunAwaitingHuman)
	same(e, "lane", e.lane("one"), "awaiting_human")
}

func foreignRun(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	for name, call := range map[string]func(by models.Principal) error{
		"append":   func(by models.Principal) error { _, err := e.appendEvent(by, "one", "progress"); return err },
		"hand off": func(by models.Principal) error { _, err := e.tryHandOff(by, "one"); return err },
		"heartbeat": func(by models.Principal) error {
			_, err := e.l.HeartbeatRun(e.ctx, ledger.As(by), c.Run.ID, "x")
			return err
		},
		"bind": func(by models.Principal) error {
			_, err := e.l.RecordRunBinding(e.ctx, ledger.As(by), c.Run.ID, map[string]any{"a": 1}, nil)
			return err
		},
		"ask": func(by models.Principal) error {
			_, err := e.l.RequestIntervention(e.ctx, ledger.As(by), c.Run.ID, "?", "", nil)
			return err
		},
	} {
		e.Log(name)
		e.unchanged("one", models.CodeForbidden, func() error { return call(agentB) })
	}
	for _, by := range []models.Principal{ann, boss} { // a person hands off nobody else's run either
		e.unchanged("one", models.CodeForbidden, func() error { _, err := e.tryHandOff(by, "one"); return err })
		e.unchanged("one", models.CodeForbidden, func() error { _, err := e.l.HeartbeatRun(e.ctx, ledger.As(by), c.Run.ID, "x"); return err })
	}
}

func bindingMerges(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	before := e.run(c.Run.ID)
	_, err := e.l.RecordRunBinding(e.ctx, ledger.As(agentA), c.Run.ID, map[string]any{
		"adapter":              map[string]any{"kind": "fake_codex", "version": "1"},
		"communication_cursor": map[string]any{"last_seen_turn_id": "turn_1"}, "list": []string{"a", "b"},
	}, map[string]any{"result": "thread_started"})
	e.ok(err)
	d, err := e.l.RecordRunBinding(e.ctx, ledger.As(boss), c.Run.ID, map[string]any{
		"adapter": map[string]any{"version": nil, "transport": "stdio"}, "list": []string{"c"},
	}, nil)
	e.ok(err)
	sameJSON(e, "metadata", d.Metadata, map[string]any{
		"adapter":              map[string]any{"kind": "fake_codex", "version": nil, "transport": "stdio"},
		"communication_cursor": map[string]any{"last_seen_turn_id": "turn_1"}, "list": []string{"c"},
	})
	last := d.Events[len(d.Events)-1]
	same(e, "event", last.Type, models.EventRunBindingRecorded)
	same(e, "event status", last.Status, models.EventObserved)
	same(e, "revision", e.assignment("one").Revision, c.Assignment.Revision)
	after := d.Run
	after.Metadata = before.Metadata
	sameJSON(e, "all other columns", after, before.Run)
}

func bindingRefused(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	bind := func(by models.Principal, run string) error {
		_, err := e.l.RecordRunBinding(e.ctx, ledger.As(by), run, map[string]any{"a": 1}, nil)
		return err
	}
	e.refused(models.CodeNotFound, bind(agentA, "run_none"))
	e.handOff(agentA, "one")
	for _, by := range []models.Principal{agentA, boss, ann} {
		e.unchanged("one", models.CodeInvalidArgument, func() error { return bind(by, c.Run.ID) })
	}
}

func runLists(e *env) {
	e.create("one")
	e.create("two")
	e.claim(agentA, "one")
	e.clock.advance(time.Second)
	newest := e.claim(agentB, "two")
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, "no")
	e.ok(err)
	count := func(f ledger.RunFilter) int {
		list, err := e.l.Runs(e.ctx, f)
		e.ok(err)
		return len(list)
	}
	same(e, "all", count(ledger.RunFilter{TeamID: crew}), 2)
	same(e, "open", count(ledger.RunFilter{OpenOnly: true}), 1)
	list, err := e.l.Runs(e.ctx, ledger.RunFilter{})
	e.ok(err)
	same(e, "the newest first", list[0].ID, newest.Run.ID)
	_, err = e.l.RunDetail(e.ctx, "run_none")
	e.refused(models.CodeNotFound, err)
}
