package ledger

import (
	"context"
	"encoding/json"
	"errors"

	"coxswain/models"
)

func configKey(nodeID string) string { return "config:" + nodeID }

// ConfigureNode takes over what a running worker read from its configuration file: the
// cap on the node's runs, and its note on the file. The node's loops look again.
func (l *Ledger) ConfigureNode(ctx context.Context, nodeID string, maxRuns int, note models.ConfigNote) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		node, err := get[models.Node](tx.db, "node", nodeID)
		if err != nil {
			return err
		}
		note.Since = tx.Now
		text, err := jsonText(note)
		if err != nil {
			return err
		}
		err = tx.db.Exec("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", configKey(nodeID), text).Error
		if err != nil || node.MaxRuns == maxRuns {
			return err
		}
		_, err = tx.swap(&models.Node{}, map[string]any{"max_runs": maxRuns, "updated_at": tx.ms()}, "id = ?", nodeID)
		return errors.Join(err, tx.wakeNodeLoops(nodeID))
	})
}

// ConfigNote is what the node's worker said last of its configuration file.
func (l *Ledger) ConfigNote(ctx context.Context, nodeID string) (models.ConfigNote, error) {
	var values []string
	var note models.ConfigNote
	err := l.read(ctx).Table("meta").Where("key = ?", configKey(nodeID)).Pluck("value", &values).Error
	if err != nil || len(values) == 0 {
		return note, err
	}
	err = json.Unmarshal([]byte(values[0]), &note)
	return note, err
}
