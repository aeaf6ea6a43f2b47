package ledger

import (
	"context"
	"encoding/json"
	"errors"

	"coxswain/models"
)

// The refusals after which a person is asked (design, seed 000 error handling:
// "reject or redact, then request human intervention").
const secretRefusalsBeforeAsking = 3

// operationHandoff is the operation whose first refusal asks a person already,
// since the run cannot end without it.
const operationHandoff = "submit_handoff"

// checkSecrets refuses arguments in which a secret is detected. The error names
// the field and the rule, never the value.
func checkSecrets(canonical []byte) error { return scanSecrets(canonical) }

// checkCallSecrets refuses a call in which a secret is detected: in its
// arguments, its request id or its caller's id, all of which are stored.
func checkCallSecrets(c *Call, canonical []byte) error {
	caller, err := json.Marshal(map[string]string{"actor_id": c.By.ActorID, "request_id": c.RequestID})
	if err != nil {
		return models.Invalid("arguments", "cannot be encoded").Because(err)
	}
	if err := scanSecrets(caller); err != nil {
		return err
	}
	return checkSecrets(canonical)
}

// secretRefused records that a bound run's call was refused, field and rule
// only, and asks a person at the third refusal of a run or at a refused handoff.
// It returns the refusal.
func (l *Ledger) secretRefused(ctx context.Context, c *Call, operation string, _ any, refusal error) error {
	var detected *models.Error
	if c.By.BindingID == "" || !errors.As(refusal, &detected) {
		return refusal
	}
	err := l.transact(ctx, full, c.By, func(tx *Tx) error {
		run, found, err := find[models.Run](tx.db, "binding_id = ? AND ended_at IS NULL", c.By.BindingID)
		if err != nil || !found {
			return err
		}
		return tx.noteRefusal(run, operation, detected)
	})
	if err != nil {
		return errors.Join(refusal, err)
	}
	return refusal
}

func (tx *Tx) noteRefusal(run models.Run, operation string, refusal *models.Error) error {
	e := runEvent(run, models.EventSecretRefused)
	e.Payload = map[string]any{"operation": operation, "field": refusal.Details["field"], "rule": refusal.Details["rule"]}
	if _, err := tx.append(e); err != nil {
		return err
	}
	var refusals int64
	if err := tx.db.Model(&models.Event{}).Where("run_id = ? AND type = ?", run.ID, models.EventSecretRefused).Count(&refusals).Error; err != nil {
		return err
	}
	asks := refusals == secretRefusalsBeforeAsking || operation == operationHandoff
	if !asks || run.Status.Terminal() || run.Status == models.RunStarting {
		return nil
	}
	open, err := tx.openInterventions("run_id = ? AND kind = ?", run.ID, models.EventSecretRefused)
	if err != nil || len(open) > 0 {
		return err
	}
	_, err = tx.question(models.Intervention{
		WorkspaceID: run.WorkspaceID, TeamID: run.TeamID, AssignmentID: run.AssignmentID, RunID: run.ID, Kind: models.EventSecretRefused,
		Prompt: "The agent keeps sending text that looks like a secret; nothing of it was stored. Look at the run and tell it how to go on.",
		Packet: e.Payload,
	})
	return err
}
