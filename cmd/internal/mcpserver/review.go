package mcpserver

import (
	"context"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

// maxAgeSeconds keeps the conversion to a duration from wrapping round.
const maxAgeSeconds = 100 * 365 * 24 * 3600

type pendingReviewsIn struct {
	WorkspaceID   string `json:"workspace_id,omitempty" jsonschema:"Only this workspace."`
	TeamID        string `json:"team_id,omitempty" jsonschema:"Only this team. A bound integrator sees its own team alone."`
	AssignmentID  string `json:"assignment_id,omitempty" jsonschema:"Only this assignment."`
	Escalated     bool   `json:"escalated,omitempty" jsonschema:"Only those about which a person was asked because nobody decided."`
	MinAgeSeconds int    `json:"min_age_seconds,omitempty" jsonschema:"Only those that wait at least so long."`
}

type pendingReviewsOut struct {
	PendingReviews []models.PendingReview `json:"pending_reviews"`
}

func listPendingReviews() entry {
	return tool(definition{
		name: "list_pending_reviews", title: "List handoffs to review", effect: reads,
		text: "List the handoffs that nobody has decided, oldest first, each with its event id, revision and head commit, how long it waits, and reminders and escalation so far. Review that commit, then decide with accept_event, reject_event or review_event.",
	},
		func(ctx context.Context, c *caller, in pendingReviewsIn) (out pendingReviewsOut, err error) {
			if in.MinAgeSeconds < 0 || in.MinAgeSeconds > maxAgeSeconds {
				return out, models.Invalid("min_age_seconds", "%d is no age", in.MinAgeSeconds)
			}
			filter := ledger.ReviewFilter{AssignmentID: in.AssignmentID, Escalated: in.Escalated, MinAge: time.Duration(in.MinAgeSeconds) * time.Second}
			if filter.TeamID, err = c.teamID(in.TeamID); err != nil {
				return out, err
			}
			if filter.WorkspaceID, err = c.workspaceID(in.WorkspaceID); err != nil {
				return out, err
			}
			out.PendingReviews, err = c.Ledger.PendingReviews(ctx, filter)
			return out, err
		})
}

// decisionIn is what each of the three tools of a decision takes.
type decisionIn struct {
	change
	EventID      string `json:"event_id" jsonschema:"The handoff's event id."`
	BaseRevision int    `json:"base_revision" jsonschema:"The assignment's revision as you reviewed it."`
	HeadCommit   string `json:"head_commit,omitempty" jsonschema:"The handoff's head commit that you reviewed; required when the handoff has one."`
	DecisionNote string `json:"decision_note" jsonschema:"Why; for needs_fix what has to be fixed: the worker reads it."`
}

type reviewEventIn struct {
	decisionIn
	DecisionStatus string `json:"decision_status"`
}

func reviewEvent() entry {
	d := definition{
		name: "review_event", title: "Decide a review", effect: overwrites,
		choices: map[string][]string{"decision_status": {string(models.DecisionAccept), string(models.DecisionReject), string(models.DecisionNeedsFix)}},
		text:    "Decide a handoff: accept it, reject it for good, or ask for fixes, which starts the worker again on its thread.",
	}
	return tool(d, func(ctx context.Context, c *caller, in reviewEventIn) (eventOut, error) {
		if err := d.chosen("decision_status", in.DecisionStatus); err != nil {
			return eventOut{}, err
		}
		return c.decide(ctx, in.decisionIn, models.Decision(in.DecisionStatus))
	})
}

func acceptEvent() entry {
	return tool(definition{
		name: "accept_event", title: "Accept a handoff", effect: overwrites,
		text: "Accept a handoff: its assignment is done, and those that depend on it may start.",
	},
		func(ctx context.Context, c *caller, in decisionIn) (eventOut, error) {
			return c.decide(ctx, in, models.DecisionAccept)
		})
}

func rejectEvent() entry {
	return tool(definition{
		name: "reject_event", title: "Reject a handoff", effect: overwrites,
		text: "Reject a handoff and its assignment for good. To have the work corrected use review_event with needs_fix.",
	},
		func(ctx context.Context, c *caller, in decisionIn) (eventOut, error) {
			return c.decide(ctx, in, models.DecisionReject)
		})
}

func (c *caller) decide(ctx context.Context, in decisionIn, d models.Decision) (out eventOut, err error) {
	failpoint.Hit(failpoint.DecisionReceived)
	out.Event, err = c.Ledger.Decide(ctx, c.change(in.RequestID), ledger.DecideRequest{
		EventID: in.EventID, Decision: d, Base: &in.BaseRevision, HeadCommit: in.HeadCommit, Note: in.DecisionNote,
	})
	failpoint.Hit(failpoint.DecisionCommitted)
	return out, err
}
