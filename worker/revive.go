package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// Figures of the look at the workflows that have to be alive.
const (
	reviveEvery = 10 * time.Second // between two looks at a page of them
	revivePage  = 100
	lastRevival = 10 * time.Minute // a workflow that does not stay alive is brought back ever more seldom, up to this
	jamRevivals = 3                // so many in vain, and somebody is told
)

// reviver finds workflows that are missing: terminated by hand, failed, or lost. It
// asks for each by its id, which writes no history, and lets the relay start those
// that are gone.
type reviver struct {
	ledger *ledger.Ledger
	front  workflows.Front
	log    *slog.Logger
	after  string // the last workflow that was looked at
	back   map[string]revival
}

// revival is a workflow that was brought back.
type revival struct {
	times int
	next  time.Time // it is left alone until then
}

func newReviver(l *ledger.Ledger, c client.Client, log *slog.Logger) *reviver {
	return &reviver{ledger: l, front: workflows.Front{Client: c, Prefix: l.Prefix()}, log: log, back: map[string]revival{}}
}

func (r *reviver) run(ctx context.Context) error {
	return every(ctx, reviveEvery, func() {
		if err := r.look(ctx, time.Now()); err != nil && ctx.Err() == nil && !models.IsCode(err, models.CodeEngineUnavailable) {
			r.log.Warn("the workflows that have to be alive were not looked at", "error", err)
		}
	})
}

// look asks the engine for the next page. It ends where the engine does not answer,
// which the relay notices and tells.
func (r *reviver) look(ctx context.Context, now time.Time) error {
	page, err := r.ledger.LivingWorkflows(ctx, r.after, revivePage)
	if err != nil {
		return err
	}
	for _, w := range page {
		if err := r.lookAt(ctx, w, now); err != nil {
			return err
		}
		r.after = w.WorkflowID
	}
	if len(page) < revivePage {
		r.after = ""
	}
	return nil
}

func (r *reviver) lookAt(ctx context.Context, w ledger.Living, now time.Time) error {
	was := r.back[w.WorkflowID]
	if now.Before(was.next) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	d, err := r.front.Describe(ctx, w.WorkflowID)
	if err != nil && !models.IsCode(err, models.CodeNotFound) {
		return err
	}
	if err == nil && d.Running() {
		delete(r.back, w.WorkflowID)
		return nil
	}
	state := "unknown to Temporal"
	if err == nil {
		state = d.Status
	}
	revived, err := r.ledger.Revive(ctx, w)
	if err != nil || !revived {
		return err
	}
	r.log.Warn("a workflow is missing and is started again", "workflow", w.WorkflowID, "state", state)
	was.times++
	was.next = now.Add(min(reviveEvery<<min(was.times, 10), lastRevival))
	r.back[w.WorkflowID] = was
	if was.times < jamRevivals {
		return nil
	}
	return r.ledger.NoteJam(ctx, w.WorkflowID, fmt.Sprintf("it does not stay alive, its last run is %s; the log of the worker says why", state))
}
