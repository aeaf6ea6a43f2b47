package appserver

import (
	"context"
	"encoding/json"
	"time"

	"coxswain/activities/codex"
	"coxswain/models"
)

// maxAnswers is how many of the server's requests are decided at a time; what
// comes on top is declined at once.
const maxAnswers = 64

// serverRequest decides a request of the server without holding up the reader. It is
// entered before, so that its end is noticed whenever it comes.
func (h *Host) serverRequest(m message) {
	r := h.readRequest(m)
	h.requests.add(r)
	select {
	case h.answers <- struct{}{}:
	default:
		h.log.Warn("too many requests of codex at once", "limit", maxAnswers)
		ruled := models.Ruled{Ruling: models.RulingDecline, Class: models.Classify(r.asked)[0], Why: "too many requests at once"}
		go h.rule(r, ruled, 0)
		return
	}
	go func() {
		defer func() { <-h.answers }()
		ruled, wait := h.decide(r)
		h.rule(r, ruled, wait)
	}()
}

// decide asks the policy within its limit.
func (h *Host) decide(r *waitingRequest) (models.Ruled, time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), h.opts.AnswerTimeout)
	defer cancel()
	type decision struct {
		ruled models.Ruled
		wait  time.Duration
	}
	decided := make(chan decision, 1)
	go func() {
		ruled, wait := h.opts.Policy(ctx, r.asked)
		decided <- decision{ruled, wait}
	}()
	select {
	case d := <-decided:
		return d.ruled, d.wait
	case <-ctx.Done():
		h.log.Warn("no decision on a request of codex in time", "method", r.method, "limit", h.opts.AnswerTimeout)
	case <-h.done:
	}
	return models.Ruled{Ruling: models.RulingDecline, Class: models.Classify(r.asked)[0], Why: "the policy did not decide in time"}, 0
}

// rule answers a request as decided, or lets it wait for a person, and reports it. A
// question that cannot be declined in its own words is refused.
func (h *Host) rule(r *waitingRequest, ruled models.Ruled, wait time.Duration) {
	request := codex.ServerRequest{ID: r.id(), Method: r.method, Detail: r.detail(), Class: ruled.Class, Why: ruled.Why}
	if ruled.Ruling == models.RulingAsk && r.answerable() {
		if !h.requests.wait(r) {
			return // it has ended meanwhile
		}
		request.Asked, request.Wait = &r.asked, wait
		h.tellRequest(r, request)
		return
	}
	verdict := map[models.Ruling]models.Verdict{models.RulingAccept: models.VerdictAccept, models.RulingDecline: models.VerdictDecline}[ruled.Ruling]
	result := r.result(codex.Answer{Verdict: verdict})
	request.Answer = map[models.Verdict]string{models.VerdictAccept: codex.AnsweredAccept, models.VerdictDecline: codex.AnsweredDecline}[verdict]
	var refusal *rpcError
	if result == nil {
		request.Answer = codex.AnsweredRefuse
		refusal = &rpcError{Code: -32601, Message: "not answered here: " + r.method}
	}
	h.requests.forget(r)
	if err := h.rpc.reply(r.raw, result, refusal); err != nil {
		h.log.Warn("answering codex", "method", r.method, "error", err)
		return
	}
	h.tellRequest(r, request)
}

func (h *Host) tellRequest(r *waitingRequest, request codex.ServerRequest) {
	h.log.Info("a request of codex", "method", r.method, "answer", request.Answer, "class", request.Class, "thread", r.threadID, "detail", request.Detail)
	h.hub.emit(codex.Event{
		Type: codex.EventServerRequest, ThreadID: r.threadID, TurnID: r.turnID, Request: request, At: time.Now().UTC(),
	})
}

// Waits implements codex.Adapter.
func (h *Host) Waits(ref codex.RequestRef) bool { return h.requests.waits(ref) }

// AnswerRequest implements codex.Adapter.
func (h *Host) AnswerRequest(_ context.Context, ref codex.RequestRef, a codex.Answer) error {
	r := h.requests.take(ref)
	if r == nil {
		return &codex.Error{Kind: codex.ErrRequestGone, Message: "no request " + ref.ID + " of thread " + ref.ThreadID + " waits"}
	}
	result := r.result(a)
	if result == nil {
		h.requests.giveBack(r)
		return refused("%s cannot be answered by %q", r.method, a.Verdict)
	}
	if err := h.rpc.reply(r.raw, result, nil); err != nil {
		return &codex.Error{Kind: codex.ErrClosed, Message: "answering " + r.method, Cause: err}
	}
	h.log.Info("a person's answer was sent to codex", "method", r.method, "verdict", a.Verdict, "thread", ref.ThreadID)
	return nil
}

// resolved reports that a request waits no more, where somebody was told that it did.
func (h *Host) resolved(params json.RawMessage, now time.Time) {
	var p struct {
		ThreadID  string          `json:"threadId"`
		RequestID json.RawMessage `json:"requestId"`
	}
	if decode(params, &p) != nil {
		return
	}
	if r := h.requests.end(p.ThreadID, string(p.RequestID)); r != nil && r.told {
		h.hub.emit(codex.Event{
			Type: codex.EventRequestResolved, ThreadID: r.threadID, TurnID: r.turnID, At: now,
			Request: codex.ServerRequest{ID: r.id(), Method: r.method},
		})
	}
}
