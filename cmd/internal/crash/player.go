package crash

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

// player is the person of a world: it answers every question and calls assignments
// off in the middle of a turn. A command that fails is repeated at the next look, as
// a person would.
type player struct {
	w        *World
	answered map[string]bool
	called   map[string]bool // off
	refused  error           // the last command that failed
}

func newPlayer(w *World) *player {
	return &player{w: w, answered: map[string]bool{}, called: map[string]bool{}}
}

// look does what there is to do for a person now.
func (p *player) look(ctx context.Context) error {
	open, err := p.w.ledger.Interventions(ctx, ledger.InterventionFilter{TeamID: teamID, Status: "open"})
	if err != nil {
		return err
	}
	for _, q := range open {
		if !p.answered[q.ID] && roleOf(q.AssignmentID) != cancelled {
			p.answered[q.ID] = p.does(ctx, "intervention", "respond", "--response", "Yes, go on.", q.ID)
		}
	}
	list, err := p.w.ledger.Assignments(ctx, ledger.AssignmentFilter{TeamID: teamID})
	for _, a := range list {
		works := a.Status == models.AssignmentRunning || a.Status == models.AssignmentAwaitingHuman // its heartbeat came, its turn hangs
		if roleOf(a.ID) == cancelled && works && !p.called[a.ID] {
			p.called[a.ID] = p.does(ctx, "assignment", "cancel", "--reason", "no longer wanted", a.ID)
		}
	}
	return err
}

// does runs a command and tells whether it succeeded.
func (p *player) does(ctx context.Context, args ...string) bool {
	err := p.w.cox(ctx, commandMax, args...)
	if err != nil {
		p.refused = err
	}
	return err == nil
}
