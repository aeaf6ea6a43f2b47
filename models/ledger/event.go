package ledger

import (
	"gorm.io/gorm"

	"coxswain/models"
)

// append writes one event with the transaction's time and the caller as author
// unless the event names another.
func (tx *Tx) append(e models.Event) (models.Event, error) {
	tx.complete(&e)
	err := tx.insert(&e) // fills in the sequence
	return e, err
}

// rowsPerInsert keeps one statement below the driver's limit of variables.
const rowsPerInsert = 100

// appendAll writes events in their order by few statements.
func (tx *Tx) appendAll(events []models.Event) error {
	for i := range events {
		tx.complete(&events[i])
	}
	return tx.db.CreateInBatches(events, rowsPerInsert).Error
}

// complete fills in what every event has.
func (tx *Tx) complete(e *models.Event) {
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
