package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"coxswain/models/ledger"
)

// Control are the ledger calls of the workflows.
type Control struct{ Ledger *ledger.Ledger }

// Subject is what a workflow serves. It carries ids only.
type Subject struct {
	ID         string `json:"id"`          // assignment, team, command or thread; "" for the clock
	WorkflowID string `json:"workflow_id"` // without the ledger's prefix: the key of its wake-ups
	Attributes bool   `json:"attributes"`  // whether the namespace has the search attributes
}

// Look is what every look at the ledger says besides its step.
type Look struct {
	Generation int64 `json:"generation"` // what the look covers; for Rest
}

// AssignmentLook is a look at an assignment.
type AssignmentLook struct {
	Look
	Step ledger.AssignmentStep `json:"step"`
}

// LookAtAssignment records that the workflow reads, then reads its next step.
func (c *Control) LookAtAssignment(ctx context.Context, s Subject) (AssignmentLook, error) {
	g, err := c.Ledger.Acknowledge(ctx, s.WorkflowID)
	if err != nil {
		return AssignmentLook{}, failure(err)
	}
	step, err := c.Ledger.NextAssignmentStep(ctx, s.ID)
	return AssignmentLook{Look{g}, step}, failure(err)
}

// NudgeLook is a look at a nudge.
type NudgeLook struct {
	Look
	Step ledger.NudgeStep `json:"step"`
}

// LookAtNudge records that the workflow reads, then reads its next step.
func (c *Control) LookAtNudge(ctx context.Context, s Subject) (NudgeLook, error) {
	g, err := c.Ledger.Acknowledge(ctx, s.WorkflowID)
	if err != nil {
		return NudgeLook{}, failure(err)
	}
	step, err := c.Ledger.NextNudgeStep(ctx, s.ID)
	return NudgeLook{Look{g}, step}, failure(err)
}

// DeliveryLook is a look at a thread's messages.
type DeliveryLook struct {
	Look
	Due     bool        `json:"due"` // a message may be sent now
	NodeID  string      `json:"node_id"`
	WakeAt  *time.Time  `json:"wake_at"`
	Pending int         `json:"pending"`
	Card    ledger.Card `json:"card"`
}

// LookAtThread records that the sender reads, then reads what it shall send.
func (c *Control) LookAtThread(ctx context.Context, s Subject) (DeliveryLook, error) {
	g, err := c.Ledger.Acknowledge(ctx, s.WorkflowID)
	if err != nil {
		return DeliveryLook{}, failure(err)
	}
	n, err := c.Ledger.NextMessage(ctx, s.ID)
	return DeliveryLook{Look: Look{g}, Due: n.Message != nil, NodeID: n.NodeID, WakeAt: n.WakeAt, Pending: n.Pending, Card: n.Card}, failure(err)
}

// LoopLook is a planning pass of a team: what it created is in the journal.
type LoopLook struct {
	Look
	Refresh []Probing       `json:"refresh"` // probes to make
	Step    ledger.LoopStep `json:"step"`
	Planned int             `json:"planned"` // commands that the pass created
}

// Probing names a refresh command and the node that carries it out.
type Probing struct {
	CommandID string `json:"command_id"`
	NodeID    string `json:"node_id"`
}

// PlanTeam records that the loop reads, then runs one planning pass.
func (c *Control) PlanTeam(ctx context.Context, s Subject) (LoopLook, error) {
	g, err := c.Ledger.Acknowledge(ctx, s.WorkflowID)
	if err != nil {
		return LoopLook{}, failure(err)
	}
	plan, err := c.Ledger.PlanTeam(ctx, s.ID)
	if err != nil {
		return LoopLook{}, failure(err)
	}
	out := LoopLook{Look: Look{g}, Planned: len(plan.Commands)}
	for _, cmd := range plan.Refresh {
		out.Refresh = append(out.Refresh, Probing{CommandID: cmd.ID, NodeID: cmd.NodeID})
	}
	out.Step, err = c.Ledger.NextLoopStep(ctx, s.ID)
	return out, failure(err)
}

// ClockLook is a look at the deadlines.
type ClockLook struct {
	Look
	Deadline *time.Time `json:"deadline"`
}

// Reconcile records that the clock reads, brings expired rows up to date, and
// returns the next deadline.
func (c *Control) Reconcile(ctx context.Context, s Subject) (ClockLook, error) {
	g, err := c.Ledger.Acknowledge(ctx, s.WorkflowID)
	if err != nil {
		return ClockLook{}, failure(err)
	}
	if _, err := c.Ledger.Reconcile(ctx); err != nil {
		return ClockLook{}, failure(err)
	}
	next, err := c.Ledger.NextDeadline(ctx)
	return ClockLook{Look{g}, next}, failure(err)
}

// RestInput asks whether a workflow may end, or begin anew.
type RestInput struct {
	WorkflowID string `json:"workflow_id"`
	Generation int64  `json:"generation"`
	End        bool   `json:"end,omitempty"` // it ends; else it continues as new
}

// Rest tells whether nothing was raised since the workflow's last look.
func (c *Control) Rest(ctx context.Context, in RestInput) (ok bool, err error) {
	if in.End {
		ok, err = c.Ledger.End(ctx, in.WorkflowID, in.Generation)
	} else {
		ok, err = c.Ledger.Rest(ctx, in.WorkflowID, in.Generation)
	}
	return ok, failure(err)
}

// WakeTeamInput names a team.
type WakeTeamInput struct {
	WorkspaceID string `json:"workspace_id"`
	TeamID      string `json:"team_id"`
}

// WakeTeam lets the team's loop look again.
func (c *Control) WakeTeam(ctx context.Context, in WakeTeamInput) error {
	return failure(c.Ledger.WakeTeam(ctx, in.WorkspaceID, in.TeamID))
}

// owner names this attempt in the ledger.
func owner(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.RunID + "/" + info.ActivityID + "/" + itoa(int(info.Attempt))
}
