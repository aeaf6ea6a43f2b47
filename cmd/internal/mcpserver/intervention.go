package mcpserver

import (
	"context"
	"slices"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

type requestInterventionIn struct {
	change
	RunID            string         `json:"run_id,omitempty" jsonschema:"The run. A bound worker may leave it out: it is its current one."`
	Prompt           string         `json:"prompt" jsonschema:"The question, so that a person can answer it without reading more."`
	InterventionKind string         `json:"intervention_kind" jsonschema:"Such as decision, approval, access or clarification."`
	DecisionPacket   map[string]any `json:"decision_packet,omitempty" jsonschema:"Options, consequences and pointers; never secrets."`
}

func requestIntervention() entry {
	return tool(definition{
		name: "request_intervention", title: "Ask a person", effect: adds, unbound: []string{"run_id"},
		text: "Ask a person about a run, which then waits. After asking about your own run, end your turn: the answer comes as the next message of this thread.",
	},
		func(ctx context.Context, c *caller, in requestInterventionIn) (out eventOut, err error) {
			id, err := c.runID(ctx, in.RunID)
			if err != nil {
				return out, err
			}
			failpoint.Hit(failpoint.QuestionReceived)
			out.Event, err = c.Ledger.RequestIntervention(ctx, c.change(in.RequestID), id, in.Prompt, in.InterventionKind, in.DecisionPacket)
			failpoint.Hit(failpoint.QuestionCommitted)
			return out, err
		})
}

type respondInterventionIn struct {
	change
	RunID           string `json:"run_id,omitempty" jsonschema:"The run that asked; may be left out."`
	ReviewedEventID string `json:"reviewed_event_id" jsonschema:"The id of the question: its intervention_id, which is its event id."`
	Response        string `json:"response" jsonschema:"The answer, as the worker will read it. Of a request: a note for the record."`
	Verdict         string `json:"verdict,omitempty" jsonschema:"Of a request of an agent (kind approval_request): accept or decline. What is risky is accepted by people only."`
}

func respondIntervention() entry {
	return tool(definition{
		name: "respond_intervention", title: "Answer a question", effect: overwrites,
		choices: map[string][]string{"verdict": {"accept", "decline"}},
		text:    "Answer a question of a run, or accept or decline what its agent asks leave for. When none of the run is left open, the worker goes on with the answer.",
	},
		func(ctx context.Context, c *caller, in respondInterventionIn) (out eventOut, err error) {
			if err := c.askedBy(ctx, in.ReviewedEventID, in.RunID); err != nil {
				return out, err
			}
			if in.Verdict != "" {
				decided, err := c.Ledger.AnswerRequest(ctx, c.change(in.RequestID), in.ReviewedEventID, models.Verdict(in.Verdict), in.Response)
				return eventOut{Event: decided.Event}, err
			}
			out.Event, err = c.Ledger.RespondIntervention(ctx, c.change(in.RequestID), in.ReviewedEventID, in.Response)
			return out, err
		})
}

// askedBy refuses a question that the named run did not ask.
func (c *caller) askedBy(ctx context.Context, interventionID, runID string) error {
	if runID == "" {
		return nil
	}
	asked, err := c.Ledger.Interventions(ctx, ledger.InterventionFilter{RunID: runID})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(asked, func(i models.Intervention) bool { return i.ID == interventionID }) {
		return nil
	}
	return models.Invalid("reviewed_event_id", "%q is no question of run %q", interventionID, runID)
}

type interventionsIn struct {
	WorkspaceID string `json:"workspace_id,omitempty" jsonschema:"Only this workspace."`
	TeamID      string `json:"team_id,omitempty" jsonschema:"Only this team. A bound integrator sees its own team alone."`
	RunID       string `json:"run_id,omitempty" jsonschema:"Only this run."`
	Status      string `json:"status,omitempty" jsonschema:"Only those that are open, answered or closed."`
}

type interventionsOut struct {
	Interventions []models.Intervention `json:"interventions"`
}

func listInterventions() entry {
	return tool(definition{
		name: "list_interventions", title: "List questions to people", effect: reads,
		choices: map[string][]string{"status": {"open", "answered", "closed"}},
		text:    "List the questions that runs put to people, with their answers.",
	},
		func(ctx context.Context, c *caller, in interventionsIn) (out interventionsOut, err error) {
			filter := ledger.InterventionFilter{RunID: in.RunID, Status: in.Status}
			if filter.TeamID, err = c.teamID(in.TeamID); err != nil {
				return out, err
			}
			if filter.WorkspaceID, err = c.workspaceID(in.WorkspaceID); err != nil {
				return out, err
			}
			out.Interventions, err = c.Ledger.Interventions(ctx, filter)
			return out, err
		})
}
