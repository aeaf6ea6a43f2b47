package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coxswain/models"
)

// ReviewFilter narrows the pending reviews; zero fields do not.
type ReviewFilter struct {
	WorkspaceID  string
	TeamID       string
	AssignmentID string
	Escalated    bool          // only those about which a person was asked
	MinAge       time.Duration // only those that wait at least so long
}

func (f ReviewFilter) takes(p models.PendingReview) bool {
	return (!f.Escalated || p.EscalationID != "") && time.Duration(p.PendingSeconds)*time.Second >= f.MinAge
}

// DecideRequest is a verdict on a handoff.
type DecideRequest struct {
	EventID    string // the handoff
	Decision   models.Decision
	Base       *int
	HeadCommit string // the commit that was reviewed; must be the handoff's where it recorded one
	Note       string
}

// PendingReviews lists the undecided handoffs, the oldest first. Those of work
// that was cancelled or decided otherwise are not among them.
func (l *Ledger) PendingReviews(ctx context.Context, f ReviewFilter) ([]models.PendingReview, error) {
	q := where(l.read(ctx), "workspace_id", f.WorkspaceID)
	q = where(where(q, "team_id", f.TeamID), "id", f.AssignmentID)
	var rows []models.Assignment
	if err := q.Where("status = 'awaiting_review' AND handoff_event_id <> ''").Find(&rows).Error; err != nil {
		return nil, err
	}
	at := make(map[string]models.Assignment, len(rows))
	for _, a := range rows {
		at[a.HandoffEventID] = a
	}
	var events []models.Event
	err := where(where(l.read(ctx), "workspace_id", f.WorkspaceID), "team_id", f.TeamID).
		Where("id IN (SELECT handoff_event_id FROM assignments WHERE status = 'awaiting_review')").Order("sequence").Find(&events).Error
	if err != nil {
		return nil, err
	}
	out := make([]models.PendingReview, 0, len(events))
	for _, e := range events {
		a, known := at[e.ID]
		if !known {
			continue // handed off between the two queries; the next read lists it
		}
		p, err := l.pendingReview(ctx, e, a)
		if err != nil {
			return nil, err
		}
		if f.takes(p) {
			out = append(out, p)
		}
	}
	return out, nil
}

func (l *Ledger) pendingReview(ctx context.Context, e models.Event, a models.Assignment) (models.PendingReview, error) {
	p := models.PendingReview{Event: e, Title: a.Title, AllowedPaths: a.AllowedPaths, Revision: a.Revision}
	run, err := l.Run(ctx, e.RunID)
	if err != nil {
		return p, err
	}
	p.WorkerActorID, p.HeadCommit, p.BaseCommit = run.ActorID, run.HeadCommit, run.BaseCommit
	p.WorktreePath, p.Branch, p.InteractiveURL = run.WorktreePath, run.Branch, run.InteractiveURL
	var nudges struct {
		N    int
		Last *int64
	}
	err = l.read(ctx).Model(&models.Command{}).Where("team_id = ? AND type = ? AND state <> ?", a.TeamID, models.CommandNudge, models.CommandFailed).
		Where(namesEvent, quoted(e.ID)).Select("count(*) AS n, max(created_at) AS last").Scan(&nudges).Error
	if err != nil {
		return p, err
	}
	p.Nudges = nudges.N
	if nudges.Last != nil {
		p.LastNudgeAt = new(time.UnixMilli(*nudges.Last).UTC())
	}
	p.PendingSince, p.PendingSeconds = e.CreatedAt, int64(l.Now().Sub(e.CreatedAt)/time.Second)
	p.EscalationID, err = l.escalation(ctx, e.RunID)
	return p, err
}

// escalation is the last question that a person was asked because nobody decided about
// the handoff of a run.
func (l *Ledger) escalation(ctx context.Context, runID string) (string, error) {
	var ids []string
	err := l.read(ctx).Model(&models.Intervention{}).Where("run_id = ? AND kind = ?", runID, models.AskReviewIgnored).
		Order("created_at DESC, id").Limit(1).Pluck("id", &ids).Error
	return strings.Join(ids, ""), err
}

// Decide records the one decision about a handoff. Nobody decides about an
// assignment of which they ran any attempt, whatever their role. Errors, in the
// order of their checks: FORBIDDEN, INVALID_ARGUMENT, NOT_FOUND, INVALID_ARGUMENT
// (not a handoff), FORBIDDEN (own work, another team), STALE_REVISION (the
// revision, the handoff or its commit moved); SECRET_DETECTED before all of them.
func (l *Ledger) Decide(ctx context.Context, c *Call, r DecideRequest) (models.Event, error) {
	in := args{"event_id": r.EventID, "decision": r.Decision, "base_revision": r.Base, "head_commit": r.HeadCommit, "note": r.Note}
	return write(ctx, l, c, "review_event", in, func(tx *Tx) (models.Event, error) { return tx.decide(r) })
}

func (tx *Tx) decide(r DecideRequest) (models.Event, error) {
	var none models.Event
	if err := tx.need("decide review", models.RoleIntegrator, models.RoleHuman); err != nil {
		return none, err
	}
	outcome := r.Decision.Outcome()
	if outcome == "" {
		return none, models.Invalid("decision", "%q is none of %s, %s, %s", r.Decision, models.DecisionAccept, models.DecisionReject, models.DecisionNeedsFix)
	}
	handoff, err := get[models.Event](tx.db, "event", r.EventID)
	if err != nil {
		return none, err
	}
	if handoff.Type != models.EventHandoffSubmitted {
		return none, models.Invalid("event_id", "event %q is a %s, and only a handoff is decided", handoff.ID, handoff.Type).Hint("cox review list")
	}
	a, err := loadAssignment(tx.db, handoff.AssignmentID)
	if err != nil {
		return none, err
	}
	run, err := tx.mayDecide(a, handoff)
	if err != nil {
		return none, err
	}
	if err := stillAsked(a, handoff, run, r); err != nil {
		return none, err
	}
	return tx.settle(a, run, handoff, r, outcome)
}

// mayDecide refuses reviewers of another team and everybody who ran an attempt
// at the assignment, and returns the run of the handoff.
func (tx *Tx) mayDecide(a models.Assignment, handoff models.Event) (models.Run, error) {
	run, err := get[models.Run](tx.db, "run", handoff.RunID)
	if err != nil {
		return run, err
	}
	if err := tx.mayTouch(a); err != nil {
		return run, err
	}
	_, ran, err := find[models.Run](tx.db, "assignment_id = ? AND actor_id = ?", a.ID, tx.By.ActorID)
	if err == nil && (ran || handoff.ActorID == tx.By.ActorID) {
		err = models.Forbidden("%q worked on assignment %q and cannot decide its review", tx.By.ActorID, a.ID).
			Hint("another actor decides: the team's integrator or a person")
	}
	return run, err
}

// stillAsked refuses a verdict about something that moved meanwhile.
func stillAsked(a models.Assignment, handoff models.Event, run models.Run, r DecideRequest) error {
	if err := checkBase(a, r.Base); err != nil {
		return err
	}
	if a.Status != models.AssignmentAwaitingReview || a.HandoffEventID != handoff.ID {
		now := fmt.Sprintf("assignment %q is %s", a.ID, a.Status)
		if a.HandoffEventID != "" {
			now += " with handoff " + a.HandoffEventID
		}
		return staleRevision(a, "handoff %q is not open for a decision: %s", handoff.ID, now).With("handoff_event_id", a.HandoffEventID)
	}
	if run.HeadCommit == r.HeadCommit {
		return nil
	}
	named, recorded := "names commit "+r.HeadCommit, "recorded "+run.HeadCommit
	if r.HeadCommit == "" {
		named = "names no commit"
	}
	if run.HeadCommit == "" {
		recorded = "recorded none"
	}
	return staleRevision(a, "head_commit: the decision %s and handoff %q %s", named, handoff.ID, recorded).With("head_commit", run.HeadCommit)
}

// settle writes the decision, its outcome for assignment and run, and wakes who
// goes on from it.
func (tx *Tx) settle(a models.Assignment, run models.Run, handoff models.Event, r DecideRequest, outcome models.AssignmentStatus) (models.Event, error) {
	columns := map[string]any{"status": outcome, "handoff_event_id": "", "lease_expires_at": nil, "deferred_reason": ""}
	status := models.RunCompletedGateFailed
	switch outcome {
	case models.AssignmentAccepted:
		columns["completed_at"], status = tx.ms(), models.RunCompletedGatePassed
	case models.AssignmentRejected:
		columns["completed_at"] = tx.ms()
	default:
		columns["claimed_by"] = ""
	}
	a, err := tx.advance(a, columns)
	if err != nil {
		return models.Event{}, err
	}
	e := assignmentEvent(a, models.EventIntegratorReview)
	e.RunID, e.Status, e.ReviewedEventID = run.ID, string(r.Decision), handoff.ID
	e.Payload = map[string]any{"decision_note": r.Note, "reviewed_event": map[string]any{
		"event_id": handoff.ID, "type": handoff.Type, "payload": handoff.Payload,
	}}
	if e, err = tx.append(e); err != nil {
		return e, err
	}
	if err := tx.closeRun(run, status, string(r.Decision)); err != nil {
		return e, err
	}
	if err := tx.closeInterventions(a.ID); err != nil {
		return e, err
	}
	if outcome.Terminal() {
		if err := tx.wakeDependents(a.ID); err != nil {
			return e, err
		}
	}
	return e, tx.wakeWork(a, handoff.ID)
}
