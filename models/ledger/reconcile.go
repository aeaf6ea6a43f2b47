package ledger

import (
	"context"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// NextDeadline is the earliest time at which Reconcile may have something to do; nil
// when nothing waits for a time. While turns may run it is never further away than
// the shortest clock, so that the start of a turn need not wake anybody.
func (l *Ledger) NextDeadline(ctx context.Context) (*time.Time, error) {
	db := l.read(ctx)
	var due deadline
	for _, add := range []func(*gorm.DB, time.Time, *deadline) error{claimDeadlines, turnDeadlines, holdDeadlines} {
		if err := add(db, l.Now(), &due); err != nil {
			return nil, err
		}
	}
	return due.at, nil
}

// deadline is the earliest of several times.
type deadline struct{ at *time.Time }

func (d *deadline) add(t time.Time) {
	if d.at == nil || t.Before(*d.at) {
		t = t.UTC()
		d.at = &t
	}
}

// claimDeadlines adds the expiries of tasks and of runs that nobody has noticed.
func claimDeadlines(db *gorm.DB, now time.Time, due *deadline) error {
	claims, err := openClaims(db)
	for _, c := range claims {
		if !c.Task && !c.Unnoticed {
			continue
		}
		if first := time.UnixMilli(c.ExpiresAt); first.After(now) {
			due.add(first) // its node may have been there by then
		} else {
			due.add(c.expiry())
		}
	}
	return err
}

// holdDeadlines adds the ends of account holds and of tripped breakers.
func holdDeadlines(db *gorm.DB, _ time.Time, due *deadline) error {
	var held, tripped *int64
	if err := db.Raw("SELECT min(held_until) FROM accounts").Scan(&held).Error; err != nil {
		return err
	}
	if err := db.Raw("SELECT min(last_at) FROM breakers WHERE tripped = ?", true).Scan(&tripped).Error; err != nil {
		return err
	}
	if held != nil {
		due.add(time.UnixMilli(*held))
	}
	if tripped != nil {
		due.add(time.UnixMilli(*tripped).Add(models.BreakerWindow))
	}
	return nil
}

// claim is a claim or a task that may expire, with what that depends on.
type claim struct {
	RunID     string
	ExpiresAt int64
	Managed   bool
	NodeBeat  int64
	Loop      models.LoopSettings `gorm:"serializer:json"`
	Task      bool                // its task is live
	Unnoticed bool                // a claimed or running run, whose expiry has no event yet
}

func (c claim) expiry() time.Time {
	ttl := c.Loop.RunLeaseTTL()
	if ttl <= 0 {
		ttl = models.DefaultLoop().RunLeaseTTL()
	}
	return models.ExpiryOf(models.ClaimTimes{
		ExpiresAt: time.UnixMilli(c.ExpiresAt), Managed: c.Managed, NodeBeat: time.UnixMilli(c.NodeBeat), TTL: ttl,
	})
}

// openClaims reads the claims of open runs, and live tasks, that can expire.
func openClaims(db *gorm.DB) ([]claim, error) {
	var out []claim
	err := db.Raw(`SELECT r.id AS run_id, r.lease_expires_at AS expires_at, r.binding_id <> '' AS managed,
	    coalesce(n.heartbeat_at, 0) AS node_beat, t.loop, coalesce(k.status, '') = 'live' AS task,
	    (r.status IN ('claimed','running') AND NOT EXISTS (
	      SELECT 1 FROM events e WHERE e.run_id = r.id AND e.type = 'run_stale' AND e.created_at >= r.lease_expires_at)) AS unnoticed
	  FROM runs r JOIN teams t ON t.id = r.team_id LEFT JOIN nodes n ON n.id = r.node_id LEFT JOIN tasks k ON k.run_id = r.id
	  WHERE r.ended_at IS NULL ORDER BY r.id`).Scan(&out).Error
	return out, err
}

// Reconciled counts what one reconcile transaction found.
type Reconciled struct {
	Vanished int // tasks that were not heard of in time
	Stale    int // runs whose claim expired
	Overdue  int // turns of which a clock ran out
}

// Reconcile brings the stored status of expired tasks and claims and of overdue turns
// up to date, and ends the holds whose time has come. It takes nothing from anybody:
// a stale run gets an observed event, and the planner decides (seed 000, lease
// expiry).
func (l *Ledger) Reconcile(ctx context.Context) (Reconciled, error) {
	var out Reconciled
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		out = Reconciled{}
		for _, step := range []func() error{
			func() error { return tx.expireClaims(&out) },
			func() error { return tx.markOverdue(&out) },
			tx.releaseDue, tx.forgiveHealthy,
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// expireClaims notices what expired, once each.
func (tx *Tx) expireClaims(out *Reconciled) error {
	claims, err := openClaims(tx.db)
	if err != nil {
		return err
	}
	for _, c := range claims {
		if c.expiry().After(tx.Now) {
			continue
		}
		if err := tx.expire(c, out); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) expire(c claim, out *Reconciled) error {
	run, err := get[models.Run](tx.db, "run", c.RunID)
	if err != nil {
		return err
	}
	if c.Task {
		if err := tx.vanish(run); err != nil {
			return err
		}
		out.Vanished++
	}
	if !c.Unnoticed {
		return nil
	}
	e := runEvent(run, models.EventRunStale)
	e.Payload = map[string]any{"cause": "claim", "lease_expires_at": run.LeaseExpiresAt, "session_ref": run.SessionRef}
	if _, err := tx.append(e); err != nil {
		return err
	}
	out.Stale++
	return tx.wakeLoop(run.WorkspaceID, run.TeamID)
}

func (tx *Tx) vanish(run models.Run) error {
	t, found, err := find[models.Task](tx.db, "run_id = ? AND status = 'live'", run.ID)
	if err != nil || !found {
		return err
	}
	if _, err := tx.swap(&models.Task{}, map[string]any{"status": "vanished", "version": t.Version + 1}, "id = ?", t.ID); err != nil {
		return err
	}
	e := runEvent(run, models.EventTaskVanished)
	e.Payload = map[string]any{"task_id": t.ID, "expired_at": t.ExpiresAt}
	_, err = tx.append(e)
	return err
}
