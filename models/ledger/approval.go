package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// AskedRequest is a request of a thread's host that needs a person.
type AskedRequest struct {
	ThreadID  string
	TurnID    string
	RequestID string // the host's, unique within the turn
	Method    string
	Class     models.RiskClass
	Why       string        // what the ruling rests on
	Wait      time.Duration // for a person; then the request is declined
	Request   models.ApprovalRequest
}

// Asking is what became of a request that needs a person.
type Asking struct {
	InterventionID string // "" when nobody is asked
	Unwanted       string // why nobody is asked: the request is to be declined
}

// AskPerson records a request that needs a person as one intervention, in one
// transaction: run and assignment become awaiting_approval. The same request again, as
// a host shows it after a reconnect, finds its intervention. What looks like a secret in
// it is blacked out.
func (l *Ledger) AskPerson(ctx context.Context, r AskedRequest) (Asking, error) {
	shown, err := blackedOut(r.Request)
	if err != nil {
		return Asking{}, err
	}
	r.Request = shown
	out := Asking{Unwanted: "the thread is not known"}
	err = l.onThread(ctx, full, r.ThreadID, func(tx *Tx, b models.Binding) error {
		out, err = tx.askPerson(b, r)
		return err
	})
	return out, err
}

func (tx *Tx) askPerson(b models.Binding, r AskedRequest) (Asking, error) {
	known, found, err := tx.approvalOf(r.ThreadID, r.TurnID, r.RequestID)
	if err != nil || found {
		return Asking{InterventionID: known.ID}, err
	}
	run, err := tx.runOf(b)
	if err != nil {
		return Asking{}, err
	}
	why, err := tx.nobodyToAsk(run, r.TurnID)
	if err != nil || why != "" {
		return Asking{Unwanted: why}, err
	}
	iv := models.Intervention{
		WorkspaceID: run.WorkspaceID, TeamID: run.TeamID, AssignmentID: run.AssignmentID, RunID: run.ID,
		Kind: models.InterventionApproval, Prompt: r.prompt(), RequestedBy: run.ActorID, Status: interventionOpen, CreatedAt: tx.Now,
	}
	if r.Request.Kind == models.RequestInput {
		iv.Kind = models.InterventionInput
	}
	if iv.Packet, err = r.packet(); err != nil {
		return Asking{}, err
	}
	e, err := tx.append(models.Event{
		WorkspaceID: iv.WorkspaceID, TeamID: iv.TeamID, AssignmentID: iv.AssignmentID, RunID: iv.RunID, Type: models.EventInterventionRequested,
		Payload: map[string]any{"prompt": iv.Prompt, "intervention_kind": iv.Kind, "class": string(r.Class)}, // the packet is the question's
	})
	if err != nil {
		return Asking{}, err
	}
	iv.ID = e.ID
	row := models.Approval{
		ID: iv.ID, RunID: run.ID, NodeID: b.NodeID, AdapterKind: b.AdapterKind, ThreadID: r.ThreadID, TurnID: r.TurnID, RequestID: r.RequestID,
		Kind: r.Request.Kind, Risk: r.Class, State: models.ApprovalOpen, ExpiresAt: tx.Now.Add(r.Wait), CreatedAt: tx.Now,
	}
	if err := errors.Join(tx.insert(&iv), tx.insert(&row)); err != nil {
		return Asking{}, err
	}
	return Asking{InterventionID: iv.ID}, tx.await(run.ID, run.AssignmentID, models.RunAwaitingApproval, models.AssignmentAwaitingApproval)
}

func (tx *Tx) approvalOf(threadID, turnID, requestID string) (models.Approval, bool, error) {
	return find[models.Approval](tx.db, "thread_id = ? AND turn_id = ? AND request_id = ?", threadID, turnID, requestID)
}

// nobodyToAsk tells why a request of a run needs no person, "" when it does.
func (tx *Tx) nobodyToAsk(run models.Run, turnID string) (string, error) {
	if run.ID == "" || run.Status.Terminal() || run.Status == models.RunStarting {
		return "no run of the thread is under way", nil
	}
	stop, err := pendingStop(tx.db, run.ID)
	if err != nil || stop != "" {
		return "the run is being stopped", err
	}
	turn, found, err := find[models.Turn](tx.db, "id = ?", turnID)
	if err == nil && found && turn.Status.Ended() {
		return "the turn has ended", nil
	}
	return "", err
}

// prompt shows a person what is asked for and what an acceptance does.
func (r AskedRequest) prompt() string {
	q, lines := r.Request, []string{}
	say := func(format string, values ...any) { lines = append(lines, fmt.Sprintf(format, values...)) }
	switch q.Kind {
	case models.RequestCommand:
		say("Run this command outside the sandbox (%s)? %s", r.Class, q.Command)
	case models.RequestFiles:
		names := make([]string, 0, len(q.Files))
		for _, f := range q.Files {
			names = append(names, f.Change+" "+f.Path)
		}
		if len(names) == 0 {
			names = []string{"which files is not known"}
		}
		say("Change files outside the writable folders (%s)? %s", r.Class, strings.Join(names, ", "))
	case models.RequestPermissions:
		say("Widen the sandbox for the rest of the turn (%s)? %s", r.Class, strings.Join(q.Widening, "; "))
	case models.RequestTool:
		say("Let the agent use %s of the MCP server %s (%s)?", first(q.Tool, "what it asks"), q.Server, r.Class)
	case models.RequestInput:
		for _, question := range q.Questions {
			say("%s", question.Text)
			for _, o := range question.Options {
				say("- %s", o)
			}
		}
	case models.RequestUnknown:
	}
	if q.CWD != "" {
		say("In %s.", q.CWD)
	}
	if q.Reason != "" {
		say("The agent says: %s", q.Reason)
	}
	return strings.Join(lines, "\n")
}

// packet is the whole request with its class and what the answers do.
func (r AskedRequest) packet() (map[string]any, error) {
	text, err := jsonText(map[string]any{
		"request": r.Request, "class": r.Class, "why": r.Why, "method": r.Method, "turn_id": r.TurnID, "accept_does": acceptDoes(r.Request.Kind),
		"decline_does": "the turn goes on, and the agent is told that a person declined", "declined_after": r.Wait.String(),
	})
	if err != nil {
		return nil, err
	}
	packet := decodeObject(text)
	return packet, scanSecrets([]byte(text))
}

func acceptDoes(kind models.RequestKind) string {
	switch kind {
	case models.RequestCommand:
		return "the command runs once, outside the sandbox, with the rights of the user who runs cox"
	case models.RequestFiles:
		return "the files are changed as shown, once"
	case models.RequestPermissions:
		return "the sandbox is widened as shown until the turn ends"
	case models.RequestTool:
		return "the tool is called once"
	case models.RequestInput, models.RequestUnknown:
	}
	return "the agent gets the answer"
}

// DueAnswers are the answers that a node still has to give to the hosts of an
// adapter: decided, and not known to have been taken.
func (l *Ledger) DueAnswers(ctx context.Context, nodeID string) ([]models.Approval, error) {
	var out []models.Approval
	return out, l.read(ctx).Where("node_id = ? AND state IN ('answered','sent')", nodeID).Order("created_at, id").Find(&out).Error
}

// AnswerSending is the last step before an answer is given to the host: from then on
// it may have been taken. False when it is not due any more.
func (l *Ledger) AnswerSending(ctx context.Context, id string) (due bool, err error) {
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		due, err = tx.swap(&models.Approval{}, map[string]any{"state": models.ApprovalSent, "sent_at": tx.ms()}, "id = ? AND state IN ('answered','sent')", id)
		return err
	})
	return due, err
}

// RequestResolved records that a host waits for a request no more. An answer that was
// given has been taken; one that was not has nothing to reach, and its run is resumed
// with it; a question that nobody answered is closed.
func (l *Ledger) RequestResolved(ctx context.Context, threadID, turnID, requestID string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		row, found, err := tx.approvalOf(threadID, turnID, requestID)
		if err != nil || !found {
			return err
		}
		if row.State == models.ApprovalSent {
			return tx.endRequest(row, models.ApprovalResolved, false)
		}
		return tx.endRequest(row, models.ApprovalGone, true)
	})
}

// goneNote is what a run is told of an answer whose request had ended.
const goneNote = " (The request had ended before this answer: nothing was run or changed by it. Ask again if you still need it.)"

// endRequest ends a request that was still under way. settle closes the question when
// nobody has answered it.
func (tx *Tx) endRequest(row models.Approval, state models.ApprovalState, settle bool) error {
	ended, err := tx.swap(&models.Approval{}, map[string]any{"state": state, "ended_at": tx.ms()}, "id = ? AND state IN ('open','answered','sent')", row.ID)
	if err != nil || !ended {
		return err
	}
	iv, err := get[models.Intervention](tx.db, "intervention", row.ID)
	if err != nil {
		return err
	}
	e := models.Event{
		WorkspaceID: iv.WorkspaceID, TeamID: iv.TeamID, AssignmentID: iv.AssignmentID, RunID: iv.RunID, ReviewedEventID: iv.ID,
		Type: models.EventRequestEnded, Payload: map[string]any{"intervention_id": iv.ID, "state": string(state), "verdict": string(row.Verdict)},
	}
	if _, err := tx.append(e); err != nil {
		return err
	}
	if err := tx.wakeSender(row.ThreadID); err != nil {
		return err
	}
	switch {
	case iv.Status == interventionAnswered && state == models.ApprovalGone:
		if _, err := tx.swap(&models.Intervention{}, map[string]any{"response": iv.Response + goneNote}, "id = ?", iv.ID); err != nil {
			return err
		}
		return tx.wakeLoop(iv.WorkspaceID, iv.TeamID)
	case iv.Status == interventionOpen && settle:
		if _, err := tx.swap(&models.Intervention{}, map[string]any{"status": interventionClosed}, "id = ? AND status = 'open'", iv.ID); err != nil {
			return err
		}
		return tx.goOn(iv)
	}
	return nil
}

// endRequests ends the requests of a turn that is over. A turn that completed waited
// for none of them; where one was cut off, the question stays and its answer resumes
// the run, unless a person stopped it, whose own question does.
func (tx *Tx) endRequests(run models.Run, turnID string, status models.TurnStatus) error {
	var rows []models.Approval
	err := tx.db.Where("turn_id = ? AND state IN ('open','answered','sent')", turnID).Order("created_at, id").Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return err
	}
	stop, err := pendingStop(tx.db, run.ID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		state := models.ApprovalGone
		if row.State == models.ApprovalSent && status == models.TurnCompleted {
			state = models.ApprovalResolved
		}
		if err := tx.endRequest(row, state, status == models.TurnCompleted || stop != ""); err != nil {
			return err
		}
	}
	return nil
}

// wakeSender wakes the sender of a thread that held its messages back.
func (tx *Tx) wakeSender(threadID string) error {
	res := tx.db.Model(&models.OutboxItem{}).Where("thread_id = ? AND state IN ('pending','sending')", threadID).UpdateColumn("not_before", nil)
	if res.Error != nil || res.RowsAffected == 0 {
		return res.Error
	}
	return tx.wake(WakeDelivery, DeliveryWorkflow(threadID), threadID)
}

// ExpireRequests declines the requests of a node for which nobody answered in time.
func (l *Ledger) ExpireRequests(ctx context.Context, nodeID string) error {
	var due []models.Approval
	err := l.read(ctx).Where("node_id = ? AND state = 'open' AND expires_at <= ?", nodeID, l.Now().UnixMilli()).Order("expires_at, id").Find(&due).Error
	for _, row := range due {
		err = errors.Join(err, l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
			now, err := get[models.Approval](tx.db, "approval", row.ID)
			if err != nil || now.State != models.ApprovalOpen {
				return err
			}
			iv, err := get[models.Intervention](tx.db, "intervention", row.ID)
			if err != nil || iv.Status != interventionOpen {
				return err
			}
			_, err = tx.settleQuestion(iv, "declined: nobody answered within "+row.ExpiresAt.Sub(row.CreatedAt).String(), models.VerdictDecline)
			return err
		}))
	}
	return err
}

// promptWaits tells whether a request of the thread waits for an answer, so that no
// text may be sent into it.
func promptWaits(db *gorm.DB, threadID string) (bool, error) {
	var n int64
	err := db.Table("approvals a").Joins("JOIN interventions i ON i.id = a.id").
		Where("a.thread_id = ? AND (a.state IN ('answered','sent') OR i.status = 'open')", threadID).Count(&n).Error
	return n > 0, err
}

// Approval loads a request by its intervention.
func (l *Ledger) Approval(ctx context.Context, interventionID string) (models.Approval, error) {
	return get[models.Approval](l.read(ctx), "approval", interventionID)
}
