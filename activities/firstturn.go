package activities

import (
	"context"

	"coxswain/activities/codex"
	"coxswain/models/ledger/failpoint"
)

// An empty thread that an earlier host of the same server started has no history to
// resume from. It takes its first turn before that, and is resumed then, so that its
// events come; what happened in between is read from its history.

// hold resumes the thread after its first turn began. Its history appears a moment
// after the turn does.
func (d *delivery) hold(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, receiptWait)
	defer cancel()
	for {
		held, err := d.resume(ctx)
		if held || err != nil {
			return err
		}
		if pause(ctx, receiptPoll) != nil {
			return &codex.Error{Kind: codex.ErrTimeout, Message: "the thread's first turn began and cannot be resumed yet"}
		}
	}
}

// resume makes the host hold the thread; false means that it has no history.
func (d *delivery) resume(ctx context.Context) (held bool, err error) {
	spec, err := d.n.spec(ctx, d.m.Binding.ID)
	if err != nil {
		return false, err
	}
	_, err = d.host.ResumeThread(ctx, d.m.Item.ThreadID, spec)
	if codex.KindOf(err) == codex.ErrUnknownID {
		return false, nil
	}
	if err == nil {
		d.unheld = false
	}
	return err == nil, err
}

// delivered writes the receipt, and the end of a turn that ended before the thread
// was held.
func (d *delivery) delivered(ctx context.Context, turnID string, again, unseen bool) error {
	err := d.n.Ledger.Delivered(ctx, d.m.Item.ID, d.own, turnID, again)
	failpoint.Hit(failpoint.ReceiptWritten)
	if err != nil || !unseen {
		return err
	}
	return d.n.observeEnd(ctx, d.host, d.m.Item.ThreadID)
}

// startOver replaces a thread that cannot be used any more.
func (d *delivery) startOver(ctx context.Context) error {
	if err := d.host.ArchiveThread(ctx, d.m.Item.ThreadID); err != nil { // empty, and perhaps still in a server's memory
		return err
	}
	_, err := d.replace(ctx)
	return err
}
