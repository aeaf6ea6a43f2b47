package fake

import (
	"context"
	"strconv"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/commandline"
	"coxswain/models"
)

// askMethod is what requests of the fake's agents are called in records, as with
// Codex.
const askMethod = "item/commandExecution/requestApproval"

// decideTimeout bounds a decision of the policy.
const decideTimeout = 10 * time.Second

// ask decides what the agent asks leave for, as Codex would: denied where the thread
// asks nobody, else by the policy, else it waits for a person.
func (p *performance) ask(line string) error {
	p.asked++
	asked := commandline.Request(line, p.turn.thread.folder())
	request := codex.ServerRequest{ID: strconv.Itoa(p.asked), Method: askMethod, Detail: cut(line, 500)}
	if !p.turn.thread.mayAsk() {
		request.ID, request.Answer, request.Class = "", codex.AnsweredDenied, models.Classify(asked)[0]
		request.Why = "threads ask nobody under this policy"
		p.emit(codex.Event{Type: codex.EventServerRequest, Request: request})
		return p.verdict(models.VerdictDecline)
	}
	ctx, cancel := context.WithTimeout(p.turn.stopping, decideTimeout)
	defer cancel()
	ruled, wait := p.host.opts.Policy(ctx, asked)
	request.Class, request.Why = ruled.Class, ruled.Why
	if ruled.Ruling == models.RulingAsk {
		request.Asked, request.Wait = &asked, wait
		p.turn.thread.setAsking(request.ID)
		p.emit(codex.Event{Type: codex.EventServerRequest, Request: request})
		return nil
	}
	verdict := models.VerdictDecline
	request.Answer = codex.AnsweredDecline
	if ruled.Ruling == models.RulingAccept {
		verdict, request.Answer = models.VerdictAccept, codex.AnsweredAccept
	}
	p.emit(codex.Event{Type: codex.EventServerRequest, Request: request})
	return p.verdict(verdict)
}

// verdict tells the agent. One that has ended is judged by what it reported.
func (p *performance) verdict(v models.Verdict) error {
	if err := p.turn.agent.send(Steer{Verdict: string(v)}); err != nil {
		p.host.log.Warn("an agent took no verdict", "turn_id", p.turn.id, "error", err)
	}
	return nil
}

// AnswerRequest implements codex.Adapter.
func (h *host) AnswerRequest(ctx context.Context, r codex.RequestRef, a codex.Answer) error {
	if err := h.check(ctx); err != nil {
		return err
	}
	gone := &codex.Error{Kind: codex.ErrRequestGone, Message: "no request " + r.ID + " of thread " + r.ThreadID + " waits"}
	t, ok := h.loaded(r.ThreadID)
	if !ok {
		return gone
	}
	if a.Verdict != models.VerdictAccept && a.Verdict != models.VerdictDecline {
		return refused("a command cannot be answered by "+string(a.Verdict), nil)
	}
	run := t.takeRequest(r)
	if run == nil {
		return gone
	}
	if err := run.agent.send(Steer{Verdict: string(a.Verdict)}); err != nil {
		return gone // the agent has ended, and its turn ends
	}
	h.hub.emit(codex.Event{
		Type: codex.EventRequestResolved, ThreadID: r.ThreadID, TurnID: run.id, At: time.Now().UTC(),
		Request: codex.ServerRequest{ID: r.ID, Method: askMethod},
	})
	return nil
}

func (t *thread) setAsking(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking = id
}

// takeRequest hands out the turn whose request waits, to one caller.
func (t *thread) takeRequest(r codex.RequestRef) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.waitsLocked(r) {
		return nil
	}
	t.asking = ""
	return t.active
}

func (t *thread) waitsLocked(r codex.RequestRef) bool {
	return r.ID != "" && t.asking == r.ID && t.active != nil && t.active.id == r.TurnID
}

// Waits implements codex.Adapter.
func (h *host) Waits(r codex.RequestRef) bool {
	t, ok := h.loaded(r.ThreadID)
	if !ok {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waitsLocked(r)
}

func (t *thread) mayAsk() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spec.AskPerson
}

func (t *thread) folder() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spec.CWD
}
