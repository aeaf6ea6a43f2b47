package mcpserver

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

type assignmentIn struct {
	AssignmentID string `json:"assignment_id,omitempty" jsonschema:"The assignment. A bound worker may leave it out: it is its own."`
}

type assignmentOut struct {
	Assignment models.Assignment `json:"assignment"`
}

func getAssignmentDetail() entry {
	return tool(definition{
		name: "get_assignment_detail", title: "Read an assignment", effect: reads, unbound: []string{"assignment_id"},
		text: "Read an assignment with its current revision, contract, runs, events and open questions. Read it before you change anything: most changes ask for the revision you saw.",
	},
		func(ctx context.Context, c *caller, in assignmentIn) (ledger.AssignmentDetail, error) {
			id, err := c.assignmentID(in.AssignmentID)
			if err != nil {
				return ledger.AssignmentDetail{}, err
			}
			detail, err := c.Ledger.AssignmentDetail(ctx, id)
			if err != nil {
				return ledger.AssignmentDetail{}, err
			}
			if err := c.sees(detail.Assignment.TeamID); err != nil {
				return ledger.AssignmentDetail{}, err
			}
			return detail, nil
		})
}

type createAssignmentIn struct {
	change
	AssignmentID       string         `json:"assignment_id" jsonschema:"A new id: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit"`
	Title              string         `json:"title"`
	BaseRevision       int            `json:"base_revision" jsonschema:"0: the assignment does not exist yet."`
	WorkspaceID        string         `json:"workspace_id,omitempty" jsonschema:"The team's workspace when left out."`
	TeamID             string         `json:"team_id,omitempty" jsonschema:"The only one there is when left out. A bound integrator's is its own."`
	Priority           int            `json:"priority,omitempty" jsonschema:"Higher goes first; 0 when left out."`
	AllowedPaths       []string       `json:"allowed_paths,omitempty" jsonschema:"Patterns relative to the workspace that the worker may change; none means the whole workspace."`
	AcceptanceCriteria []string       `json:"acceptance_criteria,omitempty"`
	DependsOn          []string       `json:"depends_on,omitempty" jsonschema:"Assignments that must be accepted first."`
	Worktree           *bool          `json:"worktree,omitempty" jsonschema:"Whether its runs work in a Git worktree of their own; as the workspace says when left out."`
	Metadata           map[string]any `json:"metadata,omitempty" jsonschema:"context_refs, session_bind and other contract fields; never secrets."`
}

func createAssignment() entry {
	return tool(definition{
		name: "create_assignment", title: "Create an assignment", effect: adds,
		text: "Create an assignment that the loop starts by itself once it is ready. Point at documents with metadata.context_refs instead of copying them.",
	},
		func(ctx context.Context, c *caller, in createAssignmentIn) (out assignmentOut, err error) {
			wanted := models.NewAssignment{
				ID: in.AssignmentID, Title: in.Title, Priority: in.Priority, AllowedPaths: in.AllowedPaths,
				AcceptanceCriteria: in.AcceptanceCriteria, DependsOn: in.DependsOn, Worktree: in.Worktree, Metadata: in.Metadata,
			}
			if wanted.WorkspaceID, err = c.workspaceID(in.WorkspaceID); err != nil {
				return out, err
			}
			if wanted.TeamID, err = c.teamNamed(ctx, in.TeamID, in.WorkspaceID); err != nil {
				return out, err
			}
			out.Assignment, err = c.Ledger.CreateAssignment(ctx, c.change(in.RequestID), wanted, &in.BaseRevision)
			return out, err
		})
}

type cancelAssignmentIn struct {
	change
	AssignmentID string `json:"assignment_id"`
	BaseRevision int    `json:"base_revision" jsonschema:"The revision you read."`
	Reason       string `json:"reason" jsonschema:"Why, for the people who read the record."`
}

func cancelAssignment() entry {
	return tool(definition{
		name: "cancel_assignment", title: "Cancel an assignment", effect: overwrites,
		text: "End an assignment for good; a run of it is interrupted. To replace it by another one use supersede_assignment.",
	},
		func(ctx context.Context, c *caller, in cancelAssignmentIn) (out assignmentOut, err error) {
			out.Assignment, err = c.Ledger.CancelAssignment(ctx, c.change(in.RequestID), in.AssignmentID, &in.BaseRevision, in.Reason)
			return out, err
		})
}

type supersedeAssignmentIn struct {
	cancelAssignmentIn
	SupersededBy string `json:"superseded_by" jsonschema:"The existing assignment that replaces it."`
}

func supersedeAssignment() entry {
	return tool(definition{
		name: "supersede_assignment", title: "Supersede an assignment", effect: overwrites,
		text: "Replace an assignment by another one that exists: create that first. A run of the old one is interrupted.",
	},
		func(ctx context.Context, c *caller, in supersedeAssignmentIn) (out assignmentOut, err error) {
			out.Assignment, err = c.Ledger.SupersedeAssignment(ctx, c.change(in.RequestID), in.AssignmentID, in.SupersededBy, &in.BaseRevision, in.Reason)
			return out, err
		})
}
