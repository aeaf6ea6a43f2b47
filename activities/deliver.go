package activities

import (
	"context"
	"slices"
	"time"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

// Waits of a delivery.
const (
	receiptWait = 10 * time.Second       // for the user message after turn/start
	absentWait  = time.Second            // before a message counts as absent
	idleWait    = 30 * time.Second       // for a turn to end before the thread is listed again
	receiptPoll = 150 * time.Millisecond // between two looks
)

// DeliverInput names a thread.
type DeliverInput struct {
	ThreadID string `json:"thread_id"`
}

// Deliver sends the thread's oldest message, proves its receipt and records it.
// Nothing is sent twice: a message that an earlier attempt may have sent is
// looked for in the thread's history first. An error leaves the message owned by
// this attempt, so that the next one looks.
func (n *Node) Deliver(ctx context.Context, in DeliverInput) error {
	own := owner(ctx)
	failpoint.Hit(failpoint.MessageTaking)
	m, err := n.Ledger.BeginMessage(ctx, in.ThreadID, own)
	if err != nil || m == nil {
		return failure(err)
	}
	failpoint.Hit(failpoint.MessageTaken)
	host, err := n.Hosts.Host(ctx, m.Binding.AdapterKind)
	if err != nil {
		n.Log.Warn("delivery held", "message", m.Item.ID, "thread", m.Item.ThreadID, "error", err)
		return failure(n.Ledger.DeliveryHeld(ctx, m.Item.ID, own, reason(err)))
	}
	unlock, err := n.threads.lock(ctx, in.ThreadID)
	if err != nil {
		return failure(err)
	}
	defer unlock()
	d := delivery{n: n, host: host, m: m, own: own}
	if err := d.run(ctx); err != nil {
		return failure(n.undelivered(ctx, m, own, d.sent, err))
	}
	return nil
}

// undelivered records why an attempt sent nothing, or that it has or may have.
func (n *Node) undelivered(ctx context.Context, m *ledger.Message, own string, sent bool, cause error) error {
	n.Log.Warn("delivery failed", "message", m.Item.ID, "thread", m.Item.ThreadID, "error", cause)
	if codex.KindOf(cause) == codex.ErrDraining && !sent {
		return n.Ledger.DeliveryHeld(ctx, m.Item.ID, own, "Codex ends and takes nothing new")
	}
	if sent || m.Again || codex.Happened(cause) {
		return n.Ledger.DeliveryUnknown(ctx, m.Item.ID, own, reason(cause))
	}
	return n.Ledger.DeliveryFailed(ctx, m.Item.ID, own, reason(cause))
}

// delivery is one attempt at one message.
type delivery struct {
	n    *Node
	host codex.Adapter
	m    *ledger.Message
	own  string
	sent bool // the host took the text: whatever fails from then on does not unsend it
	lost int  // turns that ended or changed before the text was put into them

	unheld bool // the thread is in the server's memory and empty, so that it cannot be resumed yet
}

func (d *delivery) run(ctx context.Context) error {
	if gone, err := d.load(ctx); err != nil || gone {
		return err
	}
	if d.m.Again {
		if steered, err := d.awaited(ctx); err != nil || steered {
			return err
		}
		turn, found, err := d.search(ctx)
		if err != nil {
			return err
		}
		if d.unheld { // its first turn may have begun by an attempt of before
			if _, err := d.resume(ctx); err != nil {
				return err
			}
		}
		if found {
			return d.delivered(ctx, turn, false, true)
		}
		d.m.Again = false // proved absent: from here on an error of the host speaks for this attempt only
		return d.send(ctx, true)
	}
	return d.send(ctx, false)
}

// load makes the host hold the thread and receive its events. A thread that never
// had a turn is used by turn/start first where it is in the server's memory, since it
// cannot be resumed; one that is gone with its host is replaced, and so is an
// integrator's, whose every message stands for itself. gone tells that the message
// moved to the new thread.
func (d *delivery) load(ctx context.Context) (gone bool, err error) {
	id := d.m.Item.ThreadID
	loaded, err := d.host.LoadedThreads(ctx)
	if err != nil {
		return false, err
	}
	if slices.Contains(loaded, id) && d.host.Holds(id) {
		return false, nil
	}
	held, err := d.resume(ctx)
	switch {
	case held || err != nil:
		return false, err
	case d.m.FirstTurn && slices.Contains(loaded, id):
		d.unheld = true
		return false, nil
	case d.m.FirstTurn || d.m.Binding.Kind == models.BindingIntegrator:
		return true, d.startOver(ctx)
	}
	return false, &codex.Error{Kind: codex.ErrUnknownID, Message: "thread " + id + " is gone with its history"}
}

// replace starts another thread for the binding. The generation is raised first,
// since the thread is configured with the token of its own. Where that is refused
// the message is not wanted any more, which its next look finds out.
func (d *delivery) replace(ctx context.Context) (gone bool, err error) {
	b := d.m.Binding
	kept, err := d.n.Ledger.RenewBinding(ctx, b.ID, b.Generation)
	if err != nil || !kept {
		return err == nil, err
	}
	_, err = d.n.startAndRecord(ctx, d.host, b.ID, func(fresh string) (bool, error) {
		return d.n.Ledger.ReplaceThread(ctx, b.ID, b.Generation+1, fresh)
	})
	return err == nil, err
}

// search looks for the message in the thread's history. It counts as absent only
// after a second, with the thread idle, in a second listing; the naive rule was
// seen to send twice.
func (d *delivery) search(ctx context.Context) (turnID string, found bool, err error) {
	if turnID, found, err = d.find(ctx); found || err != nil {
		return turnID, found, err
	}
	if err := pause(ctx, absentWait); err != nil {
		return "", false, err
	}
	if err := d.awaitIdle(ctx); err != nil {
		return "", false, err
	}
	return d.find(ctx)
}

func (d *delivery) find(ctx context.Context) (turnID string, found bool, err error) {
	items, err := d.host.ListTurnItems(ctx, d.m.Item.ThreadID, "")
	if codex.KindOf(err) == codex.ErrUnknownID {
		return "", false, nil // no history at all
	}
	for _, it := range items {
		if it.ClientID == d.m.Item.ID {
			return it.TurnID, true, nil
		}
	}
	return "", false, err
}

func (d *delivery) awaitIdle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, idleWait)
	defer cancel()
	for {
		t, err := d.host.ReadThread(ctx, d.m.Item.ThreadID)
		if err != nil || t.Status != codex.ThreadActive {
			return err
		}
		if err := pause(ctx, receiptPoll); err != nil {
			return &codex.Error{Kind: codex.ErrTimeout, Message: "a turn is active, so that the message cannot be proved absent"}
		}
	}
}

// send starts a turn with the message and waits for it in the history. It sends
// nothing when the message is no longer wanted. While a turn is active a person's
// words are put into it, and nothing else is sent.
func (d *delivery) send(ctx context.Context, again bool) error {
	t, err := d.host.ReadThread(ctx, d.m.Item.ThreadID)
	if err != nil && !d.m.FirstTurn {
		return err
	}
	if err == nil && t.Asking {
		return d.n.Ledger.DeliveryHeld(ctx, d.m.Item.ID, d.own, "a request of the turn waits for an answer")
	}
	active := err == nil && t.Status == codex.ThreadActive
	if active && d.m.Item.Kind != models.PromptSteer {
		return d.n.Ledger.DeliveryHeld(ctx, d.m.Item.ID, d.own, "a turn is active")
	}
	if wanted, err := d.wanted(ctx); err != nil || !wanted {
		return err
	}
	if active {
		return d.steer(ctx, again)
	}
	if d.n.draining.Load() {
		return d.n.Ledger.DeliveryHeld(ctx, d.m.Item.ID, d.own, stoppingText)
	}
	if d.m.Item.Kind == models.PromptSteer {
		if owned, err := d.n.Ledger.SteeringInto(ctx, d.m.Item.ID, d.own, ""); err != nil || !owned {
			return err
		}
	}
	return d.begin(ctx, again)
}

// wanted tells whether the message is to be sent now; it records a stop that holds
// it, and drops what is no longer wanted.
func (d *delivery) wanted(ctx context.Context) (bool, error) {
	held, err := d.n.Ledger.MessageHeld(ctx, d.m.Item.ID)
	if err != nil {
		return false, err
	}
	if held {
		return false, d.n.Ledger.DeliveryHeld(ctx, d.m.Item.ID, d.own, "its team was stopped")
	}
	wanted, err := d.n.Ledger.StillWanted(ctx, d.m.Item.ID, d.own)
	if err == nil && !wanted {
		err = d.n.Ledger.DropMessage(ctx, d.m.Item.ID, d.own, "no longer wanted")
	}
	return wanted, err
}

// begin starts the turn and waits for its receipt.
func (d *delivery) begin(ctx context.Context, again bool) error {
	failpoint.Hit(failpoint.TurnSending)
	turn, err := d.host.StartTurn(ctx, d.m.Item.ThreadID, codex.TurnInput{Text: d.m.Text, ClientMessageID: d.m.Item.ID})
	if d.unheld && codex.KindOf(err) == codex.ErrUnknownID {
		return d.startOver(ctx)
	}
	if err != nil {
		return err
	}
	d.sent = true
	failpoint.Hit(failpoint.TurnAnswered)
	unseen := d.unheld
	if unseen {
		if err := d.hold(ctx); err != nil {
			return err
		}
	}
	turnID, err := d.receipt(ctx)
	if err != nil {
		return err
	}
	failpoint.Hit(failpoint.ReceiptSeen)
	if turnID == "" {
		turnID = turn.ID
	}
	return d.delivered(ctx, turnID, again, unseen)
}

// receipt waits until the message is seen in the thread. A host that cannot list
// the thread yet is asked again: Codex refuses to read a history whose first line
// it is writing at that moment.
func (d *delivery) receipt(ctx context.Context) (turnID string, err error) {
	ctx, cancel := context.WithTimeout(ctx, receiptWait)
	defer cancel()
	for {
		turnID, found, err := d.find(ctx)
		if found || codex.KindOf(err) == codex.ErrClosed {
			return turnID, err
		}
		if pause(ctx, receiptPoll) != nil {
			return "", &codex.Error{Kind: codex.ErrTimeout, Message: "the message was sent and not seen in the thread yet", Cause: err}
		}
	}
}
