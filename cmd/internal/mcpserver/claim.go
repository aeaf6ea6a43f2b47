package mcpserver

import (
	"context"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// maxClaimSeconds keeps the conversion to a duration from wrapping round; the
// ledger has the real bounds.
const maxClaimSeconds = 7 * 24 * 3600

type claimIn struct {
	change
	AssignmentID    string `json:"assignment_id"`
	BaseRevision    int    `json:"base_revision" jsonschema:"The revision you read with get_assignment_detail."`
	LeaseTTLSeconds *int   `json:"lease_ttl_seconds,omitempty" jsonschema:"How long the claim lives without a heartbeat; the team's setting when left out."`
	SessionKind     string `json:"session_kind,omitempty" jsonschema:"codex_thread for a Codex thread."`
	SessionRef      string `json:"session_ref,omitempty" jsonschema:"The thread id."`
	InteractiveURL  string `json:"interactive_url,omitempty" jsonschema:"A link without secrets, such as codex://threads/ID."`
	WorktreePath    string `json:"worktree_path,omitempty"`
	Branch          string `json:"branch,omitempty"`
	BaseCommit      string `json:"base_commit,omitempty"`
	ResumeOfRunID   string `json:"resume_of_run_id,omitempty" jsonschema:"The earlier run that this one goes on with."`
}

type claimOut struct {
	Assignment models.Assignment `json:"assignment"`
	Run        models.Run        `json:"run"`
}

func claimAssignment() entry {
	return tool(definition{
		name: "claim_assignment", title: "Claim an assignment", effect: adds,
		text: "Take an assignment that is ready or needs a fix, or renew your own claim. The answer has the run: keep it alive with heartbeat_run, end with submit_handoff.",
	},
		func(ctx context.Context, c *caller, in claimIn) (claimOut, error) {
			ttl, err := in.ttl()
			if err != nil {
				return claimOut{}, err
			}
			claimed, err := c.Ledger.ClaimAssignment(ctx, c.change(in.RequestID), ledger.ClaimRequest{
				AssignmentID: in.AssignmentID, Base: &in.BaseRevision, TTL: ttl, SessionKind: in.SessionKind, SessionRef: in.SessionRef,
				InteractiveURL: in.InteractiveURL, WorktreePath: in.WorktreePath, Branch: in.Branch, BaseCommit: in.BaseCommit,
				ResumeOfRunID: in.ResumeOfRunID,
			})
			return claimOut{claimed.Assignment, claimed.Run}, err
		})
}

func (in claimIn) ttl() (time.Duration, error) {
	if in.LeaseTTLSeconds == nil {
		return 0, nil
	}
	if s := *in.LeaseTTLSeconds; s >= 1 && s <= maxClaimSeconds {
		return time.Duration(s) * time.Second, nil
	}
	return 0, models.Invalid("lease_ttl_seconds", "%d is not a life of a claim", *in.LeaseTTLSeconds)
}
