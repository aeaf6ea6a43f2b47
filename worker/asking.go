package worker

import (
	"context"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

// ask records a request that needs a person. Where nobody is to be asked, since its run
// has ended or is being stopped, it is declined at once.
func (o *observer) ask(ctx context.Context, f fact) error {
	e := f.event
	asking, err := o.ledger.AskPerson(ctx, ledger.AskedRequest{
		ThreadID: e.ThreadID, TurnID: e.TurnID, RequestID: e.Request.ID, Method: e.Request.Method,
		Class: e.Request.Class, Why: e.Request.Why, Wait: e.Request.Wait, Request: *e.Request.Asked,
	})
	if err != nil {
		return err
	}
	if asking.Unwanted == "" {
		o.log.Info("a request of an agent waits for a person", "intervention", asking.InterventionID, "class", e.Request.Class, "thread", e.ThreadID)
		return nil
	}
	err = f.host.AnswerRequest(ctx, codex.RequestRef{ThreadID: e.ThreadID, TurnID: e.TurnID, ID: e.Request.ID}, codex.Answer{Verdict: models.VerdictDecline})
	if err != nil && codex.KindOf(err) != codex.ErrRequestGone {
		o.log.Warn("a request that nobody is asked about was not declined", "thread", e.ThreadID, "error", err)
	}
	return o.answered(ctx, e, codex.AnsweredDecline, asking.Unwanted)
}

// answered records a request that was answered without a person.
func (o *observer) answered(ctx context.Context, e codex.Event, answer, why string) error {
	return o.ledger.ObserveRequest(ctx, ledger.Answered{
		ThreadID: e.ThreadID, Method: e.Request.Method, Answer: answer, Detail: e.Request.Detail, Class: e.Request.Class, Why: why,
	})
}
