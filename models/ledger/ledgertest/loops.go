package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

func loopTests() map[string]func(*env) {
	return map[string]func(*env){"loop/goes_off_with_its_owner": loopOwner}
}

func loopOwner(e *env) {
	set := func(s models.LoopSettings) {
		_, _, err := e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, s)
		e.ok(err)
	}
	release := func(owner string) bool {
		off, err := e.l.ReleaseLoop(e.ctx, crew, owner)
		e.ok(err)
		return off
	}
	loop := func() models.LoopSettings {
		t, err := e.l.Team(e.ctx, crew)
		e.ok(err)
		return t.Loop
	}
	set(models.LoopSettings{Enabled: true, Owner: "node-1/a", MaxConcurrentRuns: 5})
	same(e, "another owner's end", release("node-1/b"), false)
	same(e, "still on", loop().Enabled, true)
	e.woken()
	same(e, "its own end", release("node-1/a"), true)
	same(e, "off, and nobody's", loop().Enabled || loop().Owner != "", false)
	same(e, "the settings stay", loop().MaxConcurrentRuns, 5)
	same(e, "the loop is woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	same(e, "once only", release("node-1/a"), false)
	set(models.LoopSettings{Enabled: true})
	same(e, "without an owner it stays on", release(""), false)
	same(e, "still on", loop().Enabled, true)
}
