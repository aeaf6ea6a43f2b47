package activities

import (
	"context"
	"time"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

// Waits of an interrupt. An attempt that does not see the end in time fails and
// is repeated; the leases stay until it does.
const (
	interruptWait = 20 * time.Second
	interruptPoll = 100 * time.Millisecond
)

// InterruptRun carries out an interrupt command: the active turn is interrupted
// until it reads as ended and no background command is left; then the run of an
// ended assignment ends. One that a person stopped waits for the answer.
func (n *Node) InterruptRun(ctx context.Context, in CommandInput) error {
	own := owner(ctx)
	w, open, err := n.Ledger.BeginCommand(ctx, in.CommandID, own)
	if err != nil || !open {
		return failure(err)
	}
	failpoint.Hit(failpoint.InterruptBegun)
	if w.Binding.ThreadID != "" {
		if err := n.stopThread(ctx, w); err != nil {
			return failure(err)
		}
	}
	failpoint.Hit(failpoint.InterruptEnded)
	if err := n.endInterrupted(ctx, w); err != nil {
		return failure(err)
	}
	err = n.Ledger.FinishCommand(ctx, in.CommandID, own, "turn_interrupted")
	failpoint.Hit(failpoint.InterruptFinished)
	return failure(err)
}

// endInterrupted ends the run if that was to end: it was cancelled or superseded,
// or handed off in the turn that a person stopped. It is read again, since its
// assignment may have ended while the turn did.
func (n *Node) endInterrupted(ctx context.Context, w ledger.Work) error {
	run, err := n.Ledger.Run(ctx, w.Run.ID)
	switch {
	case err != nil:
		return err
	case run.Status.CalledOff():
		return n.Ledger.EndRun(ctx, run.ID, "interrupted: "+string(run.Status))
	default:
		return n.Ledger.Settled(ctx, run.ID)
	}
}

// stopThread leaves the thread idle and without commands. A message that may be
// on its way is waited for, so that no turn begins afterwards.
func (n *Node) stopThread(ctx context.Context, w ledger.Work) error {
	host, err := n.Hosts.Host(ctx, w.Binding.AdapterKind)
	if err != nil {
		return err
	}
	unlock, err := n.threads.lock(ctx, w.Binding.ThreadID)
	if err != nil {
		return err
	}
	defer unlock()
	sending, err := n.Ledger.MessageInFlight(ctx, w.Binding.ThreadID)
	if err != nil {
		return err
	}
	if sending {
		return models.Errorf(models.CodeAdapterUnavailable, "a message is on its way into the thread")
	}
	thread, err := host.ReadThread(ctx, w.Binding.ThreadID)
	switch {
	case codex.KindOf(err) == codex.ErrUnknownID:
		return nil // never used, and gone with its host
	case err != nil:
		return unavailable(err)
	case thread.Status == codex.ThreadNotLoaded:
		return n.observeEnd(ctx, host, w.Binding.ThreadID) // its turns ended with the host that ran them
	}
	return n.interruptUntilEnded(ctx, host, w.Binding.ThreadID)
}

func (n *Node) interruptUntilEnded(ctx context.Context, host codex.Adapter, threadID string) error {
	ctx, cancel := context.WithTimeout(ctx, interruptWait)
	defer cancel()
	for {
		turns, err := host.ListTurns(ctx, threadID, 1)
		if err != nil && codex.KindOf(err) != codex.ErrUnknownID {
			return unavailable(err)
		}
		if len(turns) == 0 || turns[0].Status != codex.TurnInProgress {
			break
		}
		failpoint.Hit(failpoint.InterruptSending)
		if err := host.InterruptTurn(ctx, threadID, turns[0].ID); err != nil && codex.KindOf(err) != codex.ErrTurnMismatch {
			return unavailable(err)
		}
		failpoint.Hit(failpoint.InterruptSent)
		if err := pause(ctx, interruptPoll); err != nil {
			return models.Errorf(models.CodeAdapterUnavailable, "the turn has not ended yet")
		}
	}
	for {
		left, err := host.CleanBackgroundTerminals(ctx, threadID)
		if err != nil {
			return unavailable(err)
		}
		if left == 0 {
			return n.observeEnd(ctx, host, threadID)
		}
		if err := pause(ctx, interruptPoll); err != nil {
			return models.Errorf(models.CodeAdapterUnavailable, "%d commands of the turn are still running", left)
		}
	}
}

// observeEnd writes the ends that the host knows of turns that the ledger holds
// for active.
func (n *Node) observeEnd(ctx context.Context, host codex.Adapter, threadID string) error {
	turns, err := host.ListTurns(ctx, threadID, 0)
	if codex.KindOf(err) == codex.ErrUnknownID {
		return nil
	}
	if err != nil {
		return unavailable(err)
	}
	for _, t := range turns {
		if t.Status == codex.TurnInProgress {
			continue
		}
		if err := n.Ledger.EndKnownTurn(ctx, TurnReport(threadID, t)); err != nil {
			return err
		}
	}
	return nil
}

// TurnReport turns a host's view of an ended turn into the ledger's.
func TurnReport(threadID string, t codex.Turn) ledger.TurnReport {
	r := ledger.TurnReport{ThreadID: threadID, TurnID: t.ID, Error: t.Error, ErrorKind: t.ErrorKind}
	switch t.Status {
	case codex.TurnCompleted:
		r.Status = models.TurnCompleted
	case codex.TurnFailed:
		r.Status = models.TurnFailed
	case codex.TurnInterrupted:
		r.Status = models.TurnInterrupted
	case codex.TurnInProgress:
		r.Status = models.TurnActive
	}
	return r
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Halt ends the active turn of a thread whose team was stopped, with its commands, and
// records that. It is a function, so that it is not registered as an activity among
// the node's methods.
func Halt(ctx context.Context, n *Node, b models.Binding) error {
	return n.stopThread(ctx, ledger.Work{Binding: b})
}
