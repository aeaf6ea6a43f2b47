package cli

import (
	"context"
	"fmt"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// subjects are what a change has queued work for.
type subjects struct{ assignments, teams []string }

// queues notes assignments that the change of this command asks a loop or a node to
// take up. The answer then says what of them nobody takes up now, and why.
func (in *call) queues(assignments ...string) {
	in.queued.assignments = append(in.queued.assignments, assignments...)
}

// queuesTeams is queues for everything that the teams could start.
func (in *call) queuesTeams(teams ...string) {
	in.queued.teams = append(in.queued.teams, teams...)
}

// idle is what the change queued and nobody takes up. The change stands whatever this
// finds.
func (in *call) idle(ctx context.Context) []models.Idle {
	q := in.queued
	if !in.mutates || in.opened == nil || len(q.assignments)+len(q.teams) == 0 {
		return nil
	}
	sight, err := in.sight()
	var found []models.Idle
	if err == nil {
		found, err = in.opened.Idle(ctx, sight, q.assignments, q.teams)
	}
	if err != nil {
		in.log().Warn("the change is made; whether somebody takes it up cannot be read", "error", err)
		return nil
	}
	for i := range found {
		found[i].Next = in.nexts(found[i].Next)
	}
	return found
}

// sight is what this command sees of its own host.
func (in *call) sight() (ledger.Sight, error) {
	paths, err := in.paths()
	if err != nil {
		return ledger.Sight{}, err
	}
	_, running := worker.Running(paths.StateDir)
	return ledger.Sight{NodeID: ledger.LocalNodeID(paths.StateDir), Working: running}, nil
}

// idleLine is one line for people about what is queued.
func idleLine(i models.Idle) string {
	const shown = 3
	names := strings.Join(i.AssignmentIDs[:min(shown, len(i.AssignmentIDs))], ", ")
	if more := i.Count - min(shown, len(i.AssignmentIDs)); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	line := names + ": queued; " + i.Reason
	if i.Next != "" {
		line += ". Next: " + i.Next
	}
	return line
}
