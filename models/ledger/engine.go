package ledger

import (
	"context"

	"coxswain/models"
)

// EngineSeen compares the engine's namespace id with the one that this ledger's
// workflows live in. When it is another one, as after each start of an in-memory
// server, every workflow is raised, so that the relay rebuilds them; rebuilt is true
// then.
func (l *Ledger) EngineSeen(ctx context.Context, namespaceID string) (rebuilt bool, err error) {
	var known string
	if err := l.read(ctx).Raw("SELECT value FROM meta WHERE key = 'engine_namespace'").Scan(&known).Error; err != nil || known == namespaceID {
		return false, err
	}
	return known != "", l.transact(ctx, full, models.Principal{}, func(tx *Tx) error {
		if _, err := tx.raiseAll(); err != nil {
			return err
		}
		return tx.db.Exec("INSERT INTO meta (key, value) VALUES ('engine_namespace', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", namespaceID).Error
	})
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
