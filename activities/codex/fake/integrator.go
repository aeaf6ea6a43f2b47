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
		args := map[string]any{"event_id": review.Event.ID, "base_revision": d.Assignment.Revision}
		if review.HeadCommit != "" {
			args["head_commit"] = review.HeadCommit
		}
		switch {
		case behaviour == behaveIgnore:
			ignored = true
			return nil
		case behaviour == behaveReject:
			args["decision_note"] = "The assignment asks the scripted integrator to reject."
			return a.use(ctx, "reject_event", args, nil)
		case behaviour == behaveNeedsFixOnce && d.fixes() == 0:
			args["decision_status"] = string(models.DecisionNeedsFix)
			args["decision_note"] = "Please add one more line: the assignment asks the scripted integrator for one fix."
			return a.use(ctx, "review_event", args, nil)
		}
		args["decision_note"] = "The scripted integrator accepts every handoff."
		return a.use(ctx, "accept_event", args, nil)
	})
	return ignored, err
}

func isCode(err error, code models.Code) bool {
	var refusal *toolError
	return errors.As(err, &refusal) && refusal.code == code
}
