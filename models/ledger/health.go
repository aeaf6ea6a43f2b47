package ledger

import (
	"context"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// Damage looks at the stored pages and returns what is wrong with them, at most ten
// findings; nil is sound. A database server looks after its own.
func (l *Ledger) Damage(ctx context.Context) ([]string, error) { return l.store.damage(l.read(ctx)) }

func (s *fileStore) damage(db *gorm.DB) ([]string, error) {
	var found []string
	err := db.Raw("PRAGMA quick_check(10)").Scan(&found).Error
	if err == nil && len(found) == 1 && found[0] == "ok" {
		return nil, nil
	}
	return found, err
}

func (s *serverStore) damage(*gorm.DB) ([]string, error) { return nil, nil }

// LatestTime is the latest time that was recorded, zero in an empty ledger. A clock
// that is behind it went back.
func (l *Ledger) LatestTime(ctx context.Context) (time.Time, error) {
	var ms *int64
	err := l.read(ctx).Raw(`SELECT max(t) FROM (
	  SELECT max(created_at) AS t FROM events UNION ALL SELECT max(heartbeat_at) AS t FROM nodes) AS times`).Scan(&ms).Error
	if err != nil || ms == nil {
		return time.Time{}, err
	}
	return time.UnixMilli(*ms).UTC(), nil
}

// StoredProof is the sandbox proof that a node has made for an adapter and a key,
// which names the Codex version and the permission profile.
func (l *Ledger) StoredProof(ctx context.Context, nodeID, kind, key string) (detail string, proved bool) {
	n, found, err := find[models.Node](l.read(ctx), "id = ?", nodeID)
	if err != nil || !found {
		return "", false // without a proof a new one is made
	}
	p := n.Probes[kind]
	return p.SandboxDetail, p.SandboxProved && p.ProofKey == key && key != ""
}
