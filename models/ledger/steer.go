package ledger

import (
	"context"
	"time"

	"coxswain/models"
)

// Steering is a person's words for a run that is under way.
type Steering struct {
	RunID   string
	Message string // what the person said
	Text    string // the message as the worker reads it
}

// SteerRun queues a person's words for the thread of a live run. The sender puts
// them into the turn that is active when they are sent; where none is, they begin
// one. They are delivered at most once, and dropped where the run has ended or
// waits for a person by then. The queued item is returned; its receipt is the
// event message_delivered. Errors, in the order of their checks: FORBIDDEN (people
// only; an integrator's thread), NOT_FOUND, INVALID_ARGUMENT (blank, the run is
// over, waits for a person, or no node manages it); SECRET_DETECTED before all of
// them.
func (l *Ledger) SteerRun(ctx context.Context, c *Call, s Steering) (models.OutboxItem, error) {
	in := args{"run_id": s.RunID, "message": s.Message}
	return write(ctx, l, c, "steer_run", in, func(tx *Tx) (models.OutboxItem, error) {
		if err := tx.needUnbound("steer run", models.RoleHuman); err != nil {
			return models.OutboxItem{}, err
		}
		r, err := tx.steerable(s.RunID)
		if err != nil {
			return models.OutboxItem{}, err
		}
		if err := required("message", s.Message); err != nil {
			return models.OutboxItem{}, err
		}
		return tx.steer(r, s)
	})
}

// steerable loads a run that takes a person's words.
func (tx *Tx) steerable(runID string) (models.Run, error) {
	r, found, err := find[models.Run](tx.db, "id = ?", runID)
	if err != nil {
		return r, err
	}
	if !found {
		return r, tx.notARun(runID)
	}
	if !managed(r) {
		return r, models.Invalid("run_id", "no node manages run %q, so there is no thread to write into", r.ID).Hint("cox assignment show %s", r.AssignmentID)
	}
	if _, err := tx.activeFor(r); err != nil {
		return r, err
	}
	if r.Status != models.RunAwaitingHuman { // while leave is asked for the words are held
		return r, nil
	}
	refusal := models.Invalid("run_id", "run %q waits for a person", r.ID).With("status", string(r.Status)).Hint("cox run show %s", r.ID)
	open, err := tx.openInterventions("run_id = ?", r.ID)
	if err == nil && len(open) > 0 {
		refusal = refusal.With("intervention_id", open[0].ID).Hint("cox intervention respond --response \"…\" %s", open[0].ID)
	}
	if err != nil {
		return r, err
	}
	return r, refusal
}

// notARun refuses the id of an integrator's binding or thread by name: what it
// reads is not for others to write.
func (tx *Tx) notARun(id string) error {
	b, found, err := find[models.Binding](tx.db, "kind = 'integrator' AND (id = ? OR thread_id = ?)", id, id)
	if err != nil {
		return err
	}
	if found {
		return models.Forbidden("%q is the integrator of team %q, whose thread takes review nudges only", id, b.TeamID).
			Hint("cox review list --team %s", b.TeamID)
	}
	return models.NotFound("run", id)
}

func (tx *Tx) steer(r models.Run, s Steering) (models.OutboxItem, error) {
	b, err := get[models.Binding](tx.db, "binding", r.BindingID)
	if err != nil {
		return models.OutboxItem{}, err
	}
	e := runEvent(r, models.EventSteerRequested)
	e.Payload = map[string]any{"message": s.Message}
	if e, err = tx.append(e); err != nil {
		return models.OutboxItem{}, err
	}
	item := models.OutboxItem{
		ID: models.SteerID(e.ID), BindingID: b.ID, Generation: b.Generation, ThreadID: b.ThreadID, RunID: r.ID,
		Kind: models.PromptSteer, Text: s.Text, State: models.OutboxPending, CreatedAt: tx.Now,
	}
	return item, tx.queue(item)
}

// SteeringInto records, before the effect, the turn that an owned message is put
// into, or "" when it is about to begin one. false means that the attempt does
// not own the message any more.
func (l *Ledger) SteeringInto(ctx context.Context, itemID, owner, turnID string) (bool, error) {
	owned := false
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		var err error
		owned, err = tx.swap(&models.OutboxItem{}, map[string]any{"turn_id": turnID}, "id = ? AND owner = ? AND state = 'sending'", itemID, owner)
		return err
	})
	return owned, err
}

// steerLook is how long a steered message that no one has seen is left alone when
// nothing happens: it waits for a running command. Its arrival and the end of its
// turn wake the sender at once.
const steerLook = time.Minute

// DeliveryWaits records that the thread took a steered message and has not shown
// it yet. The attempt stays its owner.
func (l *Ledger) DeliveryWaits(ctx context.Context, itemID, owner, reason string) error {
	return l.forItem(ctx, itemID, owner, func(tx *Tx, item models.OutboxItem) error {
		due := tx.Now.Add(steerLook)
		_, err := tx.swap(&models.OutboxItem{}, map[string]any{"reason": reason, "not_before": due.UnixMilli()}, "id = ?", item.ID)
		return err
	})
}

// arrived lets the sender look at once for a steered message that was seen in the
// thread.
func (tx *Tx) arrived(threadID, messageID string) error {
	waits, err := tx.swap(&models.OutboxItem{}, map[string]any{"not_before": nil},
		"id = ? AND thread_id = ? AND state = 'sending' AND turn_id <> '' AND not_before IS NOT NULL", messageID, threadID)
	if err != nil || !waits {
		return err
	}
	return tx.wake(WakeDelivery, DeliveryWorkflow(threadID), threadID)
}
