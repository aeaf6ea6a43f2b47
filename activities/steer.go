package activities

import (
	"context"

	"coxswain/activities/codex"
)

// maxLostTurns is how often one attempt decides again because the turn that it
// saw was not the active one any more.
const maxLostTurns = 3

// steer puts the message into the turn that is active, and decides again where
// that has ended meanwhile or was another one. The turn is written down before
// the effect: a message that was put into a turn begins none, whatever else is
// unknown of it.
func (d *delivery) steer(ctx context.Context, again bool) error {
	turns, err := d.host.ListTurns(ctx, d.m.Item.ThreadID, 1)
	if err != nil {
		return err
	}
	if len(turns) == 0 || turns[0].Status != codex.TurnInProgress {
		return d.n.Ledger.DeliveryHeld(ctx, d.m.Item.ID, d.own, "a turn begins or ends")
	}
	into := turns[0].ID
	owned, err := d.n.Ledger.SteeringInto(ctx, d.m.Item.ID, d.own, into)
	if err != nil || !owned {
		return err
	}
	err = d.host.SteerTurn(ctx, d.m.Item.ThreadID, into, codex.TurnInput{Text: d.m.Text, ClientMessageID: d.m.Item.ID})
	if codex.KindOf(err) == codex.ErrTurnMismatch { // nothing happened
		if d.lost++; d.lost < maxLostTurns {
			return d.send(ctx, again)
		}
		return d.n.Ledger.DeliveryHeld(ctx, d.m.Item.ID, d.own, "the turn "+into+" is not the active one any more")
	}
	if err != nil {
		return err
	}
	d.sent = true
	return d.accepted(ctx, into, again)
}

// accepted waits for the receipt of a message that a turn took. Taking it is no
// delivery: it stays behind a running command, and goes with the turn where that
// ends first. Then it is looked for again when it is seen or the turn has ended.
func (d *delivery) accepted(ctx context.Context, into string, again bool) error {
	turnID, err := d.receipt(ctx)
	switch {
	case codex.KindOf(err) == codex.ErrTimeout:
		return d.n.Ledger.DeliveryWaits(ctx, d.m.Item.ID, d.own, "taken by turn "+into+", which has not read it yet")
	case err != nil:
		return err
	}
	return d.n.Ledger.Delivered(ctx, d.m.Item.ID, d.own, turnID, again)
}

// awaited looks for a message that an earlier attempt put into a turn. While that
// turn goes on nothing else is done with it, so that nothing waits for the turn
// with the thread locked. false means that the ordinary search decides.
func (d *delivery) awaited(ctx context.Context) (done bool, err error) {
	into := d.m.Item.TurnID
	if into == "" {
		return false, nil
	}
	turnID, found, err := d.find(ctx)
	if err != nil {
		return false, err
	}
	if found {
		return true, d.n.Ledger.Delivered(ctx, d.m.Item.ID, d.own, turnID, false)
	}
	turns, err := d.host.ListTurns(ctx, d.m.Item.ThreadID, 1)
	if err != nil {
		return false, err
	}
	if len(turns) == 0 || turns[0].ID != into || turns[0].Status != codex.TurnInProgress {
		return false, nil
	}
	return true, d.n.Ledger.DeliveryWaits(ctx, d.m.Item.ID, d.own, "turn "+into+" has not read it yet")
}
