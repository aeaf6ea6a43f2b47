package activities

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

// Reattach makes a freshly opened host hold every thread of the node that has
// something under way, and writes what became of the turns that the ledger holds
// for active: ended ones end, and those that their host took along are lost. Empty
// threads of a server that a dead worker started and never recorded are archived. It
// goes on after a thread that fails and returns all failures. It is a function, so
// that it is not registered as an activity among the node's methods.
func Reattach(ctx context.Context, n *Node, host codex.Adapter) error {
	if err := n.archiveOrphans(ctx, host, host.Kind()); err != nil {
		n.Log.Warn("threads that nothing owns were not archived", "adapter", host.Kind(), "error", err)
	}
	watched, err := n.Ledger.WatchedThreads(ctx, n.Config.NodeID, host.Kind())
	if err != nil {
		return err
	}
	failed := make([]error, len(watched))
	var g errgroup.Group
	g.SetLimit(attachAtOnce)
	for i, w := range watched {
		g.Go(func() error {
			if err := n.reattachThread(ctx, host, w); err != nil {
				failed[i] = models.Errorf(models.CodeAdapterUnavailable, "thread %s was not attached again", w.Binding.ThreadID).Because(err)
			}
			return nil // one thread's failure stops no other
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// attachAtOnce is how many threads are resumed at a time: each starts a tool
// server.
const attachAtOnce = 4

func (n *Node) reattachThread(ctx context.Context, host codex.Adapter, w ledger.Watched) error {
	id := w.Binding.ThreadID
	unlock, err := n.threads.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	spec, err := n.spec(ctx, w.Binding.ID)
	if err != nil {
		return err
	}
	failpoint.Hit(failpoint.ThreadAttaching)
	_, err = host.ResumeThread(ctx, id, spec)
	failpoint.Hit(failpoint.ThreadAttached)
	unknown := codex.KindOf(err) == codex.ErrUnknownID
	if err != nil && !unknown {
		return err
	}
	if unknown && len(w.Turns) == 0 {
		return nil // an empty thread is gone with its host; the sender replaces it
	}
	var turns []codex.Turn
	if !unknown {
		if turns, err = host.ListTurns(ctx, id, 0); err != nil {
			return err
		}
		n.logMissed(ctx, host, w)
	}
	return n.settleTurns(ctx, host, w, turns)
}

// logMissed records what turns did while nobody watched them. Only the log is
// poorer where it cannot be read.
func (n *Node) logMissed(ctx context.Context, host codex.Adapter, w ledger.Watched) {
	for _, t := range w.Turns {
		if t.Status.Ended() {
			continue
		}
		items, err := host.ListTurnItems(ctx, t.ThreadID, t.ID)
		if err == nil {
			err = n.Ledger.RecordItems(ctx, t.ThreadID, seenItems(items))
		}
		if err != nil {
			n.Log.Warn("what a turn did meanwhile was not recorded", "thread", t.ThreadID, "turn", t.ID, "error", err)
		}
	}
}

func seenItems(items []codex.Item) []ledger.SeenItem {
	items = items[max(len(items)-ledger.MaxRunItems, 0):]
	out := make([]ledger.SeenItem, 0, len(items))
	for _, i := range items {
		out = append(out, SeenItem(i))
	}
	return out
}

// SeenItem turns a host's view of a finished item into the ledger's.
func SeenItem(i codex.Item) ledger.SeenItem {
	return ledger.SeenItem{ID: i.ID, TurnID: i.TurnID, Type: i.Type, Status: i.Status, ClientID: i.ClientID, Text: i.Text}
}

// settleTurns compares the ledger's turns with those of the host, and ends a finished
// run whose turn is over.
func (n *Node) settleTurns(ctx context.Context, host codex.Adapter, w ledger.Watched, turns []codex.Turn) error {
	var failed []error
	active := false
	seen := map[string]codex.Turn{}
	for _, t := range turns {
		seen[t.ID] = t
		if t.Status == codex.TurnInProgress {
			active = true
			failed = append(failed, n.meet(ctx, host, w, t))
		}
	}
	for _, t := range w.Turns {
		h, known := seen[t.ID]
		switch {
		case t.Status.Ended() || h.Status == codex.TurnInProgress:
		case known:
			failed = append(failed, n.Ledger.EndTurn(ctx, TurnReport(t.ThreadID, h)))
		default:
			failed = append(failed, n.Ledger.LoseTurn(ctx, t.ThreadID, t.ID))
		}
	}
	if w.Run.ID != "" && !active {
		failed = append(failed, n.Ledger.Settled(ctx, w.Run.ID))
	}
	return errors.Join(failed...)
}

// meet records a turn that is under way, which began unseen when its sender was killed
// before the receipt. One that nobody waits for any more is stopped.
func (n *Node) meet(ctx context.Context, host codex.Adapter, w ledger.Watched, t codex.Turn) error {
	report := ledger.TurnReport{ThreadID: w.Binding.ThreadID, TurnID: t.ID}
	if !slices.ContainsFunc(w.Turns, func(known models.Turn) bool { return known.ID == t.ID }) {
		items, err := host.ListTurnItems(ctx, report.ThreadID, t.ID)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(items, func(i codex.Item) bool { return i.ClientID != "" }); i >= 0 {
			report.CauseID = items[i].ClientID
		}
	}
	unwanted, err := n.Ledger.TurnStarted(ctx, report)
	if err != nil || !unwanted {
		return err
	}
	err = host.InterruptTurn(ctx, report.ThreadID, t.ID)
	if codex.KindOf(err) == codex.ErrTurnMismatch {
		return nil // it ended meanwhile
	}
	return err
}
