package mcpserver

import (
	"context"

	"coxswain/models"
)

// registerActorIn has no identity: its actor_id is the subject, and an agent's
// must be itself.
type registerActorIn struct {
	ActorID      string         `json:"actor_id" jsonschema:"1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit. An agent registers itself only."`
	ActorKind    string         `json:"actor_kind" jsonschema:"Free text, such as ai."`
	DisplayName  string         `json:"display_name"`
	Provider     string         `json:"provider,omitempty" jsonschema:"Such as codex; local when left out."`
	Capabilities map[string]any `json:"capabilities,omitempty" jsonschema:"Long-lived ones, such as adapter_kind or can_start_thread."`
	RequestID    string         `json:"request_id,omitempty" jsonschema:"Your own id of this call: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit. The same call with the same id again returns the first answer and changes nothing."`
}

type actorOut struct {
	Actor models.Actor `json:"actor"`
}

func registerActor() entry {
	return tool(definition{
		name: "register_actor", title: "Register an actor", effect: repeats,
		text: "Make an actor and its long-lived capabilities known, or bring them up to date. It claims no work.",
	},
		func(ctx context.Context, c *caller, in registerActorIn) (out actorOut, err error) {
			a := models.Actor{
				ID: in.ActorID, Kind: in.ActorKind, DisplayName: in.DisplayName,
				Provider: in.Provider, Status: models.StatusActive, Capabilities: in.Capabilities,
			}
			if in.ActorID == c.by.ActorID {
				a.Role = c.by.Role
			} else if c.by.Role == models.RoleAgent {
				return out, c.declared(identity{ActorID: in.ActorID})
			}
			out.Actor, err = c.Ledger.RegisterActor(ctx, c.change(in.RequestID), a)
			return out, err
		})
}
