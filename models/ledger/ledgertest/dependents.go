package ledgertest

import (
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

// dependentTests are about work that waits for work that ends in another way than
// by being accepted.
func dependentTests() map[string]func(*env) {
	return map[string]func(*env){
		"dependents/wait_for_the_heir":             waitForHeir,
		"dependents/heir_may_not_wait_for_its_own": heirWaits,
		"dependents/are_told_of_a_vain_wait":       vainWait,
		"dependents/vain_wait_is_in_the_inbox":     vainWaitInbox,
		"dependents/reason_goes_with_its_cause":    reasonGoes,
	}
}

func after(on ...string) func(*models.NewAssignment) {
	return func(n *models.NewAssignment) { n.DependsOn, n.AllowedPaths = on, []string{n.ID} }
}

func (e *env) supersede(id, by string) error {
	_, err := e.l.SupersedeAssignment(e.ctx, ledger.As(boss), id, by, nil, "split differently")
	return err
}

// accept runs an assignment by hand to its acceptance.
func (e *env) accept(id string) {
	e.Helper()
	e.claim(agentA, id)
	_, err := e.decide(boss, e.handOff(agentA, id).ID, models.DecisionAccept)
	e.ok(err)
}

func (e *env) waitsFor(id string) string {
	e.Helper()
	refusal := e.unchanged(id, models.CodeDependencyBlocked, func() error { _, err := e.tryClaim(agentB, id); return err })
	waits, _ := refusal.Details["waits_for"].([]string)
	return strings.Join(waits, " ")
}

func waitForHeir(e *env) {
	e.create("one")
	e.create("two", after("one"))
	e.create("heir")
	e.create("last")
	e.woken()
	e.ok(e.supersede("one", "heir"))
	same(e, "the dependents' loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	same(e, "waits for the heir", e.waitsFor("two"), "heir")
	e.ok(e.supersede("heir", "last"))
	same(e, "waits for the heir's heir", e.waitsFor("two"), "last")
	e.accept("last")
	e.claim(agentB, "two")
}

func heirWaits(e *env) {
	e.create("one")
	e.create("two", after("one"))
	e.create("three", after("two"))
	cycle := e.unchanged("one", models.CodeDependencyCycle, func() error { return e.supersede("one", "three") })
	sameJSON(e, "path", cycle.Details["path"], []string{"one", "three", "two", "one"})
	e.create("heir")
	e.ok(e.supersede("one", "heir"))
	e.unchanged("heir", models.CodeDependencyCycle, func() error { return e.supersede("heir", "two") })
	e.accept("heir")
	e.claim(agentB, "two")
}

func vainWait(e *env) {
	e.node()
	e.create("one", after())
	e.create("two", after("one"))
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, "no")
	e.ok(err)
	refusal := e.unchanged("two", models.CodeDependencyBlocked, func() error { _, err := e.tryClaim(agentB, "two"); return err })
	same(e, "names the way out", strings.Contains(refusal.Next, "cox assignment edit --remove-depends-on one two"), true)
	_, err = e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	status, err := e.l.Status(e.ctx, ledger.Sight{})
	e.ok(err)
	same(e, "deferred", len(status.Deferred), 1)
	for _, part := range []string{"one (cancelled)", "next: cox assignment edit --remove-depends-on one two"} {
		same(e, "a person reads "+part, strings.Contains(status.Deferred[0].Reason, part), true)
	}
}

func vainWaitInbox(e *env) {
	e.create("one", after())
	e.create("two", after("one"))
	e.create("heir", after())
	e.ok(e.supersede("one", "heir"))
	same(e, "entries while the heir is ahead", len(e.inbox(ledger.InboxFilter{})), 0)
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "heir", nil, "no")
	e.ok(err)
	found := e.inbox(ledger.InboxFilter{TeamID: crew})
	same(e, "entries", len(found), 1)
	same(e, "what", found[0].Reason == models.ReasonVainWait && found[0].ID == "two" && found[0].DependencyID == "one", true)
	same(e, "who ended", found[0].Summary, "two waits for heir, which is cancelled")
	same(e, "of another team", len(e.inbox(ledger.InboxFilter{TeamID: "others"})), 0)
	_, err = e.edit("two", nil, models.AssignmentPatch{RemoveDependsOn: []string{"one"}})
	e.ok(err)
	same(e, "entries after the edit", len(e.inbox(ledger.InboxFilter{})), 0)
	e.claim(agentB, "two")
}

func reasonGoes(e *env) {
	e.node()
	e.create("one", after())
	e.create("two", after("one"))
	plan := func() {
		_, err := e.l.PlanTeam(e.ctx, crew)
		e.ok(err)
	}
	_, _, err := e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{AdapterKind: models.AdapterKindFake})
	e.ok(err)
	plan()
	same(e, "while it waits", strings.Contains(e.assignment("two").DeferredReason, "waits for one"), true)
	e.accept("one")
	plan()
	same(e, "when it waits for its turn only", e.assignment("two").DeferredReason, "")
}
