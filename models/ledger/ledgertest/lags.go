package ledgertest

import (
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func lagTests() map[string]func(*env) {
	return map[string]func(*env){
		"lag/since_the_first_raise": lagSince,
		"lag/engine_away":           lagEngine,
		"recover/raises_all":        recoverAll,
	}
}

func (e *env) lag() ledger.Lag {
	e.Helper()
	g, err := e.l.Lag(e.ctx)
	e.ok(err)
	return g
}

func lagSince(e *env) {
	e.woken() // all were read
	if g := e.lag(); g.Wakeups != 0 || g.Since != nil {
		e.Errorf("with nothing raised %+v", g)
	}
	raised := e.clock.Now()
	e.ok(e.l.WakeTeam(e.ctx, space, crew))
	e.clock.advance(time.Minute)
	e.ok(e.l.WakeTeam(e.ctx, space, crew)) // again: it waits since the first time
	g := e.lag()
	same(e, "wake-ups", g.Wakeups, 1)
	same(e, "since", g.Since != nil && g.Since.Equal(raised), true)
	e.woken()
	e.ok(e.l.WakeTeam(e.ctx, space, crew)) // after it was read it is a new wait
	g = e.lag()
	same(e, "since the new one", g.Since != nil && g.Since.Equal(e.clock.Now()), true)
}

func lagEngine(e *env) {
	_, err := e.l.StartNode(e.ctx, "node-1", "host", 0)
	e.ok(err)
	if g := e.lag(); len(g.Alive) != 1 || g.AwaySince != nil {
		e.Fatalf("a fresh node: %+v", g)
	}
	lost := e.clock.Now()
	e.ok(e.l.EngineAway(e.ctx, "node-1", true))
	e.clock.advance(time.Second)
	e.ok(e.l.EngineAway(e.ctx, "node-1", true))
	g := e.lag()
	same(e, "away since the first note", g.AwaySince != nil && g.AwaySince.Equal(lost), true)
	_, err = e.l.StartNode(e.ctx, "node-2", "host", 0)
	e.ok(err)
	same(e, "another node reaches it", e.lag().AwaySince == nil, true)
	e.clock.advance(2 * time.Minute)
	same(e, "nodes that were not heard of", len(e.lag().Alive), 0)
	e.ok(e.l.BeatNode(e.ctx, "node-1"))
	same(e, "still away", e.lag().AwaySince != nil, true)
	e.ok(e.l.EngineAway(e.ctx, "node-1", false))
	same(e, "reached again", e.lag().AwaySince == nil, true)
}

func recoverAll(e *env) {
	e.create("one")
	e.woken()
	refuse := func(by models.Principal) error { _, err := e.l.RecoverWorkflows(e.ctx, ledger.As(by)); return err }
	e.refused(models.CodeForbidden, refuse(agentA))
	same(e, "a refusal raises nothing", e.lag().Wakeups, 0)
	first, err := e.l.RecoverWorkflows(e.ctx, ledger.As(ann).Request("r1"))
	e.ok(err)
	same(e, "raised", e.lag().Wakeups, first.Workflows)
	woken := e.woken()
	same(e, "loop woken", woken[ledger.LoopWorkflow(space, crew)], true)
	same(e, "clock woken", woken[ledger.ClockWorkflow()], true)
	c := ledger.As(ann).Request("r1")
	again, err := e.l.RecoverWorkflows(e.ctx, c)
	e.ok(err)
	same(e, "replayed", c.Replayed && again == first && e.lag().Wakeups == 0, true)
	noted, err := e.l.Events(e.ctx, ledger.EventFilter{Types: []string{models.EventWorkflowsRecovered}})
	e.ok(err)
	same(e, "events", len(noted), 1)
}
