package ledger

import (
	"context"
	"maps"

	"coxswain/models"
)

// RecordRunBinding merges a patch into a run's metadata: objects merge, all else
// replaces, null is stored as null. It changes no other column and no revision
// (seed 000, run binding). The caller owns the active run, or is an integrator or
// a person. Errors: FORBIDDEN, NOT_FOUND, INVALID_ARGUMENT (the run is over),
// SECRET_DETECTED.
func (l *Ledger) RecordRunBinding(ctx context.Context, c *Call, runID string, patch, eventPayload map[string]any) (RunDetail, error) {
	in := args{"run_id": runID, "binding_patch": patch, "event_payload": eventPayload}
	_, err := write(ctx, l, c, "record_run_binding", in, func(tx *Tx) (models.Event, error) {
		return tx.recordBinding(runID, patch, eventPayload)
	})
	if err != nil {
		return RunDetail{}, err
	}
	return l.RunDetail(ctx, runID)
}

func (tx *Tx) recordBinding(runID string, patch, eventPayload map[string]any) (models.Event, error) {
	var none models.Event
	if err := tx.need("record run binding", models.RoleAgent, models.RoleIntegrator, models.RoleHuman); err != nil {
		return none, err
	}
	r, err := tx.ownOrLed(runID)
	if err != nil {
		return none, err
	}
	if patch, err = object("binding_patch", patch); err != nil {
		return none, err
	}
	if eventPayload, err = object("event_payload", eventPayload); err != nil {
		return none, err
	}
	text, err := jsonText(mergePatch(r.Metadata, patch))
	if err != nil {
		return none, err
	}
	if err := tx.db.Table("runs").Where("id = ?", r.ID).UpdateColumn("metadata", text).Error; err != nil {
		return none, err
	}
	e := runEvent(r, models.EventRunBindingRecorded)
	e.Payload = map[string]any{"binding_patch": patch, "event_payload": eventPayload}
	return tx.append(e)
}

// ownOrLed loads a live run that is the caller's own, or any for an integrator
// or a person.
func (tx *Tx) ownOrLed(runID string) (models.Run, error) {
	r, err := tx.led(runID)
	if err != nil {
		return r, err
	}
	_, err = tx.activeFor(r)
	return r, err
}

// led loads a run, live or over, that is the caller's own, or any for an
// integrator or a person.
func (tx *Tx) led(runID string) (models.Run, error) {
	r, err := get[models.Run](tx.db, "run", runID)
	if err == nil && tx.By.Role == models.RoleAgent {
		err = tx.owns(r)
	}
	if err != nil {
		return r, err
	}
	return r, tx.mayTouch(models.Assignment{ID: r.AssignmentID, TeamID: r.TeamID})
}

// mergePatch lays a patch over an object without changing either: objects merge,
// everything else replaces, null included.
func mergePatch(base, patch map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(patch))
	maps.Copy(out, base)
	for k, v := range patch {
		inner, isObject := v.(map[string]any)
		if old, was := out[k].(map[string]any); isObject && was {
			out[k] = mergePatch(old, inner)
			continue
		}
		out[k] = v
	}
	return out
}
