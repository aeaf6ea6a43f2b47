package ledger

import (
	"context"
	"strconv"
	"time"

	"coxswain/models"
)

// nodeFresh is how old a heartbeat of a node may be whose worker is alive.
const nodeFresh = time.Minute

// Lag is what the relays have not brought to the workflows yet, and why.
type Lag struct {
	At        time.Time  // of the reading
	Wakeups   int        // workflows that have not read what was raised for them
	Since     *time.Time // when the one that waits longest was raised; nil when none waits
	Alive     []string   // nodes whose worker was heard of within a minute, by id
	AwaySince *time.Time // since when none of those reaches the engine; nil when one does
	Jams      []Jam      // workflows that do not read, each with its reason; at most maxJams
}

// maxJams is how many jammed workflows are named; where there are more they have one
// cause.
const maxJams = 20

// Lag reads how far the workflows are behind the ledger.
func (l *Ledger) Lag(ctx context.Context) (Lag, error) {
	out := Lag{At: l.Now(), Alive: []string{}}
	var err error
	if out.Jams, err = l.jams(ctx, maxJams); err != nil {
		return out, err
	}
	var due struct {
		N      int
		Oldest *int64
	}
	err = l.read(ctx).Raw("SELECT count(*) AS n, min(updated_at) AS oldest FROM wakeups WHERE generation > acknowledged").Scan(&due).Error
	if err != nil {
		return out, err
	}
	if out.Wakeups = due.N; due.Oldest != nil {
		t := time.UnixMilli(*due.Oldest).UTC()
		out.Since = &t
	}
	err = l.read(ctx).Model(&models.Node{}).Where("heartbeat_at > ?", out.At.Add(-nodeFresh).UnixMilli()).Order("id").Pluck("id", &out.Alive).Error
	if err != nil || len(out.Alive) == 0 {
		return out, err
	}
	out.AwaySince, err = l.awaySince(ctx, out.Alive)
	return out, err
}

// awaySince is since when none of the nodes reaches the engine.
func (l *Ledger) awaySince(ctx context.Context, nodes []string) (*time.Time, error) {
	keys := make([]string, 0, len(nodes))
	for _, id := range nodes {
		keys = append(keys, awayKey(id))
	}
	var values []string
	if err := l.read(ctx).Table("meta").Where("key IN ?", keys).Pluck("value", &values).Error; err != nil || len(values) < len(nodes) {
		return nil, err
	}
	var last int64 // the node that lost it last
	for _, v := range values {
		ms, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, models.Errorf(models.CodeInternal, "the ledger's note on the engine is %q", v).Because(err)
		}
		last = max(last, ms)
	}
	t := time.UnixMilli(last).UTC()
	return &t, nil
}

func awayKey(nodeID string) string { return "engine_away:" + nodeID }

// EngineAway notes that a node's worker does not reach the engine, or that it does
// again. The first note of an absence stands.
func (l *Ledger) EngineAway(ctx context.Context, nodeID string, away bool) error {
	return l.transact(ctx, normal, models.Principal{}, func(tx *Tx) error {
		if !away {
			return tx.db.Exec("DELETE FROM meta WHERE key = ?", awayKey(nodeID)).Error
		}
		return tx.db.Exec("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
			awayKey(nodeID), strconv.FormatInt(tx.ms(), 10)).Error
	})
}
