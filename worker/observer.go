package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

// flushInterval bounds how often what was heard of a turn is written.
const flushInterval = models.ReportDelay / 2

// observer writes what hosts report into the ledger. Starts, ends and answered
// requests are written in order, one after the other; progress is collected in
// memory, one small record per active turn, and written at an interval.
type observer struct {
	ledger *ledger.Ledger
	log    *slog.Logger
	facts  chan fact
	retry  time.Duration // before a fact that the ledger could not take is written again

	mu    sync.Mutex
	turns map[string]*ledger.TurnReport // by thread: the turn under way
}

type fact struct {
	host  codex.Adapter
	event codex.Event
}

// factQueue is how many starts, ends and requests may wait to be written before
// the host is slowed down.
const factQueue = 1024

func newObserver(l *ledger.Ledger, log *slog.Logger) *observer {
	return &observer{ledger: l, log: log, facts: make(chan fact, factQueue), retry: time.Second, turns: map[string]*ledger.TurnReport{}}
}

// handler is the subscriber of a host.
func (o *observer) handler(host codex.Adapter) func(codex.Event) {
	return func(e codex.Event) {
		switch e.Type {
		case codex.EventTurnStarted, codex.EventTurnEnded, codex.EventServerRequest, codex.EventRequestResolved:
			o.facts <- fact{host, e}
		case codex.EventItemCompleted:
			if e.Item.ClientID != "" {
				o.facts <- fact{host, e}
			}
			o.note(e)
		case codex.EventProgress, codex.EventTokens, codex.EventSign:
			o.note(e)
		case codex.EventRateLimits:
			o.limits(e)
		case codex.EventThreadClosed: // the next use resumes it
		}
	}
}

// note collects progress of the turn under way.
func (o *observer) note(e codex.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.turn(e)
	switch e.Type {
	case codex.EventItemCompleted:
		r.Items, r.LastItem, r.Progress = r.Items+1, e.Item.Type, true
		r.Seen = newest(append(r.Seen, seen(e)))
	case codex.EventTokens:
		r.Tokens = models.TokenUsage{Input: e.Tokens.Input, Output: e.Tokens.Output, Total: e.Tokens.Total}
	case codex.EventProgress:
		r.Progress = true
	default: // a sign of life alone
	}
	r.Sign = true
}

func (o *observer) turn(e codex.Event) *ledger.TurnReport {
	r := o.turns[e.ThreadID]
	if r == nil || e.TurnID != "" && r.TurnID != e.TurnID {
		next := &ledger.TurnReport{ThreadID: e.ThreadID, TurnID: e.TurnID}
		if r != nil {
			next.Tokens = r.Tokens // totals belong to the thread
		}
		r = next
		o.turns[e.ThreadID] = r
	}
	return r
}

// limits belong to the account, so that every turn under way records them.
func (o *observer) limits(e codex.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.turns {
		r.Limits = e.Limits
	}
}

// run writes until ctx ends; what is queued then is read from the thread again at
// the next start, and progress is written a last time.
func (o *observer) run(ctx context.Context) error {
	t := time.NewTicker(flushInterval)
	defer t.Stop()
	for {
		select {
		case f := <-o.facts:
			o.persist(ctx, f)
		case <-t.C:
			o.flush(ctx)
		case <-ctx.Done():
			o.lastFlush(ctx)
			return nil
		}
	}
}

// lastFlush writes what was collected when the worker stops, within a moment.
func (o *observer) lastFlush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	o.flush(ctx)
}

// persist writes a fact. A ledger that is busy or away is waited for, since an end
// that is not written would leave its turn active until the next start.
func (o *observer) persist(ctx context.Context, f fact) {
	for {
		err := o.write(ctx, f)
		if err == nil || ctx.Err() != nil {
			return
		}
		again := models.IsCode(err, models.CodeLedgerBusy) || models.IsCode(err, models.CodeLedgerUnavailable)
		o.log.Error("an observed fact was not written", "event", f.event.Type, "thread", f.event.ThreadID, "turn", f.event.TurnID, "again", again, "error", err)
		if !again {
			return
		}
		select {
		case <-time.After(o.retry):
		case <-ctx.Done():
		}
	}
}

func (o *observer) write(ctx context.Context, f fact) error {
	e := f.event
	switch e.Type {
	case codex.EventTurnStarted, codex.EventItemCompleted:
		failpoint.Hit(failpoint.TurnStartSeen)
		unwanted, err := o.ledger.TurnStarted(ctx, ledger.TurnReport{ThreadID: e.ThreadID, TurnID: e.TurnID, CauseID: e.Item.ClientID})
		failpoint.Hit(failpoint.TurnStartWritten)
		if err == nil && unwanted && e.Type == codex.EventTurnStarted {
			go o.stop(ctx, f)
		}
		return err
	case codex.EventTurnEnded:
		failpoint.Hit(failpoint.TurnEndSeen)
		err := o.ledger.EndTurn(ctx, o.ending(e))
		failpoint.Hit(failpoint.TurnEndWritten)
		return err
	case codex.EventServerRequest:
		if e.Request.Asked != nil {
			return o.ask(ctx, f)
		}
		return o.answered(ctx, e, e.Request.Answer, e.Request.Why)
	case codex.EventRequestResolved:
		return o.ledger.RequestResolved(ctx, e.ThreadID, e.TurnID, e.Request.ID)
	default:
		return nil
	}
}

// stop interrupts a turn that began after its run had ended.
func (o *observer) stop(ctx context.Context, f fact) {
	err := f.host.InterruptTurn(ctx, f.event.ThreadID, f.event.TurnID)
	if err != nil && codex.KindOf(err) != codex.ErrTurnMismatch && ctx.Err() == nil {
		o.log.Warn("a turn of an ended run was not interrupted", "thread", f.event.ThreadID, "turn", f.event.TurnID, "error", err)
	}
}

// ending joins the end of a turn with what was collected of it.
func (o *observer) ending(e codex.Event) ledger.TurnReport {
	o.mu.Lock()
	defer o.mu.Unlock()
	turn := e.Turn
	turn.ID = e.TurnID
	out := activities.TurnReport(e.ThreadID, turn)
	if r := o.turns[e.ThreadID]; r != nil && r.TurnID == e.TurnID {
		out.Items, out.LastItem, out.Tokens, out.Limits, out.Seen = r.Items, r.LastItem, r.Tokens, r.Limits, r.Seen
		delete(o.turns, e.ThreadID)
	}
	return out
}

// flush writes the progress of the turns that moved since the last time.
func (o *observer) flush(ctx context.Context) {
	for _, r := range o.moved() {
		if err := o.ledger.TurnProgress(ctx, r); err != nil && ctx.Err() == nil {
			o.unwritten(r)
			o.log.Warn("the progress of a turn was not written", "thread", r.ThreadID, "turn", r.TurnID, "error", err)
		}
	}
}

func (o *observer) moved() []ledger.TurnReport {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []ledger.TurnReport
	for _, r := range o.turns {
		if r.TurnID != "" && r.Sign {
			out = append(out, *r)
			r.Progress, r.Sign, r.Limits, r.Seen = false, false, nil, nil
		}
	}
	return out
}

// maxSeen is how many finished items of a turn wait in memory to be written.
const maxSeen = 200

func newest(items []ledger.SeenItem) []ledger.SeenItem { return items[max(len(items)-maxSeen, 0):] }

func seen(e codex.Event) ledger.SeenItem {
	i := activities.SeenItem(e.Item)
	i.TurnID, i.At = e.TurnID, e.At
	return i
}

// unwritten keeps the finished items of a report that the ledger could not take.
func (o *observer) unwritten(r ledger.TurnReport) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.turns[r.ThreadID]; now != nil && now.TurnID == r.TurnID {
		now.Seen, now.Progress, now.Sign = newest(append(r.Seen, now.Seen...)), now.Progress || r.Progress, true
	}
}

// ended says when a host ended by itself.
func (o *observer) ended(host codex.Adapter) {
	<-host.Done()
	if err := host.Err(); err != nil {
		o.log.Error("the adapter host ended", "adapter", host.Kind(), "error", err)
	}
}
