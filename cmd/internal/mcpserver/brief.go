package mcpserver

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

type checkpointRunIn struct {
	change
	RunID               string         `json:"run_id,omitempty" jsonschema:"The run. A bound worker may leave it out: it is its current one."`
	ClientUpdateID      string         `json:"client_update_id" jsonschema:"Your own id of this brief: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit. The same brief with the same id again changes nothing."`
	SourceEventSequence int64          `json:"source_event_sequence" jsonschema:"The sequence of the newest event of the run that the brief takes into account: get_run_detail lists them, and every change answers with its own."`
	Brief               map[string]any `json:"brief" jsonschema:"All of: schema_version (1), current_goal (text), current_stage (investigating, implementing, verifying, waiting, handing_off or completed), recent_progress (texts), decisions_and_risks (objects), human_intervention ({needed, blocking}, true or false), next_steps (texts, at least one), context_refs (a list). Further fields are kept. Never secrets."`
}

func checkpointRun() entry {
	return tool(definition{
		name: "checkpoint_run", title: "Brief people about a run", effect: repeats, unbound: []string{"run_id"},
		text: "Tell people where your run stands: goal, stage, progress, risks, next steps. Do it when the stage or plan changes, a risk shows, and before you ask or hand off. It changes no status and renews no claim.",
	},
		func(ctx context.Context, c *caller, in checkpointRunIn) (out eventOut, err error) {
			id, err := c.runID(ctx, in.RunID)
			if err != nil {
				return out, err
			}
			out.Event, err = c.Ledger.CheckpointRun(ctx, c.change(in.RequestID), ledger.BriefUpdate{
				RunID: id, ClientUpdateID: in.ClientUpdateID, SourceSequence: in.SourceEventSequence, Brief: in.Brief,
			})
			return out, err
		})
}

func getHumanBrief() entry {
	return tool(definition{
		name: "get_human_brief", title: "Read a run's brief", effect: reads, unbound: []string{"run_id"},
		text: "Read the newest brief of a run and its freshness: fresh, stale when the run went on since and the brief is old, or missing.",
	},
		func(ctx context.Context, c *caller, in runIn) (models.HumanBrief, error) {
			id, err := c.shownRun(ctx, in.RunID)
			if err != nil {
				return models.HumanBrief{}, err
			}
			return c.Ledger.HumanBrief(ctx, id)
		})
}
