package ledger

import (
	"errors"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// account is the Codex login that usage limits count against. A node's adapter has
// one, that of its Codex home.
type account struct {
	ID        string
	NodeID    string
	HeldUntil time.Time `gorm:"serializer:ms"`
	UpdatedAt time.Time `gorm:"serializer:ms"`
}

func (account) TableName() string { return "accounts" }

func accountID(nodeID, adapterKind string) string { return nodeID + "/" + adapterKind }

// heldUntil is until when the account of a node's adapter is held, zero when it is not.
func heldUntil(db *gorm.DB, nodeID, adapterKind string, now time.Time) (time.Time, error) {
	a, found, err := find[account](db, "id = ?", accountID(nodeID, adapterKind))
	if err != nil || !found || !a.HeldUntil.After(now) {
		return time.Time{}, err
	}
	return a.HeldUntil, nil
}

// holdAccount holds the account of a binding after a usage limit, until the reset that
// the host told; held is false where that has passed. The event is written once for a
// hold, however many runs meet the limit.
func (tx *Tx) holdAccount(b models.Binding, limits map[string]any) (held bool, err error) {
	reset := models.ResetOf(limits)
	until := models.HoldUntil(tx.Now, reset)
	if until.IsZero() {
		return false, nil
	}
	id := accountID(b.NodeID, b.AdapterKind)
	before, err := heldUntil(tx.db, b.NodeID, b.AdapterKind, tx.Now)
	if err != nil || !before.IsZero() && (reset.IsZero() || !until.After(before)) {
		return true, err
	}
	err = tx.db.Exec(`INSERT INTO accounts (id, node_id, held_until, updated_at) VALUES (?, ?, ?, ?)
	  ON CONFLICT (id) DO UPDATE SET held_until = excluded.held_until, updated_at = excluded.updated_at`, id, b.NodeID, until.UnixMilli(), tx.ms()).Error
	if err != nil || !before.IsZero() {
		return true, err
	}
	_, err = tx.append(models.Event{Type: models.EventAccountHeld, Payload: map[string]any{
		"account": id, "node_id": b.NodeID, "until": until, "reset_told": !reset.IsZero(),
	}})
	return true, errors.Join(err, tx.wakeClock())
}

// releaseAccount ends a hold and lets the loops of the node look again.
func (tx *Tx) releaseAccount(a account, why string) error {
	gone := tx.db.Exec("DELETE FROM accounts WHERE id = ?", a.ID)
	if gone.Error != nil || gone.RowsAffected == 0 {
		return gone.Error
	}
	_, err := tx.append(models.Event{Type: models.EventAccountReleased, Payload: map[string]any{"account": a.ID, "node_id": a.NodeID, "reason": why}})
	return errors.Join(err, tx.wakeNodeLoops(a.NodeID))
}

// accountWorks ends the hold of a binding's account: a turn succeeded under it.
func (tx *Tx) accountWorks(b models.Binding) error {
	a, found, err := find[account](tx.db, "id = ?", accountID(b.NodeID, b.AdapterKind))
	if err != nil || !found {
		return err
	}
	return tx.releaseAccount(a, "a turn succeeded")
}

// releaseDue ends the holds whose time has come.
func (tx *Tx) releaseDue() error {
	var due []account
	err := tx.db.Where("held_until <= ?", tx.ms()).Order("id").Find(&due).Error
	for _, a := range due {
		if err == nil {
			err = tx.releaseAccount(a, "its limit was reset")
		}
	}
	return err
}
