package ledger

import (
	"time"

	"coxswain/models"
)

// clientUpdate is the record of an update of a run that its client named. The
// kind is the type of the event that it wrote.
type clientUpdate struct {
	RunID          string `gorm:"primaryKey"`
	Kind           string `gorm:"primaryKey"`
	ClientUpdateID string `gorm:"primaryKey"`
	Hash           string
	EventID        string
	CreatedAt      time.Time `gorm:"serializer:ms"`
}

func (clientUpdate) TableName() string { return "run_updates" }

// updateRun writes one event about a run under an id that its client chose. The
// same id with the same payload again is answered with the first event, also when
// the run is over by then; with another payload it is IDEMPOTENCY_CONFLICT. It
// changes no status and no revision. check judges a payload that is new.
func (tx *Tx) updateRun(c *Call, runID, kind, id string, payload map[string]any, check func(models.Run) error) (models.Event, error) {
	var none models.Event
	if err := tx.need(kind, models.RoleAgent, models.RoleIntegrator, models.RoleHuman); err != nil {
		return none, err
	}
	r, err := tx.led(runID)
	if err != nil {
		return none, err
	}
	if err := models.CheckID("client_update_id", id); err != nil {
		return none, err
	}
	text, err := jsonText(payload)
	if err != nil {
		return none, err
	}
	hash := requestHash(kind, []byte(text))
	if e, found, err := tx.updatedBefore(runID, kind, id, hash); found || err != nil {
		c.Replayed = found
		return e, err
	}
	if _, err := tx.activeFor(r); err != nil {
		return none, err
	}
	if err := check(r); err != nil {
		return none, err
	}
	e := runEvent(r, kind)
	e.Payload = payload
	if e, err = tx.append(e); err != nil {
		return none, err
	}
	return e, tx.insert(&clientUpdate{RunID: runID, Kind: kind, ClientUpdateID: id, Hash: hash, EventID: e.ID, CreatedAt: tx.Now})
}

// updatedBefore finds the event of an update that was made already.
func (tx *Tx) updatedBefore(runID, kind, id, hash string) (models.Event, bool, error) {
	var none models.Event
	made, found, err := find[clientUpdate](tx.db, "run_id = ? AND kind = ? AND client_update_id = ?", runID, kind, id)
	if err != nil || !found {
		return none, false, err
	}
	if made.Hash != hash {
		return none, false, models.Errorf(models.CodeIdempotencyConflict, "client_update_id: %q was used for another update of run %q", id, runID).
			Hint("choose a new client_update_id").With("field", "client_update_id").With("event_id", made.EventID)
	}
	e, err := get[models.Event](tx.db, "event", made.EventID)
	return e, err == nil, err
}
