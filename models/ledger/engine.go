package ledger

import (
	"context"

	"coxswain/models"
)

// EngineSeen tells which engine a node's worker uses, by the id of its namespace. When
// it is another one than that in which this ledger's workflows live, as after each
// start of an in-memory server, every workflow that has to be alive is raised, so that
// the relay rebuilds them; rebuilt is true then. LEASE_CONFLICT while the worker of
// another node uses another engine: the workflows would live in both.
func (l *Ledger) EngineSeen(ctx context.Context, nodeID, namespaceID string) (rebuilt bool, err error) {
	mine, err := l.metaValue(ctx, engineKey(nodeID))
	if err != nil {
		return false, err
	}
	known, err := l.metaValue(ctx, "engine_namespace")
	if err != nil || mine == namespaceID && known == namespaceID {
		return false, err
	}
	// This node's word comes first, so that two nodes that see a new engine one after
	// the other do not wait for each other.
	if err := l.setMeta(ctx, engineKey(nodeID), namespaceID); err != nil {
		return false, err
	}
	if err := l.oneEngine(ctx, nodeID, namespaceID); err != nil || known == namespaceID {
		return false, err
	}
	return known != "", l.transact(ctx, full, models.Principal{}, func(tx *Tx) error {
		if _, err := tx.raiseAll(); err != nil {
			return err
		}
		return tx.setMeta("engine_namespace", namespaceID)
	})
}

func engineKey(nodeID string) string { return "engine_of:" + nodeID }

// oneEngine refuses an engine while the live worker of another node reaches another.
func (l *Ledger) oneEngine(ctx context.Context, nodeID, namespaceID string) error {
	var others []string
	err := l.read(ctx).Raw(`SELECT n.id FROM nodes n JOIN meta m ON m.key = 'engine_of:' || n.id
	  WHERE n.id <> ? AND m.value <> ? AND n.heartbeat_at > ? AND NOT EXISTS (SELECT 1 FROM meta a WHERE a.key = 'engine_away:' || n.id)
	  ORDER BY n.id`, nodeID, namespaceID, l.Now().Add(-nodeFresh).UnixMilli()).Scan(&others).Error
	if err != nil || len(others) == 0 {
		return err
	}
	return models.Errorf(models.CodeLeaseConflict, "the worker of node %s uses this ledger with another Temporal", others[0]).
		Hint("give both workers the same --address and --namespace, or stop the other one").With("node_id", others[0])
}

func (l *Ledger) metaValue(ctx context.Context, key string) (value string, err error) {
	err = l.read(ctx).Raw("SELECT value FROM meta WHERE key = ?", key).Scan(&value).Error
	return value, err
}

func (l *Ledger) setMeta(ctx context.Context, key, value string) error {
	return l.transact(ctx, normal, models.Principal{}, func(tx *Tx) error { return tx.setMeta(key, value) })
}

func (tx *Tx) setMeta(key, value string) error {
	return tx.db.Exec("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value).Error
}

// PollableTeams lists the teams that the worker evaluates the plan of: those whose
// loop is on and those with live work.
func (l *Ledger) PollableTeams(ctx context.Context) ([]models.Team, error) {
	var teams []models.Team
	if err := l.read(ctx).Where("status = 'active'").Order("id").Find(&teams).Error; err != nil {
		return nil, err
	}
	var live []string
	err := l.read(ctx).Raw(`SELECT DISTINCT team_id FROM runs WHERE ended_at IS NULL AND binding_id <> ''
	  UNION SELECT DISTINCT team_id FROM assignments WHERE status = 'awaiting_review'`).Scan(&live).Error
	if err != nil {
		return nil, err
	}
	working := map[string]bool{}
	for _, id := range live {
		working[id] = true
	}
	out := teams[:0]
	for _, t := range teams {
		if t.Loop.Enabled || working[t.ID] {
			out = append(out, t)
		}
	}
	return out, nil
}

// ServedWorkflows lists the workflow ids, without the ledger's prefix, that serve
// the assignments and nudges of teams. They end with their work.
func (l *Ledger) ServedWorkflows(ctx context.Context, teams []string) ([]string, error) {
	var out []string
	err := l.read(ctx).Raw(`SELECT workflow_id FROM wakeups WHERE kind = 'assignment' AND subject IN (SELECT id FROM assignments WHERE team_id IN @teams)
	  UNION ALL SELECT workflow_id FROM wakeups WHERE kind = 'nudge' AND subject IN (SELECT id FROM commands WHERE team_id IN @teams)
	  ORDER BY workflow_id`, map[string]any{"teams": teams}).Scan(&out).Error
	return out, err
}
