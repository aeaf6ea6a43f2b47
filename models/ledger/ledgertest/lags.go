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
		"recover/ended_stay_ended":  recoverEnded,
		"engine/one_at_a_time":      engineOne,
		"engine/new_one_rebuilds":   engineRebuilt,
		"restore/what_was_open":     restoreDoubts,
		"living/revive_once":        livingRevived,
		"living/jam_until_read":     livingJammed,
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

// living are the workflows that have to be alive and have read everything.
func (e *env) living() map[string]ledger.Living {
	e.Helper()
	out, after := map[string]ledger.Living{}, ""
	for {
		page, err := e.l.LivingWorkflows(e.ctx, after, 1)
		e.ok(err)
		if len(page) == 0 {
			return out
		}
		after = page[0].WorkflowID
		out[after] = page[0]
	}
}

func recoverEnded(e *env) {
	e.ok(e.l.WakeThreads(e.ctx, []string{"th-1", "th-2"}))
	one, two := ledger.DeliveryWorkflow("th-1"), ledger.DeliveryWorkflow("th-2")
	g, err := e.l.Acknowledge(e.ctx, one)
	e.ok(err)
	e.woken()
	ended, err := e.l.End(e.ctx, one, g)
	e.ok(err)
	same(e, "may end", ended, true)
	e.ok(e.l.RaiseAll(e.ctx))
	woken := e.woken()
	same(e, "the one that ended, the one that did not", [2]bool{woken[one], woken[two]}, [2]bool{false, true})
	e.ok(e.l.WakeThreads(e.ctx, []string{"th-1"}))
	ended, err = e.l.End(e.ctx, one, g)
	e.ok(err)
	same(e, "may end over a newer wake-up", ended, false)
	e.woken()
	_, alive := e.living()[one]
	same(e, "lives again", alive, true)
}

func livingRevived(e *env) {
	e.ok(e.l.WakeThreads(e.ctx, []string{"th-1"}))
	id := ledger.DeliveryWorkflow("th-1")
	_, listed := e.living()[id]
	same(e, "listed while it is due", listed, false)
	e.woken()
	w, listed := e.living()[id]
	same(e, "listed", listed && w.Subject == "th-1", true)
	for _, want := range []bool{true, false} { // again: it was woken meanwhile
		revived, err := e.l.Revive(e.ctx, w)
		e.ok(err)
		same(e, "revived", revived, want)
	}
	same(e, "woken", e.woken()[id], true)
	w = e.living()[id]
	_, err := e.l.End(e.ctx, id, w.Generation)
	e.ok(err)
	revived, err := e.l.Revive(e.ctx, w)
	e.ok(err)
	same(e, "revived after its end", revived, false)
}

func livingJammed(e *env) {
	e.ok(e.l.WakeThreads(e.ctx, []string{"th-1"}))
	id := ledger.DeliveryWorkflow("th-1")
	for range 2 {
		e.ok(e.l.NoteJam(e.ctx, id, "its code fails"))
	}
	e.ok(e.l.NoteJam(e.ctx, "delivery:nobody", "unknown"))
	jams := e.lag().Jams
	same(e, "jams", len(jams), 1)
	same(e, "jam", jams[0], ledger.Jam{WorkflowID: id, Kind: ledger.WakeDelivery, Subject: "th-1", Reason: "its code fails"})
	noted, err := e.l.Events(e.ctx, ledger.EventFilter{Types: []string{models.EventWorkflowJammed}})
	e.ok(err)
	same(e, "events", len(noted), 1)
	e.woken()
	same(e, "jams after it has read", len(e.lag().Jams), 0)
}

func engineOne(e *env) {
	for _, id := range []string{"node-1", "node-2"} {
		_, err := e.l.StartNode(e.ctx, id, "host", 0)
		e.ok(err)
	}
	seen := func(node, namespace string) error { _, err := e.l.EngineSeen(e.ctx, node, namespace); return err }
	e.ok(seen("node-1", "here"))
	e.ok(seen("node-2", "here"))
	e.refusedBy(models.CodeLeaseConflict, seen("node-2", "there"))
	e.ok(seen("node-2", "here"))
	// The one that both use came back as a new one: they see it one after the other.
	e.refusedBy(models.CodeLeaseConflict, seen("node-1", "anew"))
	e.ok(seen("node-2", "anew"))
	e.ok(seen("node-1", "anew"))
	e.ok(e.l.EngineAway(e.ctx, "node-1", true)) // who reaches none uses none
	e.ok(seen("node-2", "there"))
}

func (e *env) refusedBy(want models.Code, err error) {
	e.Helper()
	if models.CodeOf(err) != want || err == nil {
		e.Fatalf("have %v, want %s", err, want)
	}
}

func engineRebuilt(e *env) {
	e.create("one")
	_, err := e.l.EngineSeen(e.ctx, "node-1", "first")
	e.ok(err)
	e.woken()
	for _, want := range []bool{false, true} {
		rebuilt, err := e.l.EngineSeen(e.ctx, "node-1", map[bool]string{false: "first", true: "second"}[want])
		e.ok(err)
		same(e, "rebuilt", rebuilt, want)
		same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], want)
	}
}

func restoreDoubts(e *env) {
	e.create("one")
	e.woken()
	refuse := func(by models.Principal) error { _, err := e.l.RaiseEpoch(e.ctx, ledger.As(by)); return err }
	e.refused(models.CodeForbidden, refuse(agentA))
	done, err := e.l.RaiseEpoch(e.ctx, ledger.As(ann).Request("r1"))
	e.ok(err)
	again, err := e.l.RaiseEpoch(e.ctx, ledger.As(ann).Request("r1"))
	e.ok(err)
	epoch, err := e.l.Epoch(e.ctx)
	e.ok(err)
	same(e, "epoch, once for one request", [2]int{done.Epoch, epoch}, [2]int{2, 2})
	same(e, "replayed", again, done)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
}
