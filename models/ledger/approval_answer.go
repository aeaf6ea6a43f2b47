package ledger

import (
	"context"
	"strings"

	"coxswain/models"
)

// Decided is a person's verdict on a request, and where the request stood then.
type Decided struct {
	Event    models.Event    `json:"event"`
	Approval models.Approval `json:"approval"`
}

// AnswerRequest accepts or declines a request of an agent's host. While the request
// waits, the host gets the verdict and the turn goes on; one that is gone is answered
// by nothing, and its run is resumed with the verdict in words. What is risky is
// accepted by people only. Errors, in the order of their checks: FORBIDDEN (role),
// NOT_FOUND, FORBIDDEN (own run, another team), INVALID_ARGUMENT (not open, no request,
// unknown verdict), FORBIDDEN (accepting needs a person); SECRET_DETECTED before all of
// them.
func (l *Ledger) AnswerRequest(ctx context.Context, c *Call, interventionID string, verdict models.Verdict, note string) (Decided, error) {
	in := args{"intervention_id": interventionID, "verdict": string(verdict), "note": note}
	return write(ctx, l, c, "answer_request", in, func(tx *Tx) (Decided, error) {
		iv, err := tx.openQuestion(interventionID)
		if err != nil {
			return Decided{}, err
		}
		row, err := tx.decidable(iv, verdict)
		if err != nil {
			return Decided{}, err
		}
		response := map[models.Verdict]string{models.VerdictAccept: "accepted", models.VerdictDecline: "declined"}[verdict]
		if note = strings.TrimSpace(note); note != "" {
			response += ": " + note
		}
		e, err := tx.settleQuestion(iv, response, verdict)
		if err != nil {
			return Decided{}, err
		}
		row, err = get[models.Approval](tx.db, "approval", row.ID)
		return Decided{Event: e, Approval: row}, err
	})
}

// decidable refuses a verdict that does not fit its question or its author.
func (tx *Tx) decidable(iv models.Intervention, verdict models.Verdict) (models.Approval, error) {
	var none models.Approval
	if iv.Kind != models.InterventionApproval {
		return none, models.Invalid("intervention_id", "%q asks for words, not for a verdict", iv.ID).Hint("cox intervention respond --response \"…\" %s", iv.ID)
	}
	if verdict != models.VerdictAccept && verdict != models.VerdictDecline {
		return none, models.Invalid("verdict", "%q must be accept or decline", verdict).Hint("cox intervention show %s", iv.ID)
	}
	row, err := get[models.Approval](tx.db, "approval", iv.ID)
	if err == nil && verdict == models.VerdictAccept && !row.Risk.MayAccept(tx.By.Role) {
		err = models.Forbidden("a request of the class %s is accepted by a person only", row.Risk).With("class", string(row.Risk)).
			Hint("decline it, or leave it to a person: cox intervention respond --accept %s", iv.ID)
	}
	return row, err
}

// openQuestion loads an open question that the caller may answer.
func (tx *Tx) openQuestion(id string) (models.Intervention, error) {
	if err := tx.need("respond to intervention", models.RoleIntegrator, models.RoleHuman); err != nil {
		return models.Intervention{}, err
	}
	iv, err := get[models.Intervention](tx.db, "intervention", id)
	if err != nil {
		return iv, err
	}
	if err := tx.mayAnswer(iv); err != nil {
		return iv, err
	}
	if iv.Status != interventionOpen {
		return iv, models.Invalid("intervention_id", "%q is %s already", id, iv.Status).With("status", iv.Status).Hint("cox intervention show %s", id)
	}
	return iv, nil
}

// settleQuestion records an answer and lets the run go on once none of its questions is open.
// The answer of a request that waits is given to its host by the node; verdict is ""
// for any other question.
func (tx *Tx) settleQuestion(iv models.Intervention, response string, verdict models.Verdict) (models.Event, error) {
	row, waits, err := find[models.Approval](tx.db, "id = ?", iv.ID)
	if err != nil {
		return models.Event{}, err
	}
	words := response
	if waits && row.State == models.ApprovalGone {
		response += goneNote
	}
	e := models.Event{
		WorkspaceID: iv.WorkspaceID, TeamID: iv.TeamID, AssignmentID: iv.AssignmentID, RunID: iv.RunID, ReviewedEventID: iv.ID,
		Type: models.EventInterventionResponded, Payload: map[string]any{"response": response, "intervention_id": iv.ID, "intervention_kind": iv.Kind},
	}
	if waits {
		e.Payload["verdict"], e.Payload["request_state"] = string(verdict), string(row.State)
	}
	if e, err = tx.append(e); err != nil {
		return e, err
	}
	_, err = tx.swap(&models.Intervention{}, map[string]any{
		"status": interventionAnswered, "response": response, "responded_by": tx.By.ActorID, "answered_at": tx.ms(),
	}, "id = ? AND status = 'open'", iv.ID)
	if err != nil {
		return e, err
	}
	if waits {
		if err := tx.answerRequest(row, verdict, words); err != nil {
			return e, err
		}
	}
	if err := tx.pardon(iv); err != nil {
		return e, err
	}
	return e, tx.goOn(iv)
}

// answerRequest makes the answer due where its request waits, and starts the turn's
// clocks again, which stood still.
func (tx *Tx) answerRequest(row models.Approval, verdict models.Verdict, words string) error {
	columns := map[string]any{"verdict": verdict}
	if verdict == models.VerdictAnswer {
		columns["words"] = words
	}
	if row.State == models.ApprovalOpen {
		columns["state"] = models.ApprovalAnswered
	}
	if _, err := tx.swap(&models.Approval{}, columns, "id = ?", row.ID); err != nil {
		return err
	}
	_, err := tx.swap(&models.Turn{}, map[string]any{"progress_at": tx.ms()}, "id = ? AND status = 'active'", row.TurnID)
	return err
}
