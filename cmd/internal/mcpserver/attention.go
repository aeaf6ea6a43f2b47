package mcpserver

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

type raiseAttentionIn struct {
	change
	RunID             string   `json:"run_id,omitempty" jsonschema:"The run. A bound worker may leave it out: it is its current one."`
	ClientUpdateID    string   `json:"client_update_id" jsonschema:"Your own id of this update: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit. The same update with the same id again changes nothing."`
	Level             string   `json:"level" jsonschema:"yellow: somebody should look; green: good to know. Red is a question: use request_intervention."`
	Target            string   `json:"target" jsonschema:"Who should look."`
	Blocking          bool     `json:"blocking,omitempty" jsonschema:"Whether your work waits for it; false when left out."`
	DedupeKey         string   `json:"dedupe_key" jsonschema:"What it is about, in your words: a later one of the run with the same key replaces it, also by green or for another target."`
	ReasonCode        string   `json:"reason_code" jsonschema:"The kind of reason, in one word or a few."`
	WhyNow            string   `json:"why_now" jsonschema:"Why somebody should look now."`
	RecommendedAction string   `json:"recommended_action" jsonschema:"What they should do."`
	SourceEventIDs    []string `json:"source_event_ids" jsonschema:"The ids of events of the team that show it; may be empty."`
}

func raiseAttention() entry {
	return tool(definition{
		name: "raise_attention", title: "Ask for a look", effect: repeats, unbound: []string{"run_id"},
		choices: map[string][]string{"level": {string(models.AttentionYellow), string(models.AttentionGreen)}, "target": models.AttentionTargets()},
		text:    "Put something onto the attention board that a person, the integrator or an agent should look at while you go on. It changes no status. When you cannot go on without an answer use request_intervention.",
	},
		func(ctx context.Context, c *caller, in raiseAttentionIn) (out eventOut, err error) {
			id, err := c.runID(ctx, in.RunID)
			if err != nil {
				return out, err
			}
			out.Event, err = c.Ledger.RaiseAttention(ctx, c.change(in.RequestID), ledger.AttentionUpdate{
				RunID: id, ClientUpdateID: in.ClientUpdateID, Attention: models.Attention{
					Level: models.AttentionLevel(in.Level), Target: in.Target, Blocking: in.Blocking, DedupeKey: in.DedupeKey,
					ReasonCode: in.ReasonCode, WhyNow: in.WhyNow, RecommendedAction: in.RecommendedAction, SourceEventIDs: in.SourceEventIDs,
				},
			})
			return out, err
		})
}

type attentionBoardIn struct {
	TeamID       string `json:"team_id,omitempty" jsonschema:"The team; the only one there is when left out. A bound integrator's is its own."`
	Target       string `json:"target,omitempty" jsonschema:"Whose items: human when left out, integrator or agent. Any other has none."`
	IncludeGreen bool   `json:"include_green,omitempty" jsonschema:"Whether green items are listed too; they are counted always."`
}

func getAttentionBoard() entry {
	return tool(definition{
		name: "get_attention_board", title: "Read the attention board", effect: reads,
		text: "Read what somebody should look at in a team: red are open questions, yellow and green what runs raised, each with why and what to do.",
	},
		func(ctx context.Context, c *caller, in attentionBoardIn) (ledger.AttentionBoard, error) {
			id, err := c.teamNamed(ctx, in.TeamID, "")
			if err != nil {
				return ledger.AttentionBoard{}, err
			}
			if in.Target == "" {
				in.Target = models.TargetHuman
			}
			return c.Ledger.AttentionBoard(ctx, id, in.Target, in.IncludeGreen)
		})
}
