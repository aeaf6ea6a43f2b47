package ledger

import (
	"context"

	"coxswain/models"
)

// BriefUpdate is a run's new brief for people.
type BriefUpdate struct {
	RunID          string
	ClientUpdateID string         // the client's own id of this update
	SourceSequence int64          // the last event of the run that the brief takes into account
	Brief          map[string]any // see models.CheckBrief
}

// CheckpointRun records a brief of a live run and changes nothing else. The
// source must not be older than the last brief's. Errors, in the order of their
// checks: FORBIDDEN, NOT_FOUND, FORBIDDEN (another's run), INVALID_ARGUMENT (the
// id), IDEMPOTENCY_CONFLICT, INVALID_ARGUMENT (the run is over, the brief, its
// source); SECRET_DETECTED before all of them.
func (l *Ledger) CheckpointRun(ctx context.Context, c *Call, u BriefUpdate) (models.Event, error) {
	in := args{"run_id": u.RunID, "client_update_id": u.ClientUpdateID, "source_event_sequence": u.SourceSequence, "brief": u.Brief}
	return write(ctx, l, c, "checkpoint_run", in, func(tx *Tx) (models.Event, error) { return tx.checkpoint(c, u) })
}

func (tx *Tx) checkpoint(c *Call, u BriefUpdate) (models.Event, error) {
	brief, err := object("brief", u.Brief)
	if err != nil {
		return models.Event{}, err
	}
	payload := map[string]any{"client_update_id": u.ClientUpdateID, "source_event_sequence": u.SourceSequence, "brief": brief}
	return tx.updateRun(c, u.RunID, models.EventHumanBriefUpdated, u.ClientUpdateID, payload, func(r models.Run) error {
		if err := models.CheckBrief(brief); err != nil {
			return err
		}
		return tx.checkSource(r, u.SourceSequence)
	})
}

// checkSource refuses a source that is no event of the run, or an older one than
// the last brief had.
func (tx *Tx) checkSource(r models.Run, sequence int64) error {
	const field = "source_event_sequence"
	if sequence < 1 {
		return models.Invalid(field, "must be 1 or more")
	}
	_, found, err := find[models.Event](tx.db, "sequence = ? AND run_id = ?", sequence, r.ID)
	if err != nil {
		return err
	}
	if !found {
		return models.Invalid(field, "%d is no event of run %q", sequence, r.ID).Hint("cox run show %s", r.ID)
	}
	last, err := lastEvent(tx.db, "run_id = ? AND type = ?", r.ID, models.EventHumanBriefUpdated)
	if before := briefSource(last); err == nil && sequence < before {
		err = models.Invalid(field, "%d is older than the last brief's, %d", sequence, before).Hint("cox run show %s", r.ID).With("source_event_sequence", before)
	}
	return err
}

// briefSource reads the source of a brief's event, 0 without one.
func briefSource(e models.Event) int64 {
	n, _ := e.Payload["source_event_sequence"].(float64)
	return int64(n)
}

// HumanBrief returns the newest brief of a run and judges its freshness by the
// team's window. A run without a brief is BriefMissing. Errors: NOT_FOUND.
func (l *Ledger) HumanBrief(ctx context.Context, runID string) (models.HumanBrief, error) {
	r, err := l.Run(ctx, runID)
	if err != nil {
		return models.HumanBrief{}, err
	}
	team, err := l.Team(ctx, r.TeamID)
	if err != nil {
		return models.HumanBrief{}, err
	}
	b := models.HumanBrief{RunID: r.ID, AssignmentID: r.AssignmentID}
	update, err := lastEvent(l.read(ctx), "run_id = ? AND type = ?", runID, models.EventHumanBriefUpdated)
	if err != nil {
		return b, err
	}
	if update.ID != "" {
		b.Brief, _ = update.Payload["brief"].(map[string]any)
		b.ClientUpdateID, _ = update.Payload["client_update_id"].(string)
		b.SourceEventSequence, b.UpdatedAt = briefSource(update), &update.CreatedAt
	}
	latest, err := lastEvent(l.read(ctx), "run_id = ? AND type <> ?", runID, models.EventHumanBriefUpdated)
	b.LatestEventSequence = latest.Sequence
	b.Judge(l.Now(), models.FreshnessWindow(team.Settings))
	return b, err
}
