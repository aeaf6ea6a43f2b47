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
	Title            string
	Owner            string
	AssignmentStatus models.AssignmentStatus
	Sequence         int64
}

// askedItems are the open questions of a team that somebody still waits for.
func (l *Ledger) askedItems(ctx context.Context, teamID string) ([]models.AttentionItem, error) {
	var rows []struct {
		models.Intervention `gorm:"embedded"`
		itemPlace           `gorm:"embedded"`
	}
	err := l.read(ctx).Raw(`SELECT i.*, e.sequence, COALESCE(a.title, '') AS title, COALESCE(a.status, '') AS assignment_status,
	    COALESCE(r.actor_id, i.requested_by) AS owner
	  FROM interventions i JOIN events e ON e.id = i.id
	  LEFT JOIN assignments a ON a.id = i.assignment_id LEFT JOIN runs r ON r.id = i.run_id
	  WHERE i.team_id = ? AND i.status = 'open' AND (i.run_id = '' OR a.active_run_id = i.run_id) ORDER BY e.sequence`, teamID).Scan(&rows).Error
	out := make([]models.AttentionItem, 0, len(rows))
	for _, r := range rows {
		if !r.AssignmentStatus.ShowsAttention() {
			continue
		}
		item := models.RedItem(r.Intervention)
		item.Sequence, item.Title, item.OwnerActorID = r.Sequence, r.Title, r.Owner
		out = append(out, item)
	}
	return out, err
}

// raisedItems are the items that runs of a team raised, in order.
func (l *Ledger) raisedItems(ctx context.Context, teamID string) ([]models.AttentionItem, error) {
	var rows []struct {
		models.Event `gorm:"embedded"`
		Title        string
		Owner        string
		WorkStatus   models.AssignmentStatus
	}
	err := l.read(ctx).Raw(`SELECT e.*, a.title, a.status AS work_status, r.actor_id AS owner
	  FROM events e JOIN assignments a ON a.id = e.assignment_id JOIN runs r ON r.id = e.run_id
	  WHERE e.team_id = ? AND e.type = 'attention_raised' ORDER BY e.sequence`, teamID).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	out := make([]models.AttentionItem, 0, len(rows))
	for _, r := range rows {
		if !r.WorkStatus.ShowsAttention() {
			continue
		}
		item := models.AttentionItem{
			EventID: r.ID, Sequence: r.Sequence, RunID: r.RunID, OwnerActorID: r.Owner, WorkspaceID: r.WorkspaceID,
			AssignmentID: r.AssignmentID, Title: r.Title, CreatedAt: r.CreatedAt,
		}
		if item.Attention, err = attentionOf(r.Event); err != nil {
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
