package mcpserver

import (
	"context"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

type submitHandoffIn struct {
	change
	AssignmentID string         `json:"assignment_id,omitempty" jsonschema:"The assignment. A bound worker may leave it out: it is its own."`
	BaseRevision int            `json:"base_revision" jsonschema:"The revision you read with get_assignment_detail."`
	Payload      map[string]any `json:"payload" jsonschema:"summary (required text): what was done; besides it whatever the reviewer needs, such as changed_paths, checks, risks. The head commit is filled in. Never secrets."`
}

func submitHandoff() entry {
	return tool(definition{
		name: "submit_handoff", title: "Hand the work off", effect: adds, unbound: []string{"assignment_id"},
		text: "Hand finished work over for review, with the commit that HEAD names now. It ends your work on this run: stop afterwards. A reviewer accepts, rejects or asks for fixes; you never decide about your own work.",
	},
		func(ctx context.Context, c *caller, in submitHandoffIn) (out eventOut, err error) {
			if summary, _ := in.Payload["summary"].(string); strings.TrimSpace(summary) == "" {
				return out, models.Invalid("payload.summary", "is required: say what was done")
			}
			id, err := c.assignmentID(in.AssignmentID)
			if err != nil {
				return out, err
			}
			head, err := c.headCommit(ctx, id)
			if err != nil {
				return out, err
			}
			failpoint.Hit(failpoint.HandoffReceived)
			out.Event, err = c.Ledger.SubmitHandoff(ctx, c.change(in.RequestID), ledger.HandoffRequest{
				AssignmentID: id, Base: &in.BaseRevision, HeadCommit: head, Payload: in.Payload,
			})
			failpoint.Hit(failpoint.HandoffCommitted)
			return out, err
		})
}

// headCommit is the commit that a handoff of the assignment records: what HEAD
// names, not what the caller does; the ledger refuses a payload that names
// another. It is "" where the workspace has no Git.
func (c *caller) headCommit(ctx context.Context, assignmentID string) (string, error) {
	a, err := c.Ledger.Assignment(ctx, assignmentID)
	if err != nil {
		return "", err
	}
	w, err := c.Ledger.Workspace(ctx, a.WorkspaceID)
	if err != nil || w.GitCommonDir == "" {
		return "", err
	}
	refused := models.Invalid("head_commit", "the commit of workspace %q cannot be read, so the handoff was not recorded", w.ID).
		Hint("keep your work as it is and ask for help with request_intervention")
	if c.Head == nil {
		return "", refused
	}
	head, err := c.Head(ctx, w)
	if err != nil {
		return "", refused.With("reason", err.Error()).Because(err)
	}
	return head, nil
}
