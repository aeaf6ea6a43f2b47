package worker

import (
	"context"
	"log/slog"
	"time"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

// answerRetry is when answers that are due are tried again, and requests that nobody
// answered are looked for, without a change of the ledger.
const answerRetry = time.Second

// answers gives people's answers to the hosts whose requests wait for them. An answer
// is marked as sent before it is given; where the worker dies in between, the host still
// shows the request, and the same answer is given again. Where the host shows it no
// more, nothing is given: the end of the request or of its turn settles the answer.
type answers struct {
	ledger *ledger.Ledger
	node   string
	hosts  interface {
		opened(kind string) codex.Adapter
	}
	log *slog.Logger
}

func (a answers) run(ctx context.Context) error {
	watch, err := a.ledger.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close() //nolint:errcheck // a read-only handle
	var last time.Time
	return every(ctx, relayPoll, func() {
		changed, err := watch.Changed(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("answers to requests cannot be seen", "error", err)
			return
		}
		if changed || time.Since(last) >= answerRetry {
			last = time.Now()
			a.give(ctx)
		}
	})
}

// give declines what nobody answered in time and gives every answer that is due.
func (a answers) give(ctx context.Context) {
	err := a.ledger.ExpireRequests(ctx, a.node)
	if err == nil {
		var due []models.Approval
		due, err = a.ledger.DueAnswers(ctx, a.node)
		for _, d := range due {
			a.answer(ctx, d)
		}
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("answers to requests cannot be read", "error", err)
	}
}

func (a answers) answer(ctx context.Context, d models.Approval) {
	host := a.hosts.opened(d.AdapterKind)
	ref := codex.RequestRef{ThreadID: d.ThreadID, TurnID: d.TurnID, ID: d.RequestID}
	if host == nil || !host.Waits(ref) {
		return
	}
	due, err := a.ledger.AnswerSending(ctx, d.ID)
	if err == nil && due {
		err = host.AnswerRequest(ctx, ref, codex.Answer{Verdict: d.Verdict, Words: d.Words})
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("an answer to a request was not given", "intervention", d.ID, "thread", d.ThreadID, "error", err)
	}
}
