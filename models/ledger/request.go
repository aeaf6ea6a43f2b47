package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"coxswain/models"
)

// request is the record of a committed call. Refused calls are not recorded.
type request struct {
	Scope     string `gorm:"primaryKey"`
	RequestID string `gorm:"primaryKey"`
	Operation string
	Hash      string
	Answer    string
	CreatedAt time.Time `gorm:"serializer:ms"`
}

func (request) TableName() string { return "requests" }

func requestHash(operation string, canonical []byte) string {
	sum := sha256.Sum256(append([]byte(operation+"\x00"), canonical...))
	return hex.EncodeToString(sum[:])
}

// replay answers a call whose request id is recorded: with the first answer when
// the arguments are the same, with IDEMPOTENCY_CONFLICT when they differ.
func (tx *Tx) replay(c *Call, operation string, canonical []byte, answer any) (bool, error) {
	if c.RequestID == "" {
		return false, nil
	}
	if err := models.CheckID("request-id", c.RequestID); err != nil {
		return false, err
	}
	row, found, err := find[request](tx.db, "scope = ? AND request_id = ?", c.By.ActorID, c.RequestID)
	if err != nil || !found {
		return false, err
	}
	if row.Hash != requestHash(operation, canonical) {
		return false, models.Errorf(models.CodeIdempotencyConflict, "request-id: %q was used for %s with other arguments", c.RequestID, row.Operation).
			Hint("choose a new request id").With("operation", row.Operation)
	}
	c.Replayed = true
	return true, json.Unmarshal([]byte(row.Answer), answer)
}

func (tx *Tx) record(c *Call, operation string, canonical []byte, answer any) error {
	if c.RequestID == "" {
		return nil
	}
	text, err := jsonText(answer)
	if err != nil {
		return err
	}
	return tx.insert(&request{
		Scope: c.By.ActorID, RequestID: c.RequestID, Operation: operation,
		Hash: requestHash(operation, canonical), Answer: text, CreatedAt: tx.Now,
	})
}
