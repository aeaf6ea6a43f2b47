package mcpserver

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

type runIn struct {
	RunID string `json:"run_id,omitempty" jsonschema:"The run. A bound worker may leave it out: it is its current one."`
}

type runOut struct {
	Run ledger.RunDetail `json:"run"`
}

type eventOut struct {
	Event models.Event `json:"event"`
}

func getRunDetail() entry {
	return tool(definition{
		name: "get_run_detail", title: "Read a run", effect: reads, unbound: []string{"run_id"},
		text: "Read a run with its session, communication cursor, turns, commands, messages and events.",
	},
		func(ctx context.Context, c *caller, in runIn) (out runOut, err error) {
			id, err := c.runID(ctx, in.RunID)
			if err != nil {
				return out, err
			}
			detail, err := c.Ledger.RunDetail(ctx, id)
			if err != nil {
				return out, err
			}
			return runOut{detail}, c.sees(detail.TeamID)
		})
}

type heartbeatIn struct {
	change
	RunID   string `json:"run_id,omitempty" jsonschema:"The run. A bound worker may leave it out: it is its current one."`
	Summary string `json:"summary" jsonschema:"What you are doing, in one line."`
}

func heartbeatRun() entry {
	return tool(definition{
		name: "heartbeat_run", title: "Report progress", effect: adds, unbound: []string{"run_id"},
		text: "Say that you are still at work and on what; it renews your claim. When the work is done use submit_handoff instead.",
	},
		func(ctx context.Context, c *caller, in heartbeatIn) (out eventOut, err error) {
			id, err := c.runID(ctx, in.RunID)
			if err != nil {
				return out, err
			}
			out.Event, err = c.Ledger.HeartbeatRun(ctx, c.change(in.RequestID), id, in.Summary)
			return out, err
		})
}

type recordRunBindingIn struct {
	change
	RunID        string         `json:"run_id,omitempty" jsonschema:"The run. A bound worker may leave it out: it is its current one."`
	BindingPatch map[string]any `json:"binding_patch" jsonschema:"Merged into the run's metadata: objects deeply, lists and values replaced, null stored. Never secrets."`
	EventPayload map[string]any `json:"event_payload,omitempty" jsonschema:"What the event of this change says besides the patch."`
}

func recordRunBinding() entry {
	return tool(definition{
		name: "record_run_binding", title: "Record session data of a run", effect: adds, unbound: []string{"run_id"},
		text: "Merge session data such as the communication cursor into the run's metadata. It changes neither status nor revision.",
	},
		func(ctx context.Context, c *caller, in recordRunBindingIn) (out runOut, err error) {
			id, err := c.runID(ctx, in.RunID)
			if err != nil {
				return out, err
			}
			out.Run, err = c.Ledger.RecordRunBinding(ctx, c.change(in.RequestID), id, in.BindingPatch, in.EventPayload)
			return out, err
		})
}

type appendEventIn struct {
	change
	AssignmentID string         `json:"assignment_id,omitempty" jsonschema:"The assignment. A bound worker may leave it out: it is its own."`
	EventType    string         `json:"event_type" jsonschema:"A type of your own, such as progress, evidence_report or gate_result."`
	Status       string         `json:"status"`
	BaseRevision int            `json:"base_revision" jsonschema:"The revision you read with get_assignment_detail; the event raises it by one."`
	Payload      map[string]any `json:"payload" jsonschema:"Facts and pointers, never secrets or whole documents."`
}

func appendEvent() entry {
	return tool(definition{
		name: "append_event", title: "Record an event", effect: adds, unbound: []string{"assignment_id"},
		choices: map[string][]string{"status": {models.EventProposed, models.EventObserved, models.EventCompletedGatePassed, models.EventCompletedGateFailed}},
		text:    "Record evidence or an observation about an assignment. It raises the revision, so read that again before the next change. It does not hand the work off.",
	},
		func(ctx context.Context, c *caller, in appendEventIn) (out eventOut, err error) {
			id, err := c.assignmentID(in.AssignmentID)
			if err != nil {
				return out, err
			}
			out.Event, err = c.Ledger.AppendEvent(ctx, c.change(in.RequestID), ledger.AppendRequest{
				AssignmentID: id, Type: in.EventType, Status: in.Status, Base: &in.BaseRevision, Payload: in.Payload,
			})
			return out, err
		})
}
