package ledger

import (
	"context"
	"encoding/json"

	"coxswain/models"
)

// AttentionUpdate is what a run wants somebody to look at.
type AttentionUpdate struct {
	RunID          string
	ClientUpdateID string // the client's own id of this update
	models.Attention
}

// RaiseAttention records what somebody should look at and changes nothing else.
// Errors, in the order of their checks: FORBIDDEN, NOT_FOUND, FORBIDDEN
// (another's run), INVALID_ARGUMENT (the id), IDEMPOTENCY_CONFLICT,
// INVALID_ARGUMENT (the run is over, the attention itself), NOT_FOUND (a source
// event); SECRET_DETECTED before all of them.
func (l *Ledger) RaiseAttention(ctx context.Context, c *Call, u AttentionUpdate) (models.Event, error) {
	in := args{
		"run_id": u.RunID, "client_update_id": u.ClientUpdateID, "level": u.Level, "target": u.Target, "blocking": u.Blocking,
		"dedupe_key": u.DedupeKey, "reason_code": u.ReasonCode, "why_now": u.WhyNow, "recommended_action": u.RecommendedAction,
		"source_event_ids": u.SourceEventIDs,
	}
	return write(ctx, l, c, "raise_attention", in, func(tx *Tx) (models.Event, error) { return tx.raise(c, u) })
}

func (tx *Tx) raise(c *Call, u AttentionUpdate) (models.Event, error) {
	u.SourceEventIDs = list(u.SourceEventIDs)
	payload, err := object("attention", args{"client_update_id": u.ClientUpdateID, "attention": u.Attention})
	if err != nil {
		return models.Event{}, err
	}
	return tx.updateRun(c, u.RunID, models.EventAttentionRaised, u.ClientUpdateID, payload, func(r models.Run) error {
		if err := u.Check(); err != nil {
			return err
		}
		return tx.checkSources(r, u.SourceEventIDs)
	})
}

// checkSources refuses ids that name no event of the run's team.
func (tx *Tx) checkSources(r models.Run, ids []string) error {
	for i, id := range ids {
		_, found, err := find[models.Event](tx.db, "id = ? AND team_id = ?", id, r.TeamID)
		if err != nil {
			return err
		}
		if !found {
			return models.NotFound("event", id).With("field", "source_event_ids").With("index", i).Hint("cox run show %s", r.ID)
		}
	}
	return nil
}

// SettleAttention records that a person has looked at what a run raised, so that it is
// shown no more; a later one of the run with the same key is. Settling twice changes
// nothing. Errors: FORBIDDEN, NOT_FOUND.
func (l *Ledger) SettleAttention(ctx context.Context, c *Call, eventID, note string) (models.Event, error) {
	in := args{"event_id": eventID, "note": note}
	return write(ctx, l, c, "settle_attention", in, func(tx *Tx) (models.Event, error) { return tx.settleAttention(eventID, note) })
}

func (tx *Tx) settleAttention(eventID, note string) (models.Event, error) {
	var none models.Event
	if err := tx.needUnbound("settle attention", models.RoleHuman); err != nil {
		return none, err
	}
	raised, found, err := find[models.Event](tx.db, "id = ? AND type = ?", eventID, models.EventAttentionRaised)
	if err != nil {
		return none, err
	}
	if !found {
		return none, models.NotFound("attention", eventID).Hint("cox inbox")
	}
	done, found, err := find[models.Event](tx.db, "assignment_id = ? AND type = ? AND reviewed_event_id = ?", raised.AssignmentID, models.EventAttentionSettled, eventID)
	if err != nil || found {
		return done, err
	}
	return tx.append(models.Event{
		WorkspaceID: raised.WorkspaceID, TeamID: raised.TeamID, AssignmentID: raised.AssignmentID, RunID: raised.RunID,
		Type: models.EventAttentionSettled, ReviewedEventID: eventID, Payload: map[string]any{"note": note},
	})
}

// AttentionBoard is what one target should look at in a team.
type AttentionBoard struct {
	TeamID string                 `json:"team_id"`
	Target string                 `json:"target"`
	Counts models.AttentionCounts `json:"counts"` // hidden green items included
	Items  []models.AttentionItem `json:"items"`
	Digest models.AttentionDigest `json:"digest"`
}

// AttentionBoard lists what a target should look at in a team: open questions of
// the active runs for people, and what runs raised about work that is neither
// over nor blocked. An unknown target has no items. Errors: NOT_FOUND.
func (l *Ledger) AttentionBoard(ctx context.Context, teamID, target string, green bool) (AttentionBoard, error) {
	b := AttentionBoard{TeamID: teamID, Target: target, Items: []models.AttentionItem{}}
	team, err := l.Team(ctx, teamID)
	if err != nil {
		return b, err
	}
	b.Digest = models.DigestOf(team.Settings)
	asked, err := l.askedItems(ctx, teamID)
	if err != nil {
		return b, err
	}
	raised, err := l.raisedItems(ctx, teamID)
	if err != nil {
		return b, err
	}
	b.Counts, b.Items = models.ArrangeAttention(append(asked, raised...), target, green)
	return b, nil
}

// itemPlace is what an item says about where it belongs.
type itemPlace struct {
	EventID  string
	Sequence int64
	Title    string
	Owner    string
	Settled  bool
}

// places finds where the items of some events belong.
func (l *Ledger) places(ctx context.Context, condition string, values ...any) (map[string]itemPlace, error) {
	var rows []itemPlace
	err := l.read(ctx).Table("events AS e").
		Select("e.id AS event_id, e.sequence, COALESCE(a.title, '') AS title, COALESCE(r.actor_id, e.actor_id) AS owner, "+
			"EXISTS (SELECT 1 FROM events s WHERE s.assignment_id = e.assignment_id AND s.type = 'attention_settled' AND s.reviewed_event_id = e.id) AS settled").
		Joins("LEFT JOIN assignments a ON a.id = e.assignment_id").Joins("LEFT JOIN runs r ON r.id = e.run_id").
		Where(condition, values...).Scan(&rows).Error
	out := make(map[string]itemPlace, len(rows))
	for _, r := range rows {
		out[r.EventID] = r
	}
	return out, err
}

// askedItems are the open questions of a team that somebody still waits for.
func (l *Ledger) askedItems(ctx context.Context, teamID string) ([]models.AttentionItem, error) {
	var rows []models.Intervention
	err := l.read(ctx).Where("team_id = ? AND status = 'open'", teamID).
		Where(`(run_id = '' OR run_id IN (SELECT active_run_id FROM assignments WHERE team_id = ?))
		  AND NOT EXISTS (SELECT 1 FROM assignments a WHERE a.id = interventions.assignment_id AND a.status IN ?)`, teamID, models.QuietStatuses()).
		Order("created_at, id").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	at, err := l.places(ctx, "e.id IN (SELECT id FROM interventions WHERE team_id = ? AND status = 'open')", teamID)
	out := make([]models.AttentionItem, 0, len(rows))
	for _, q := range rows {
		place, known := at[q.ID]
		if !known {
			continue // answered between the two queries
		}
		item := models.RedItem(q)
		item.Sequence, item.Title, item.OwnerActorID = place.Sequence, place.Title, place.Owner
		out = append(out, item)
	}
	return out, err
}

// raisedItems are the items that runs of a team raised, in order.
func (l *Ledger) raisedItems(ctx context.Context, teamID string) ([]models.AttentionItem, error) {
	var rows []models.Event
	err := l.read(ctx).Where("team_id = ? AND type = 'attention_raised'", teamID).
		Where("assignment_id IN (SELECT id FROM assignments WHERE team_id = ? AND status NOT IN ?)", teamID, models.QuietStatuses()).
		Order("sequence").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	at, err := l.places(ctx, "e.team_id = ? AND e.type = 'attention_raised' AND a.status NOT IN ?", teamID, models.QuietStatuses())
	if err != nil {
		return nil, err
	}
	out := make([]models.AttentionItem, 0, len(rows))
	for _, e := range rows {
		place, known := at[e.ID]
		if !known {
			continue // its assignment ended between the two queries
		}
		item := models.AttentionItem{
			EventID: e.ID, Sequence: e.Sequence, RunID: e.RunID, OwnerActorID: place.Owner, WorkspaceID: e.WorkspaceID,
			AssignmentID: e.AssignmentID, Title: place.Title, CreatedAt: e.CreatedAt, Settled: place.Settled,
		}
		if item.Attention, err = attentionOf(e); err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

func attentionOf(e models.Event) (models.Attention, error) {
	var a models.Attention
	text, err := json.Marshal(e.Payload["attention"])
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}
