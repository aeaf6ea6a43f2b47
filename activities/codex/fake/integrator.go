package fake

import (
	"context"
	"errors"
	"fmt"

	"coxswain/models"
)

// integrate is an integrator's turn: it decides every pending handoff.
func (a *agent) integrate(ctx context.Context) error {
	var pending struct {
		Reviews []models.PendingReview `json:"pending_reviews"`
	}
	if err := a.use(ctx, "list_pending_reviews", map[string]any{}, &pending); err != nil {
		return err
	}
	decided := 0
	for _, review := range pending.Reviews {
		ignored, err := a.decide(ctx, review)
		if isRefusal(err) { // decided or withdrawn meanwhile, or not for us: the others still wait
			if err := a.say(ctx, fmt.Sprintf("I leave %s undecided: %v", review.Event.ID, err)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if !ignored {
			decided++
		}
	}
	return a.say(ctx, fmt.Sprintf("%d of %d handoffs are decided.", decided, len(pending.Reviews)))
}

// decide decides a handoff as its assignment asks, which may be not at all.
func (a *agent) decide(ctx context.Context, review models.PendingReview) (ignored bool, err error) {
	err = a.onRevision(ctx, review.Event.AssignmentID, func(d assignmentDetail) error {
		behaviour, err := d.behaviour()
		if err != nil {
			return err
		}
		ignored = true
		switch {
		case behaviour == behaveIgnore, behaviour == behaveIgnoreTold && d.answered() == 0:
			return nil
		case behaviour == behaveReviewerAsks && d.answered() == 0:
			return a.askAbout(ctx, d, review)
		}
		ignored = false
		return a.settle(ctx, d, review, behaviour)
	})
	return ignored, err
}

// settle takes one of the decisions.
func (a *agent) settle(ctx context.Context, d assignmentDetail, review models.PendingReview, behaviour string) error {
	args := map[string]any{"event_id": review.Event.ID, "base_revision": d.Assignment.Revision}
	if review.HeadCommit != "" {
		args["head_commit"] = review.HeadCommit
	}
	switch {
	case behaviour == behaveReject:
		args["decision_note"] = "The assignment asks the scripted integrator to reject."
		return a.use(ctx, "reject_event", args, nil)
	case behaviour == behaveNeedsFixOnce && d.fixes() == 0:
		args["decision_status"] = string(models.DecisionNeedsFix)
		args["decision_note"] = "Please add one more line: the assignment asks the scripted integrator for one fix."
		return a.use(ctx, "review_event", args, nil)
	case behaviour == behaveReplace:
		return a.replace(ctx, d)
	case behaviour == behaveFollowUp:
		if err := a.create(ctx, d, d.Assignment.ID+"-more"); err != nil {
			return err
		}
	}
	args["decision_note"] = "The scripted integrator accepts every handoff."
	return a.use(ctx, "accept_event", args, nil)
}

// askAbout puts a question about a handoff to a person, unless one is open.
func (a *agent) askAbout(ctx context.Context, d assignmentDetail, review models.PendingReview) error {
	if d.asked() > 0 {
		return nil
	}
	return a.use(ctx, "request_intervention", map[string]any{
		"run_id": review.Event.RunID, "intervention_kind": "decision",
		"prompt": fmt.Sprintf("May the scripted integrator accept assignment %s?", d.Assignment.ID),
	}, nil)
}

// create creates an assignment on the paths of another one; one that is there
// already will do.
func (a *agent) create(ctx context.Context, d assignmentDetail, id string) error {
	err := a.use(ctx, "create_assignment", map[string]any{
		"assignment_id": id, "base_revision": 0, "title": "Go on after " + d.Assignment.ID, "priority": d.Assignment.Priority,
		"allowed_paths": d.Assignment.AllowedPaths, "acceptance_criteria": d.Assignment.AcceptanceCriteria,
	}, nil)
	if isCode(err, models.CodeInvalidArgument) || isCode(err, models.CodeStaleRevision) {
		return nil // of an earlier try
	}
	return err
}

// replace supersedes the assignment by a new one.
func (a *agent) replace(ctx context.Context, d assignmentDetail) error {
	id := d.Assignment.ID + "-again"
	if err := a.create(ctx, d, id); err != nil {
		return err
	}
	return a.use(ctx, "supersede_assignment", map[string]any{
		"assignment_id": d.Assignment.ID, "superseded_by": id, "base_revision": d.Assignment.Revision,
		"reason": "The assignment asks the scripted integrator to replace it.",
	}, nil)
}

func isCode(err error, code models.Code) bool {
	var refusal *toolError
	return errors.As(err, &refusal) && refusal.code == code
}
