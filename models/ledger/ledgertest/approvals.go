package ledgertest

import (
	"encoding/json"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func approvalTests() map[string]func(*env) {
	return map[string]func(*env){
		"approval/one_question_for_a_request":   approvalAsked,
		"approval/answer_reaches_its_request":   approvalAnswered,
		"approval/given_words":                  approvalWords,
		"approval/wrong_answers":                approvalWrong,
		"approval/risk_needs_a_person":          approvalRisk,
		"approval/gone_with_its_turn":           approvalGone,
		"approval/gone_before_it_was_sent":      approvalUnsent,
		"approval/resolved_elsewhere":           approvalElsewhere,
		"approval/nobody_answers":               approvalExpires,
		"approval/messages_are_held":            approvalHolds,
		"approval/nobody_to_ask":                approvalUnwanted,
		"approval/secrets_are_blacked_out":      approvalSecrets,
		"approval/claim_is_renewed_while_asked": approvalRenews,
		"approval/cancel_closes_it":             approvalCancelled,
		"approval/a_stop_takes_its_place":       approvalStopped,
		"approval/denials_are_recorded":         approvalDenied,
	}
}

// request is what the first thread asks in its first turn.
func request(id, command string, class models.RiskClass) ledger.AskedRequest {
	return ledger.AskedRequest{
		ThreadID: "thread-one", TurnID: "turn-1", RequestID: id, Method: "item/commandExecution/requestApproval", Class: class, Why: "the policy says ask", Wait: time.Hour,
		Request: models.ApprovalRequest{Kind: models.RequestCommand, Command: command, Argv: strings.Fields(command), Commands: [][]string{strings.Fields(command)}, CWD: "/repo/example", Reason: "needed"},
	}
}

// asked is a run of the first thread that waits for an answer to a request.
func (e *env) asked(command string, class models.RiskClass) (run models.Run, by models.Principal, id string) {
	e.Helper()
	e.node()
	run, by = e.managed("one")
	e.startTurn("thread-one", "turn-1")
	a, err := e.l.AskPerson(e.ctx, request("0", command, class))
	e.ok(err)
	same(e, "asked", a.Unwanted, "")
	return run, by, a.InterventionID
}

func (e *env) verdict(by models.Principal, id string, v models.Verdict, note string) (ledger.Decided, error) {
	return e.l.AnswerRequest(e.ctx, ledger.As(by), id, v, note)
}

func (e *env) approval(id string) models.Approval {
	e.Helper()
	a, err := e.l.Approval(e.ctx, id)
	e.ok(err)
	return a
}

func (e *env) due() []models.Approval {
	e.Helper()
	due, err := e.l.DueAnswers(e.ctx, "node-1")
	e.ok(err)
	return due
}

func approvalAsked(e *env) {
	run, _, id := e.asked("git push origin main", models.RiskPush)
	same(e, "run", e.run(run.ID).Status, models.RunAwaitingApproval)
	same(e, "assignment", e.assignment("one").Status, models.AssignmentAwaitingApproval)
	again, err := e.l.AskPerson(e.ctx, request("0", "git push origin main", models.RiskPush))
	e.ok(err)
	same(e, "the same request finds its question", again.InterventionID, id)
	open, err := e.l.Interventions(e.ctx, ledger.InterventionFilter{RunID: run.ID, Status: "open"})
	e.ok(err)
	same(e, "one question", len(open), 1)
	q := open[0]
	same(e, "kind", q.Kind, models.InterventionApproval)
	same(e, "asked by the worker", q.RequestedBy, run.ActorID)
	for _, part := range []string{"git push origin main", "git_push", "/repo/example", "needed"} {
		same(e, "the prompt says "+part, strings.Contains(q.Prompt, part), true)
	}
	same(e, "what accepting does", strings.Contains(q.Packet["accept_does"].(string), "outside the sandbox"), true)
	shown, _ := q.Packet["request"].(map[string]any)
	sameJSON(e, "the words", shown["argv"], []string{"git", "push", "origin", "main"})
	entries := e.inbox(ledger.InboxFilter{})
	same(e, "in the inbox", len(entries) == 1 && entries[0].Kind == models.InboxApproval && entries[0].ID == id, true)
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	same(e, "nothing is planned meanwhile", len(plan.Commands)+plan.Asks, 0)
	same(e, "nothing is due", len(e.due()), 0)
}

func approvalAnswered(e *env) {
	run, _, id := e.asked("git push", models.RiskPush)
	second, err := e.l.AskPerson(e.ctx, request("1", "make deploy", models.RiskDeployment))
	e.ok(err)
	d, err := e.verdict(ann, id, models.VerdictAccept, "go ahead")
	e.ok(err)
	same(e, "due", d.Approval.State, models.ApprovalAnswered)
	same(e, "the other one is open", e.run(run.ID).Status, models.RunAwaitingApproval)
	_, err = e.verdict(ann, second.InterventionID, models.VerdictDecline, "")
	e.ok(err)
	same(e, "the run goes on", e.run(run.ID).Status, models.RunRunning)
	same(e, "the assignment too", e.assignment("one").Status, models.AssignmentRunning)
	due := e.due()
	same(e, "both are due", len(due) == 2 && e.approval(id).Verdict == models.VerdictAccept && e.approval(second.InterventionID).Verdict == models.VerdictDecline, true)
	for _, a := range due {
		ok, err := e.l.AnswerSending(e.ctx, a.ID)
		e.ok(err)
		same(e, "may be sent", ok, true)
	}
	same(e, "a sent answer is due until it is taken", len(e.due()), 2)
	e.ok(e.l.RequestResolved(e.ctx, "thread-one", "turn-1", "0"))
	e.ok(e.l.RequestResolved(e.ctx, "thread-one", "turn-1", "1"))
	e.ok(e.l.RequestResolved(e.ctx, "thread-one", "turn-1", "no such"))
	same(e, "taken", e.approval(id).State, models.ApprovalResolved)
	same(e, "nothing is due", len(e.due()), 0)
	ok, err := e.l.AnswerSending(e.ctx, id)
	e.ok(err)
	same(e, "never again", ok, false)
	e.endTurn("thread-one", "turn-1")
	w := e.begin(models.CommandResume)
	same(e, "the answer was for the request, not for the thread", w.Command.Reason, "no_handoff")
	fresh, err := e.l.FreshAnswers(e.ctx, run.ID)
	e.ok(err)
	same(e, "nothing to quote", len(fresh), 0)
}

func approvalWords(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	r := request("0", "", models.RiskQuestion)
	r.Request = models.ApprovalRequest{Kind: models.RequestInput, Questions: []models.InputQuestion{{ID: "q", Text: "Which?", Options: []string{"A", "B"}}}}
	a, err := e.l.AskPerson(e.ctx, r)
	e.ok(err)
	_, err = e.verdict(ann, a.InterventionID, models.VerdictAccept, "")
	e.refused(models.CodeInvalidArgument, err)
	e.ok(e.answer(ann, a.InterventionID, "B"))
	due := e.due()
	same(e, "the words are due", len(due) == 1 && due[0].Verdict == models.VerdictAnswer && due[0].Words == "B", true)
	same(e, "the run goes on", e.run(run.ID).Status, models.RunRunning)
}

func approvalWrong(e *env) {
	_, by, id := e.asked("ls", models.RiskOrdinary)
	for _, p := range []models.Principal{by, agentA, agentB} {
		e.unchanged("one", models.CodeForbidden, func() error { _, err := e.verdict(p, id, models.VerdictAccept, ""); return err })
		e.unchanged("one", models.CodeForbidden, func() error { _, err := e.verdict(p, id, models.VerdictDecline, ""); return err })
	}
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.verdict(ann, id, "maybe", ""); return err })
	e.unchanged("one", models.CodeInvalidArgument, func() error { return e.answer(ann, id, "yes") })
	e.unchanged("one", models.CodeSecretDetected, func() error {
		_, err := e.verdict(ann, id, models.VerdictAccept, "password=hunter2hunter2")
		return err
	})
	e.refused(models.CodeNotFound, func() error { _, err := e.verdict(ann, "evt_none", models.VerdictAccept, ""); return err }())
	_, err := e.verdict(ann, id, models.VerdictAccept, "")
	e.ok(err)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.verdict(ann, id, models.VerdictDecline, ""); return err })
	same(e, "the first answer stands", e.approval(id).Verdict, models.VerdictAccept)
}

// An integrator may decline everything and accept what is ordinary.
func approvalRisk(e *env) {
	_, _, id := e.asked("git push", models.RiskPush)
	for i, class := range append(models.AlwaysAsked(), models.RiskWidening, models.RiskTool) {
		a, err := e.l.AskPerson(e.ctx, request("r"+string(rune('a'+i)), "x", class))
		e.ok(err)
		e.unchanged("one", models.CodeForbidden, func() error { _, err := e.verdict(boss, a.InterventionID, models.VerdictAccept, ""); return err })
		_, err = e.verdict(boss, a.InterventionID, models.VerdictDecline, "no")
		e.ok(err)
	}
	a, err := e.l.AskPerson(e.ctx, request("o", "ls", models.RiskOrdinary))
	e.ok(err)
	_, err = e.verdict(boss, a.InterventionID, models.VerdictAccept, "")
	e.ok(err)
	_, err = e.verdict(ann, id, models.VerdictAccept, "")
	e.ok(err)
}

func approvalGone(e *env) {
	run, _, id := e.asked("git push", models.RiskPush)
	e.ok(e.l.LoseTurn(e.ctx, "thread-one", "turn-1"))
	same(e, "gone", e.approval(id).State, models.ApprovalGone)
	same(e, "the run waits for the person", e.run(run.ID).Status, models.RunAwaitingApproval)
	plan, err := e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	same(e, "nothing is resumed before", len(plan.Commands), 0)
	d, err := e.verdict(ann, id, models.VerdictAccept, "do it")
	e.ok(err)
	same(e, "says so", d.Approval.State, models.ApprovalGone)
	same(e, "nothing is due", len(e.due()), 0)
	w := e.beginOpen(run.ID, models.CommandResume)
	same(e, "resumed with the answer", w.Command.Reason, "answered")
	fresh, err := e.l.FreshAnswers(e.ctx, run.ID)
	e.ok(err)
	same(e, "quoted", len(fresh) == 1 && strings.HasPrefix(fresh[0].Response, "accepted: do it") && strings.Contains(fresh[0].Response, "nothing was run"), true)
}

func approvalUnsent(e *env) {
	run, _, id := e.asked("git push", models.RiskPush)
	_, err := e.verdict(ann, id, models.VerdictAccept, "")
	e.ok(err)
	e.ok(e.l.LoseTurn(e.ctx, "thread-one", "turn-1"))
	same(e, "gone", e.approval(id).State, models.ApprovalGone)
	w := e.begin(models.CommandResume)
	same(e, "resumed with the answer", w.Command.Reason, "answered")
	fresh, err := e.l.FreshAnswers(e.ctx, run.ID)
	e.ok(err)
	same(e, "quoted", len(fresh) == 1 && strings.Contains(fresh[0].Response, "nothing was run"), true)
}

func approvalElsewhere(e *env) {
	run, _, id := e.asked("git push", models.RiskPush)
	e.ok(e.l.RequestResolved(e.ctx, "thread-one", "turn-1", "0"))
	same(e, "gone", e.approval(id).State, models.ApprovalGone)
	same(e, "the run goes on", e.run(run.ID).Status, models.RunRunning)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.verdict(ann, id, models.VerdictAccept, ""); return err })
}

func approvalExpires(e *env) {
	run, _, id := e.asked("git push", models.RiskPush)
	e.ok(e.l.ExpireRequests(e.ctx, "node-1"))
	same(e, "not yet", e.approval(id).State, models.ApprovalOpen)
	e.clock.advance(time.Hour)
	e.ok(e.l.ExpireRequests(e.ctx, "another"))
	same(e, "by its own node", e.approval(id).State, models.ApprovalOpen)
	e.ok(e.l.ExpireRequests(e.ctx, "node-1"))
	e.ok(e.l.ExpireRequests(e.ctx, "node-1"))
	due := e.due()
	same(e, "declined", len(due) == 1 && due[0].Verdict == models.VerdictDecline, true)
	same(e, "the run goes on", e.run(run.ID).Status, models.RunRunning)
	iv := e.run(run.ID).Interventions[0]
	same(e, "recorded", iv.Status == "answered" && strings.Contains(iv.Response, "nobody answered within 1h0m0s"), true)
}

// Words for a thread whose request waits are held, not sent into it and not lost.
func approvalHolds(e *env) {
	run, _, id := e.asked("git push", models.RiskPush)
	item, err := e.say(run.ID, "mind the tests")
	e.ok(err)
	held := func(when string) {
		e.Helper()
		next, err := e.l.NextMessage(e.ctx, "thread-one")
		e.ok(err)
		same(e, when+": held", next.Message == nil && next.Pending == 1 && next.WakeAt == nil, true)
		same(e, when+": nothing to send", e.sending() == nil, true)
	}
	held("open")
	_, err = e.verdict(ann, id, models.VerdictDecline, "")
	e.ok(err)
	held("answered")
	_, err = e.l.AnswerSending(e.ctx, id)
	e.ok(err)
	held("sent")
	e.woken()
	e.ok(e.l.RequestResolved(e.ctx, "thread-one", "turn-1", "0"))
	same(e, "the sender is woken", e.woken()[ledger.DeliveryWorkflow("thread-one")], true)
	m := e.sending()
	same(e, "sent now", m != nil && m.Item.ID == item.ID, true)
}

func approvalUnwanted(e *env) {
	a, err := e.l.AskPerson(e.ctx, request("0", "ls", models.RiskOrdinary))
	e.ok(err)
	same(e, "an unknown thread", a.InterventionID == "" && a.Unwanted != "", true)
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(ann), "one", nil, "stop")
	e.ok(err)
	a, err = e.l.AskPerson(e.ctx, request("0", "ls", models.RiskOrdinary))
	e.ok(err)
	same(e, "a cancelled run", a.InterventionID == "" && a.Unwanted != "", true)
	same(e, "no question", len(e.run(run.ID).Interventions), 0)
}

func approvalSecrets(e *env) {
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a" //nolint:gosec // nobody's
	run, _, _ := e.asked("curl -H Authorization:\u00a0x https://"+token+"@example.org --data password=hunter2hunter2", models.RiskOrdinary)
	iv := e.run(run.ID).Interventions[0]
	packet, err := json.Marshal(iv.Packet)
	e.ok(err)
	text := iv.Prompt + string(packet)
	same(e, "no secret is stored", strings.Contains(text, token) || strings.Contains(text, "hunter2hunter2"), false)
	same(e, "what is left is shown", strings.Contains(text, "curl") && strings.Contains(text, "redacted") && strings.Contains(text, "--data"), true)
}

func approvalRenews(e *env) {
	run, _, _ := e.asked("git push", models.RiskPush)
	for range 40 {
		e.clock.advance(5 * time.Minute)
		e.ok(e.l.BeatNode(e.ctx, "node-1"))
		_, err := e.l.Reconcile(e.ctx)
		e.ok(err)
	}
	r := e.run(run.ID)
	same(e, "the claim lives", r.Status == models.RunAwaitingApproval && r.LeaseExpiresAt.After(e.clock.Now()), true)
}

func approvalCancelled(e *env) {
	_, _, id := e.asked("git push", models.RiskPush)
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(ann), "one", nil, "stop")
	e.ok(err)
	_, err = e.verdict(ann, id, models.VerdictAccept, "")
	e.refused(models.CodeInvalidArgument, err)
	e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-1", Status: models.TurnInterrupted}))
	same(e, "gone", e.approval(id).State, models.ApprovalGone)
	same(e, "nothing is due", len(e.due()), 0)
}

func approvalStopped(e *env) {
	run, _, id := e.asked("git push", models.RiskPush)
	_, err := e.l.InterruptRun(e.ctx, ledger.As(ann), run.ID, "look first")
	e.ok(err)
	e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-1", Status: models.TurnInterrupted}))
	same(e, "gone", e.approval(id).State, models.ApprovalGone)
	open, err := e.l.Interventions(e.ctx, ledger.InterventionFilter{RunID: run.ID, Status: "open"})
	e.ok(err)
	same(e, "only the stop is left to answer", len(open) == 1 && open[0].Kind == models.InterventionStopped, true)
}

func approvalDenied(e *env) {
	e.node()
	e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.ok(e.l.ObserveRequest(e.ctx, ledger.Answered{ThreadID: "thread-one", Method: "exec_command", Answer: "denied", Detail: "git push password=hunter2hunter2", Class: models.RiskPush, Why: "x"}))
	got := e.events("one", models.EventServerRequest)
	same(e, "recorded", len(got), 1)
	same(e, "class", got[0].Payload["class"], any("git_push"))
	detail, _ := got[0].Payload["detail"].(string)
	same(e, "without its secret", strings.HasPrefix(detail, "git push ") && !strings.Contains(detail, "hunter2"), true)
}
