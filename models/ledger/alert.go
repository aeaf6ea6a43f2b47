package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"

	"coxswain/models"
)

// noticeItems is how many alerts a notice lists; it counts them all.
const noticeItems = 20

// LatchAlerts compares what people of a node should know with what they were told, and
// writes the changes with the notices that tell them. It returns how many notices it
// wrote; while nothing changes it writes nothing.
func (l *Ledger) LatchAlerts(ctx context.Context, nodeID string) (int, error) {
	now, err := l.alertFacts(ctx, nodeID)
	if err != nil {
		return 0, err
	}
	var up []models.Alert
	if err := l.read(ctx).Where("node_id = ? AND cleared_at IS NULL", nodeID).Find(&up).Error; err != nil {
		return 0, err
	}
	if rise, end := models.Latch(up, now); len(rise)+len(end) == 0 {
		return 0, nil
	}
	written := 0
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		written, err = tx.latch(nodeID, now)
		return err
	})
	return written, err
}

func (tx *Tx) latch(nodeID string, now []models.AlertFact) (written int, err error) {
	var up []models.Alert
	if err := tx.db.Where("node_id = ? AND cleared_at IS NULL", nodeID).Order("raised_at, id").Find(&up).Error; err != nil {
		return 0, err
	}
	rise, end := models.Latch(up, now)
	for _, f := range rise {
		err = errors.Join(err, tx.insert(&models.Alert{ID: newID("alr"), NodeID: nodeID, Kind: f.Kind, Subject: f.Subject, Summary: f.Summary, RaisedAt: tx.Now}))
	}
	for _, a := range end {
		_, endErr := tx.swap(&models.Alert{}, map[string]any{"cleared_at": tx.ms()}, "id = ?", a.ID)
		err = errors.Join(err, endErr)
	}
	if err != nil {
		return 0, err
	}
	for _, kind := range models.AlertKinds() {
		n, err := tx.notify(nodeID, kind, up, rise, end, now)
		if err != nil {
			return 0, err
		}
		written += n
	}
	return written, nil
}

// notify writes the notices of one kind: of what rose, and of the end of the last one.
func (tx *Tx) notify(nodeID string, kind models.AlertKind, up []models.Alert, rise []models.AlertFact, end []models.Alert, now []models.AlertFact) (int, error) {
	var risen []models.AlertFact
	for _, f := range rise {
		if f.Kind == kind {
			risen = append(risen, f)
		}
	}
	open := 0
	for _, f := range now {
		if f.Kind == kind {
			open++
		}
	}
	ended := slices.ContainsFunc(end, func(a models.Alert) bool { return a.Kind == kind })
	switch {
	case len(risen) > 0:
		return 1, tx.notice(nodeID, kind, models.NoticeRaised, risen, open)
	case ended && open == 0 && kind.Recovers():
		var was []models.AlertFact
		for _, a := range up {
			if a.Kind == kind {
				was = append(was, models.AlertFact{Kind: kind, Subject: a.Subject, Summary: a.Summary})
			}
		}
		return 1, tx.notice(nodeID, kind, models.NoticeCleared, was, 0)
	}
	return 0, nil
}

func (tx *Tx) notice(nodeID string, kind models.AlertKind, change string, about []models.AlertFact, open int) error {
	items, summaries := []map[string]any{}, []string{}
	for _, f := range about {
		summaries = append(summaries, f.Summary)
		if len(items) < noticeItems {
			items = append(items, map[string]any{"subject": f.Subject, "summary": f.Summary})
		}
	}
	id := newID("ntc")
	payload := map[string]any{
		"id": id, "kind": string(kind), "change": change, "summary": models.NoticeSummary(kind, change, summaries),
		"count": len(about), "open": open, "items": items, "node_id": nodeID, "ledger": tx.l.store.name(), "at": tx.Now,
	}
	return tx.insert(&models.Notice{
		ID: id, NodeID: nodeID, Kind: kind, Change: change, Payload: payload, State: "pending", CreatedAt: tx.Now,
	})
}

// NextNotice hands the oldest notice that was not told to its one teller. One that is
// running already was begun by a worker that died: it is told again under the same id,
// with its attempt. found is false when there is none.
func (l *Ledger) NextNotice(ctx context.Context, nodeID string) (n models.Notice, found bool, err error) {
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		var rows []models.Notice
		err := tx.db.Where("node_id = ? AND state IN ('pending','running')", nodeID).Order("created_at, id").Limit(1).Find(&rows).Error
		if found = len(rows) > 0; err != nil || !found {
			return err
		}
		n = rows[0]
		n.State, n.Attempts = "running", n.Attempts+1
		_, err = tx.swap(&models.Notice{}, map[string]any{"state": n.State, "attempts": n.Attempts}, "id = ?", n.ID)
		return err
	})
	return n, found && err == nil, err
}

// EndNotice records that the command told a notice, or how it failed ("" for not). It
// is not tried again: the next change is.
func (l *Ledger) EndNotice(ctx context.Context, id, failure string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		state := "done"
		if failure != "" {
			state = "failed"
		}
		_, err := tx.swap(&models.Notice{}, map[string]any{"state": state, "error": failure, "ended_at": tx.ms()}, "id = ? AND state = 'running'", id)
		return err
	})
}

// LastNotice is the newest notice of a node that was told or failed.
func (l *Ledger) LastNotice(ctx context.Context, nodeID string) (n models.Notice, found bool, err error) {
	var rows []models.Notice
	err = l.read(ctx).Where("node_id = ? AND ended_at IS NOT NULL", nodeID).Order("created_at DESC, id DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return n, false, err
	}
	return rows[0], true, nil
}

// alertFacts are the conditions that hold now for the workspaces of a node.
func (l *Ledger) alertFacts(ctx context.Context, nodeID string) ([]models.AlertFact, error) {
	var teams []models.Team
	err := l.read(ctx).Where("status = 'active' AND workspace_id IN (SELECT id FROM workspaces WHERE node_id = ? AND status = 'active')", nodeID).Order("id").Find(&teams).Error
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{"": true}
	for _, t := range teams {
		ours[t.ID] = true
	}
	out, err := l.peopleFacts(ctx, nodeID, ours)
	if err != nil {
		return nil, err
	}
	for _, t := range teams {
		ended, err := l.TeamEnded(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		if ended {
			out = append(out, models.AlertFact{Kind: models.AlertAllDone, Subject: t.ID, Summary: "all work of team " + t.ID + " has ended"})
		}
	}
	limits, err := l.limitFacts(ctx, nodeID)
	return append(out, limits...), err
}

// peopleFacts are the entries of the inbox; those that ask what to do after failures
// are parked work besides.
func (l *Ledger) peopleFacts(ctx context.Context, nodeID string, ours map[string]bool) ([]models.AlertFact, error) {
	entries, err := l.Inbox(ctx, InboxFilter{})
	if err != nil {
		return nil, err
	}
	var out []models.AlertFact
	for _, e := range entries {
		if !ours[e.TeamID] || e.TeamID == "" && e.NodeID != nodeID {
			continue
		}
		about := first(e.AssignmentID, e.NodeID, e.TeamID)
		summary := string(e.Kind) + " " + about + ": " + clip(e.Summary)
		out = append(out, models.AlertFact{Kind: models.AlertNeedsYou, Subject: e.ID, Summary: summary})
		gaveUp := e.AssignmentID != "" || e.Reason == models.AskBreaker // the latter also for a whole team
		if e.Kind == models.InboxRecovery && gaveUp && e.Reason != models.InterventionStopped {
			out = append(out, models.AlertFact{Kind: models.AlertParked, Subject: e.ID, Summary: about + " is parked: " + clip(e.Summary)})
		}
	}
	return out, nil
}

// limitFacts tells which accounts of the node are held until their usage limit is
// reset, by adapter.
func (l *Ledger) limitFacts(ctx context.Context, nodeID string) ([]models.AlertFact, error) {
	var rows []account
	err := l.read(ctx).Where("node_id = ? AND held_until > ?", nodeID, l.Now().UnixMilli()).Order("id").Find(&rows).Error
	out := make([]models.AlertFact, 0, len(rows))
	for _, a := range rows {
		kind := strings.TrimPrefix(a.ID, accountID(nodeID, ""))
		out = append(out, models.AlertFact{
			Kind: models.AlertLimitHit, Subject: kind, Summary: "the usage limit of " + kind + " holds work back until " + a.HeldUntil.UTC().Format("2006-01-02 15:04Z"),
		})
	}
	return out, err
}

// clip is a text on one line that fits into a notice.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const limit = 300
	if letters := []rune(text); len(letters) > limit {
		return string(letters[:limit-1]) + "…"
	}
	return text
}
