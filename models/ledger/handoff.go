package ledger

import (
	"context"
	"regexp"

	"coxswain/models"
)

// HandoffRequest is a run's statement that its work is ready for review.
type HandoffRequest struct {
	AssignmentID string
	Base         *int
	HeadCommit   string         // the commit to be reviewed; payload.head_commit when blank
	Payload      map[string]any // free; "summary" is what lists show
}

var commitPattern = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// SubmitHandoff ends the caller's work on its run and moves the assignment to
// awaiting_review. Errors, in the order of their checks: FORBIDDEN, NOT_FOUND,
// STALE_REVISION, INVALID_ARGUMENT (not claimed or running), FORBIDDEN (not the
// caller's run); SECRET_DETECTED before all of them.
func (l *Ledger) SubmitHandoff(ctx context.Context, c *Call, r HandoffRequest) (models.Event, error) {
	in := args{"assignment_id": r.AssignmentID, "base_revision": r.Base, "head_commit": r.HeadCommit, "payload": r.Payload}
	return write(ctx, l, c, operationHandoff, in, func(tx *Tx) (models.Event, error) { return tx.handOff(r) })
}

func (tx *Tx) handOff(r HandoffRequest) (models.Event, error) {
	var none models.Event
	if err := tx.need("submit handoff", models.RoleAgent, models.RoleIntegrator, models.RoleHuman); err != nil {
		return none, err
	}
	a, err := tx.reach(r.AssignmentID, r.Base)
	if err != nil {
		return none, err
	}
	if a, err = tx.calledAlive(a); err != nil {
		return none, err
	}
	if err := handable(a); err != nil {
		return none, err
	}
	run, err := tx.ownRun(a)
	if err != nil {
		return none, err
	}
	payload, head, err := r.evidence()
	if err != nil {
		return none, err
	}
	e := assignmentEvent(a, models.EventHandoffSubmitted)
	e.RunID, e.Status, e.Payload, e.AssignmentRevision = run.ID, models.EventCompletedGatePassed, payload, a.Revision+1
	if e, err = tx.append(e); err != nil {
		return none, err
	}
	if err := tx.handOver(a, run, e, head); err != nil {
		return none, err
	}
	return e, tx.wakeWork(a)
}

// handable refuses a handoff in the wrong status, saying what comes first.
func handable(a models.Assignment) error {
	refuse := func(why, next string, id string) error {
		return models.Invalid("assignment_id", "assignment %q %s", a.ID, why).With("status", string(a.Status)).Hint(next, id)
	}
	switch a.Status {
	case models.AssignmentClaimed, models.AssignmentRunning:
		return nil
	case models.AssignmentReady, models.AssignmentNeedsFix:
		return refuse("has no claim", "cox up --team %s; its loop starts the work, and an agent of your own claims it with the tool claim_assignment", a.TeamID)
	case models.AssignmentAwaitingHuman, models.AssignmentAwaitingApproval:
		return refuse("waits for a person's answer", "cox assignment show %s", a.ID)
	case models.AssignmentAwaitingReview:
		return refuse("has an undecided handoff, "+a.HandoffEventID, "cox assignment show %s", a.ID)
	default:
		return refuse("is "+string(a.Status), "cox assignment show %s", a.ID)
	}
}

// evidence is the payload as it is stored, with the head commit in it.
func (r HandoffRequest) evidence() (payload map[string]any, head string, err error) {
	if payload, err = object("payload", r.Payload); err != nil {
		return nil, "", err
	}
	named, _ := payload["head_commit"].(string)
	head = first(r.HeadCommit, named)
	switch {
	case head == "":
		return payload, "", nil
	case !commitPattern.MatchString(head):
		return nil, "", models.Invalid("head_commit", "%q is not a commit id", head)
	case named != "" && named != head:
		return nil, "", models.Invalid("head_commit", "%s differs from payload.head_commit %s", head, named)
	}
	payload["head_commit"] = head
	return payload, head, nil
}

// handOver writes the handoff into run and assignment. The claim's expiry goes,
// its holder stays for display.
func (tx *Tx) handOver(a models.Assignment, run models.Run, e models.Event, head string) error {
	_, err := tx.swap(&models.Run{}, map[string]any{
		"status": models.RunCompletedGatePassed, "handed_off_at": tx.ms(),
		"head_commit": head, "updated_at": tx.ms(),
	}, "id = ?", run.ID)
	if err != nil {
		return err
	}
	if !managed(run) {
		_, err = tx.swap(&models.Task{}, map[string]any{"status": "completed", "expires_at": tx.ms()}, "run_id = ?", run.ID)
		if err != nil {
			return err
		}
	}
	_, err = tx.advance(a, map[string]any{"status": models.AssignmentAwaitingReview, "handoff_event_id": e.ID, "lease_expires_at": nil})
	return err
}

// wakeWork wakes the team's loop and every workflow that serves the assignment:
// its own, where it has one, and the nudges that name one of its handoffs.
func (tx *Tx) wakeWork(a models.Assignment, handoffs ...string) error {
	if err := tx.wakeLoop(a.WorkspaceID, a.TeamID); err != nil {
		return err
	}
	for _, id := range handoffs {
		if err := tx.wakeNudges(a.TeamID, id); err != nil {
			return err
		}
	}
	_, served, err := find[wakeup](tx.db, "workflow_id = ?", AssignmentWorkflow(a.ID))
	if err != nil || !served {
		return err
	}
	return tx.wakeAssignment(a.ID)
}
