package activities

import (
	"context"
	"errors"

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
	ended := map[string]codex.Turn{}
	if !unknown {
		turns, err := host.ListTurns(ctx, id, 0)
		if err != nil {
			return err
		}
		for _, t := range turns {
			ended[t.ID] = t
		}
	}
	if !unknown {
		n.logMissed(ctx, host, w)
	}
	return n.settleTurns(ctx, w, ended)
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

// settleTurns compares the ledger's active turns with what the host knows, and
// ends a finished run whose turn is over.
func (n *Node) settleTurns(ctx context.Context, w ledger.Watched, host map[string]codex.Turn) error {
	var failed []error
	active := false
	for _, t := range w.Turns {
		if t.Status.Ended() {
			continue
		}
		h, known := host[t.ID]
		switch {
		case !known:
			failed = append(failed, n.Ledger.LoseTurn(ctx, t.ThreadID, t.ID))
		case h.Status == codex.TurnInProgress:
			active = true
		default:
			failed = append(failed, n.Ledger.EndTurn(ctx, TurnReport(t.ThreadID, h)))
		}
	}
	if w.Run.ID != "" && !active {
		failed = append(failed, n.Ledger.Settled(ctx, w.Run.ID))
	}
	return errors.Join(failed...)
}
