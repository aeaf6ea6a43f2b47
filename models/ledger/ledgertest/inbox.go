package ledgertest

import (
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func inboxTests() map[string]func(*env) {
	return map[string]func(*env){
		"inbox/empty":                           inboxEmpty,
		"inbox/oldest_first_and_each_once":      inboxInOrder,
		"inbox/an_ignored_review_is_one_entry":  inboxIgnored,
		"inbox/silent_node_with_work":           inboxLostNode,
		"inbox/failed_adapter_that_work_needs":  inboxFailedAdapter,
		"inbox/what_was_settled_is_gone":        inboxSettled,
		"inbox/every_planner_question_recovers": inboxKinds,
		"inbox/what_runs_raise_for_people":      inboxRaised,
		"status/names_who_takes_the_slot":       statusCrowded,
		"node/a_proof_holds_for_its_own":        proofs,
	}
}

func (e *env) inbox(f ledger.InboxFilter) []models.InboxEntry {
	e.Helper()
	found, err := e.l.Inbox(e.ctx, f)
	e.ok(err)
	return found
}

func inboxEmpty(e *env) {
	e.node()
	e.managed("one")
	same(e, "entries while all is well", len(e.inbox(ledger.InboxFilter{})), 0)
}

func inboxInOrder(e *env) {
	e.node()
	asking, by := e.managed("asking")
	question := e.ask(by, asking.ID, "which?")
	e.clock.advance(time.Second)
	stopped, _ := e.managed("stopped")
	e.startTurn("thread-stopped", "turn-1")
	stop, err := e.l.InterruptRun(e.ctx, ledger.As(ann), stopped.ID, "x")
	e.ok(err)
	e.clock.advance(time.Second)
	_, worker := e.managed("handed")
	handoff := e.handOff(worker, "handed")
	var have []string
	for _, entry := range e.inbox(ledger.InboxFilter{WorkspaceID: space, TeamID: crew}) {
		have = append(have, string(entry.Kind)+" "+entry.Reason+" "+entry.AssignmentID+" "+entry.ID)
	}
	sameJSON(e, "entries", have, []string{
		"question question asking " + question.ID, "recovery stopped stopped " + stop.ID, "review handoff handed " + handoff.ID,
	})
	same(e, "of another team", len(e.inbox(ledger.InboxFilter{TeamID: "others"})), 0)
}

func inboxIgnored(e *env) {
	e.node()
	_, by := e.managed("one")
	e.handOff(by, "one")
	e.endTurn("thread-one", "turn-1")
	for n := 0; len(e.inbox(ledger.InboxFilter{})) != 1 || e.inbox(ledger.InboxFilter{})[0].Kind != models.InboxEscalation; n++ {
		if n > 10 {
			e.Fatalf("nobody was asked: %+v", e.inbox(ledger.InboxFilter{}))
		}
		plan, err := e.l.PlanTeam(e.ctx, crew)
		e.ok(err)
		for _, c := range plan.Commands {
			_, _, err := e.l.BeginCommand(e.ctx, c.ID, "test")
			e.ok(err)
			e.ok(e.l.FinishCommand(e.ctx, c.ID, "test", "done"))
		}
		e.clock.advance(61 * time.Second)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
	}
	entry := e.inbox(ledger.InboxFilter{})[0]
	same(e, "names the handoff", entry.Review != nil && entry.ID == entry.Review.Event.ID, true)
}

func inboxLostNode(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.clock.advance(models.NodeSilence)
	same(e, "a moment is no loss", len(e.inbox(ledger.InboxFilter{})), 0)
	e.clock.advance(time.Second)
	found := e.inbox(ledger.InboxFilter{})
	same(e, "entries", len(found), 1)
	same(e, "the node", found[0].Reason == models.ReasonLostNode && found[0].NodeID == "node-1", true)
	same(e, "of another team", len(e.inbox(ledger.InboxFilter{TeamID: "others"})), 0)
	e.ok(e.l.BeatNode(e.ctx, "node-1"))
	same(e, "back again", len(e.inbox(ledger.InboxFilter{})), 0)
	_, err := e.l.Stop(e.ctx, ledger.As(ann), ledger.StopFilter{TeamID: crew}, "x")
	e.ok(err)
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(ann), "one", nil, "x")
	e.ok(err)
	e.ok(e.l.EndRun(e.ctx, run.ID, "test"))
	e.clock.advance(time.Hour)
	same(e, "a silent node without work is at rest", len(e.inbox(ledger.InboxFilter{})), 0)
}

func inboxFailedAdapter(e *env) {
	e.node()
	fail := models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusUnavailable, Reason: "no program", Capabilities: map[string]bool{}}
	e.ok(e.l.RecordProbe(e.ctx, "node-1", fail))
	same(e, "nothing needs it", len(e.inbox(ledger.InboxFilter{})), 0)
	e.create("one")
	found := e.inbox(ledger.InboxFilter{})
	same(e, "entries", len(found), 1)
	same(e, "the adapter", found[0].Reason, models.ReasonFailedAdapter)
	fail.AdapterKind = models.AdapterKindCodex
	e.ok(e.l.RecordProbe(e.ctx, "node-1", fail))
	same(e, "an adapter that no team uses", len(e.inbox(ledger.InboxFilter{})), 1)
}

func inboxSettled(e *env) {
	e.node()
	_, worker := e.managed("handed")
	handoff := e.handOff(worker, "handed")
	asking, by := e.managed("asking")
	question := e.ask(by, asking.ID, "which?")
	same(e, "both", len(e.inbox(ledger.InboxFilter{})), 2)
	e.ok(e.answer(ann, question.ID, "that"))
	_, err := e.decide(ann, handoff.ID, models.DecisionAccept)
	e.ok(err)
	same(e, "none", len(e.inbox(ledger.InboxFilter{})), 0)
}

func inboxKinds(e *env) {
	for _, kind := range []string{"no_handoff", "turn_lost", "turn_failed", "run_stale", "start_failed", "delivery_failed", models.InterventionStopped, models.EventSecretRefused} {
		same(e, kind, models.QuestionKind(kind), models.InboxRecovery)
	}
	same(e, "an agent's own word", models.QuestionKind("design_choice"), models.InboxQuestion)
}

// proofs hold for one node, adapter, Codex version and profile.
func proofs(e *env) {
	e.node()
	e.ok(e.l.RecordProbe(e.ctx, "node-1", models.Probe{
		AdapterKind: models.AdapterKindCodex, Status: models.StatusActive, Capabilities: map[string]bool{},
		SandboxProved: true, SandboxDetail: "tried", ProofKey: "k1",
	}))
	proved := func(node, kind, key string) bool {
		_, ok := e.l.StoredProof(e.ctx, node, kind, key)
		return ok
	}
	same(e, "this one", proved("node-1", models.AdapterKindCodex, "k1"), true)
	same(e, "another version or profile", proved("node-1", models.AdapterKindCodex, "k2"), false)
	same(e, "no key", proved("node-1", models.AdapterKindCodex, ""), false)
	same(e, "another node", proved("node-2", models.AdapterKindCodex, "k1"), false)
	same(e, "another adapter", proved("node-1", models.AdapterKindFake, "k1"), false)
}

// Ready work for which no run is free says who has it, and when a person is waited for.
func statusCrowded(e *env) {
	e.node()
	run, by := e.managed("asking")
	_, _, err := e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{Enabled: true, AdapterKind: models.AdapterKindFake, MaxConcurrentRuns: 1})
	e.ok(err)
	e.create("next", func(n *models.NewAssignment) { n.AllowedPaths = []string{"elsewhere"} })
	deferred := func() []ledger.Deferred {
		_, err := e.l.PlanTeam(e.ctx, crew)
		e.ok(err)
		s, err := e.l.Status(e.ctx, ledger.Sight{})
		e.ok(err)
		return s.Deferred
	}
	const full = "capacity: all 1 runs of the team are taken by asking"
	sameJSON(e, "while it works", deferred(), []ledger.Deferred{{AssignmentID: "next", TeamID: crew, Reason: full}})
	question := e.ask(by, run.ID, "which?")
	sameJSON(e, "while it asks", deferred(), []ledger.Deferred{{AssignmentID: "next", TeamID: crew, Reason: full + "; asking waits for a person: cox inbox"}})
	e.ok(e.answer(ann, question.ID, "that"))
	sameJSON(e, "after the answer", deferred(), []ledger.Deferred{{AssignmentID: "next", TeamID: crew, Reason: full}})
}

// What a run raises for people is theirs until one settles it or a later one replaces it.
func inboxRaised(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	raise := func(id string, change func(*models.Attention)) string {
		ev, _, err := e.raise(agentA, c.Run.ID, id, attention(change))
		e.ok(err)
		return ev.ID
	}
	have := func() []string {
		ids := []string{}
		for _, entry := range e.inbox(ledger.InboxFilter{TeamID: crew}) {
			same(e, "kind", entry.Kind, models.InboxAttention)
			ids = append(ids, entry.ID)
		}
		return ids
	}
	first := raise("u-1", func(*models.Attention) {})
	raise("u-2", func(a *models.Attention) { a.DedupeKey, a.Level = "tests", models.AttentionGreen })
	raise("u-3", func(a *models.Attention) { a.DedupeKey, a.Target = "design", "integrator" })
	sameJSON(e, "yellow for people alone", have(), []string{first})
	second := raise("u-4", func(a *models.Attention) { a.WhyNow = "the limit is reached" })
	sameJSON(e, "the later one", have(), []string{second})
	_, err := e.l.SettleAttention(e.ctx, ledger.As(agentA), second, "")
	e.refused(models.CodeForbidden, err)
	settled, err := e.l.SettleAttention(e.ctx, ledger.As(ann), second, "looked")
	e.ok(err)
	sameJSON(e, "settled, and the earlier one stays away", have(), []string{})
	again, err := e.l.SettleAttention(e.ctx, ledger.As(ann), second, "looked")
	e.ok(err)
	same(e, "settled twice", again.ID, settled.ID)
	third := raise("u-5", func(*models.Attention) {})
	sameJSON(e, "raised again", have(), []string{third})
}
