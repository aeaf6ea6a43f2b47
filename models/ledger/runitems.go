package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"

	"coxswain/models"
)

// MaxRunItems is how many items of a run are kept, the newest ones.
const MaxRunItems = 1000

// SeenItem is a finished item as its host reports it.
type SeenItem struct {
	ID       string
	TurnID   string
	Type     string
	Status   string
	ClientID string // of a user message
	Text     string
	At       time.Time // when it was reported; zero is now
}

// RecordItems records items of a thread's turns that nobody observed when they
// were finished. Known ones stay as they are.
func (l *Ledger) RecordItems(ctx context.Context, threadID string, seen []SeenItem) error {
	if len(seen) == 0 {
		return nil
	}
	lines := summaries(seen)
	return l.onThread(ctx, normal, threadID, func(tx *Tx, b models.Binding) error {
		run, err := tx.runOf(b)
		if err != nil {
			return err
		}
		return tx.keepItems(run.ID, lines)
	})
}

// summaries make the stored lines of items. They are made before the transaction,
// since looking for secrets takes its time.
func summaries(seen []SeenItem) []models.RunItem {
	out := make([]models.RunItem, 0, len(seen))
	for _, s := range seen {
		out = append(out, models.RunItem{TurnID: s.TurnID, ItemID: s.ID, Type: s.Type, Status: s.Status, Summary: summary(s), CreatedAt: s.At})
	}
	return out
}

// summary is one line of an item. A text in which a secret is detected is
// withheld whole, and so is what the thread was sent: that is in the outbox.
func summary(s SeenItem) string {
	if s.ClientID != "" {
		return s.ClientID
	}
	text, err := json.Marshal(map[string]string{"summary": s.Text})
	if err != nil {
		return "(withheld: it is no text)"
	}
	if err := checkSecrets(text); err != nil {
		rule := ""
		if e, ok := errors.AsType[*models.Error](err); ok {
			rule, _ = e.Details["rule"].(string)
		}
		return strings.TrimSpace("(withheld: it looks like a secret " + rule + ")")
	}
	return oneLine(s.Text, models.MaxItemSummary)
}

// oneLine joins the words of a text and cuts it after a number of characters.
func oneLine(text string, limit int) string {
	joined := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if letters := []rune(joined); len(letters) > limit {
		return string(letters[:limit-1]) + "…"
	}
	return joined
}

// keepItems stores the lines of a run and lets its oldest ones go.
func (tx *Tx) keepItems(runID string, lines []models.RunItem) error {
	if runID == "" || len(lines) == 0 {
		return nil
	}
	for _, line := range lines {
		at := line.CreatedAt
		if at.IsZero() {
			at = tx.Now
		}
		err := tx.db.Exec(`INSERT INTO run_items (run_id, turn_id, item_id, type, status, summary, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		  ON CONFLICT (turn_id, item_id) DO NOTHING`, runID, line.TurnID, line.ItemID, line.Type, line.Status, line.Summary, at.UnixMilli()).Error
		if err != nil {
			return err
		}
	}
	return tx.db.Exec(`DELETE FROM run_items WHERE run_id = ? AND sequence <= (
	  SELECT sequence FROM run_items WHERE run_id = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?)`, runID, runID, MaxRunItems).Error
}

// RunItems lists the kept items of a run, oldest first.
func (l *Ledger) RunItems(ctx context.Context, runID string) ([]models.RunItem, error) {
	rows := []models.RunItem{}
	return rows, l.read(ctx).Where("run_id = ?", runID).Order("sequence").Find(&rows).Error
}
