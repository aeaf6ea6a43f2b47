package worker

import (
	"context"
	"sync/atomic"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker/notify"
)

// Settings are what may change while a worker runs.
type Settings struct {
	MaxRuns       int           // runs of the node at a time; 0 is no cap
	NotifyCommand string        // "" tells nobody
	NotifyTimeout time.Duration // 0 is the default
	Config        models.ConfigNote
}

// live are the settings in force. Parts of the worker read them at each use.
type live struct{ now atomic.Pointer[Settings] }

func (v *live) get() Settings { return *v.now.Load() }

// follow takes over settings as they come: the ledger's part in one transaction.
func (v *live) follow(ctx context.Context, o Options, nodeID string) error {
	for {
		select {
		case s := <-o.Changes:
			if err := o.Ledger.ConfigureNode(ctx, nodeID, s.MaxRuns, s.Config); err != nil {
				if ctx.Err() == nil {
					o.Log.Warn("the settings were not taken over; the next change is", "error", err)
				}
				continue
			}
			v.now.Store(&s)
		case <-ctx.Done():
			return nil
		}
	}
}

// notices latches the alerts of the node whenever the ledger changes, and tells them.
type notices struct {
	ledger *ledger.Ledger
	nodeID string
	live   *live
	tell   func(ctx context.Context, s Settings, n models.Notice) error
	warn   func(text string, args ...any)
}

func newNotices(o Options, settings *live, nodeID string) *notices {
	return &notices{
		ledger: o.Ledger, nodeID: nodeID, live: settings, warn: o.Log.Warn,
		tell: func(ctx context.Context, s Settings, n models.Notice) error {
			n.Payload["attempt"] = n.Attempts // from the second on it may have been told before
			return notify.Run(ctx, s.NotifyCommand, s.NotifyTimeout, n.Payload, o.Env)
		},
	}
}

// Figures of the notices: what only time brings, such as a node that went silent, is
// looked for now and then.
const (
	noticePoll = time.Second
	noticeIdle = 30 * time.Second
)

func (n *notices) run(ctx context.Context) error {
	watch, err := n.ledger.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close() //nolint:errcheck // a read-only handle
	var last time.Time
	return every(ctx, noticePoll, func() {
		if n.live.get().NotifyCommand == "" {
			return
		}
		changed, err := watch.Changed(ctx)
		if err == nil && !changed && time.Since(last) < noticeIdle {
			return
		}
		last = time.Now()
		if err := n.pass(ctx); err != nil && ctx.Err() == nil {
			n.warn("the alerts cannot be kept", "error", err)
		}
	})
}

// pass latches, then tells what was not told. A failure of the command is recorded and
// logged once; the next change is told all the same.
func (n *notices) pass(ctx context.Context) error {
	if _, err := n.ledger.LatchAlerts(ctx, n.nodeID); err != nil {
		return err
	}
	for ctx.Err() == nil {
		notice, found, err := n.ledger.NextNotice(ctx, n.nodeID)
		if err != nil || !found {
			return err
		}
		failure := ""
		if err := n.tell(ctx, n.live.get(), notice); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // told again under the same id by the next worker
			}
			failure = err.Error()
			n.warn("the notify command failed", "notice", notice.ID, "kind", notice.Kind, "change", notice.Change, "error", err)
		}
		if err := n.ledger.EndNotice(ctx, notice.ID, failure); err != nil {
			return err
		}
	}
	return nil
}
