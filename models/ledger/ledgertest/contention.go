package ledgertest

import (
	"fmt"
	"strconv"
	"sync"

	"coxswain/models"
	"coxswain/models/ledger"
)

// rivals call at once in the tests of contention.
const rivals = 8

func contentionTests() map[string]func(*env) {
	return map[string]func(*env){
		"contention/one_claim_wins":            contendedClaims,
		"contention/one_decision_counts":       contendedDecisions,
		"contention/every_binding_key_is_kept": contendedBindings,
		"contention/one_handoff":               contendedHandoffs,
	}
}

// race calls a function from all rivals at once and returns their errors.
func race(call func(i int) error) []error {
	errs, ready := make([]error, rivals), make(chan struct{})
	var group sync.WaitGroup
	for i := range rivals {
		group.Go(func() {
			<-ready
			errs[i] = call(i)
		})
	}
	close(ready)
	group.Wait()
	return errs
}

// onlyOne demands one success and the given codes from all the others.
func (e *env) onlyOne(errs []error, codes ...models.Code) {
	e.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		known := false
		for _, c := range codes {
			known = known || models.IsCode(err, c)
		}
		if !known {
			e.Fatalf("an unexpected refusal: %v (%s)", err, models.CodeOf(err))
		}
	}
	same(e, "successes", won, 1)
}

func contendedClaims(e *env) {
	e.create("one")
	e.onlyOne(race(func(i int) error {
		by := models.Principal{ActorID: fmt.Sprintf("worker-%d", i), Role: models.RoleAgent}
		_, err := e.l.ClaimAssignment(e.ctx, ledger.As(by), ledger.ClaimRequest{AssignmentID: "one", Base: new(1)})
		return err
	}), models.CodeStaleRevision, models.CodeLeaseConflict)
	runs, err := e.l.Runs(e.ctx, ledger.RunFilter{})
	e.ok(err)
	same(e, "runs", len(runs), 1)
	same(e, "revision", e.assignment("one").Revision, 2)
}

func contendedDecisions(e *env) {
	_, handoff := e.handedOff("one")
	verdicts := []models.Decision{models.DecisionAccept, models.DecisionReject, models.DecisionNeedsFix}
	e.onlyOne(race(func(i int) error {
		by := models.Principal{ActorID: fmt.Sprintf("human:%d", i), Role: models.RoleHuman}
		_, err := e.decide(by, handoff.ID, verdicts[i%len(verdicts)])
		return err
	}), models.CodeStaleRevision)
	same(e, "decisions", len(e.events("one", models.EventIntegratorReview)), 1)
}

func contendedBindings(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	for _, err := range race(func(i int) error {
		_, err := e.l.RecordRunBinding(e.ctx, ledger.As(agentA), c.Run.ID, map[string]any{"keys": map[string]any{strconv.Itoa(i): i}}, nil)
		return err
	}) {
		e.ok(err)
	}
	same(e, "keys", len(e.run(c.Run.ID).Metadata["keys"].(map[string]any)), rivals)
}

func contendedHandoffs(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	e.onlyOne(race(func(int) error { _, err := e.tryHandOff(agentA, "one"); return err }), models.CodeInvalidArgument)
	same(e, "pending", len(e.pending()), 1)
}
