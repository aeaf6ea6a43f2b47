package worker

import (
	"context"
	"time"
)

// poll evaluates the plan of each team at its own interval and wakes its loop
// only when the pass would not be empty. Loops whose owner has ended go off.
func poll(ctx context.Context, o Options) error {
	l, log := o.Ledger, o.Log
	next := map[string]time.Time{}
	return every(ctx, time.Second, func() {
		if err := releaseLoops(ctx, l, o.StateDir, log); err != nil && ctx.Err() == nil {
			log.Warn("the loops of ended commands were not turned off", "error", err)
		}
		teams, err := l.PollableTeams(ctx)
		for _, t := range teams {
			if time.Now().Before(next[t.ID]) {
				continue
			}
			next[t.ID] = time.Now().Add(time.Duration(max(t.Loop.PollIntervalSeconds, 1)) * time.Second)
			plan, previewErr := l.PreviewTeam(ctx, t.ID)
			if previewErr == nil && !plan.Empty() {
				previewErr = l.WakeTeam(ctx, t.WorkspaceID, t.ID)
			}
			if previewErr != nil {
				err = previewErr
			}
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("a team's plan was not evaluated", "error", err)
		}
	})
}
