package ledger

import (
	"gorm.io/gorm"

	"coxswain/models"
)

// append writes one event with the transaction's time and the caller as author
// unless the event names another.
func (tx *Tx) append(e models.Event) (models.Event, error) {
	e.ID, e.CreatedAt = newID("evt"), tx.Now
	if e.ActorID == "" {
		e.ActorID, e.ActorRole = tx.By.ActorID, tx.By.Role
	}
	if e.Status == "" {
		e.Status = models.EventObserved
	}
	if e.Payload == nil {
		e.Payload = map[string]any{}
	}
	err := tx.insert(&e) // fills in the sequence
	return e, err
}

// lastEvent finds the newest event by a condition, zero when there is none.
func lastEvent(db *gorm.DB, condition string, values ...any) (models.Event, error) {
	var rows []models.Event
	err := db.Where(condition, values...).Order("sequence DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return models.Event{}, err
	}
	return rows[0], nil
}
