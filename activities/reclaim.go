package activities

import (
	"context"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

// reclaim finds the thread that carried a command out before the ledger was set back:
// the ledger does not know it any more, and it holds the message whose id comes from
// the command's. "" where there is none, and where the ledger was never set back.
func (n *Node) reclaim(ctx context.Context, host codex.Adapter, w ledger.Work) (string, error) {
	epoch, err := n.Ledger.Epoch(ctx)
	if err != nil || epoch <= 1 {
		return "", err
	}
	spec, err := n.spec(ctx, w.Binding.ID)
	if err != nil {
		return "", err
	}
	ids, err := host.StoredThreads(ctx, spec.CWD)
	if err != nil {
		return "", unavailable(err)
	}
	for _, id := range ids {
		known, err := n.Ledger.KnowsThread(ctx, id)
		if err != nil {
			return "", err
		}
		if known || !holdsMessage(ctx, host, id, models.MessageID(w.Command.ID)) {
			continue
		}
		n.Log.Info("take back the thread that worked for this command before the ledger was set back", "thread", id, "command", w.Command.ID)
		return id, n.Ledger.DoubtCommand(ctx, w.Command.ID, w.Command.Owner)
	}
	return "", nil
}

// holdsMessage tells whether a thread's history has a message. A thread that cannot
// be read is nobody's.
func holdsMessage(ctx context.Context, host codex.Adapter, threadID, messageID string) bool {
	items, err := host.ListTurnItems(ctx, threadID, "")
	if err != nil {
		return false
	}
	for _, it := range items {
		if it.ClientID == messageID {
			return true
		}
	}
	return false
}
