package cli

import (
	"context"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
)

func (a *app) actorCommand() *urfave.Command {
	return a.group("actor", "register who acts and see them",
		leaf{
			name: "register", usage: "register an actor or update its profile", argument: "ID",
			about:   "A profile describes long-lived capability. It claims no work. --actor acts in the\nrole that stands here; an agent's own tools prove theirs by a binding.",
			example: "cox actor register --role agent --provider codex codex-worker-7",
			options: []*option{
				{name: "role", fallback: "agent", oneOf: []string{"agent", "integrator", "human", "node"}, usage: "`ROLE`: agent, integrator, human or node"},
				{name: "kind", usage: "free `WORD`, such as ai"},
				{name: "name", usage: "`NAME` for people"},
				{name: "provider", usage: "`PROVIDER`, such as codex"},
				{name: "status", fallback: "active", oneOf: []string{"active", "unavailable"}, usage: "`STATUS`: active or unavailable"},
				{name: "capabilities", kind: objectKind, usage: "capabilities as a `JSON` object"},
			},
			run: actorRegister,
		},
		leaf{
			name: "list", usage: "list actors", example: "cox actor list --role agent --since 1d",
			options: actorListing().options(&option{name: "role", oneOf: []string{"agent", "integrator", "human", "node"}, usage: "only this `ROLE`"}),
			run:     actorList,
		},
		leaf{name: "show", usage: "show one actor", argument: "ID", example: "cox actor show codex-worker-7", run: actorShow},
	)
}

func actorRegister(ctx context.Context, in *call) error {
	if err := models.CheckID("ID", in.argument); err != nil {
		return err // the ledger would also take human:<login>, which only cox itself may name
	}
	l, err := in.newLedger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	actor, err := l.RegisterActor(ctx, c, models.Actor{
		ID: in.argument, Role: models.Role(in.text("role")), Kind: in.text("kind"), DisplayName: in.text("name"),
		Provider: in.text("provider"), Status: in.text("status"), Capabilities: in.object("capabilities"),
	})
	if err != nil {
		return err
	}
	return in.answer(fields{"actor": actor, "replayed": c.Replayed}, func(p *printer) {
		p.line("Actor %s is registered as %s", actor.ID, actor.Role)
	})
}

func actorList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	actors, err := l.Actors(ctx, models.Role(in.text("role")))
	if err != nil {
		return err
	}
	return actorListing().answer(ctx, in, l, actors)
}

func actorListing() listing[models.Actor] {
	return listing[models.Actor]{
		key: "actors", when: "seen",
		id:       func(x models.Actor) string { return x.ID },
		at:       func(x models.Actor) time.Time { return x.LastSeenAt },
		status:   func(x models.Actor) string { return x.Status },
		statuses: []string{models.StatusActive, models.StatusUnavailable},
		text:     func(x models.Actor) []string { return []string{x.ID, x.DisplayName, x.Provider, x.Kind} },
		table:    (*printer).actors,
	}
}

func (p *printer) actors(actors []models.Actor) {
	rows := make([][]any, 0, len(actors))
	for _, x := range actors {
		rows = append(rows, []any{x.ID, x.Role, x.Status, orDash(x.Provider), x.LastSeenAt})
	}
	p.table("No actor matches: cox actor register ID", []string{"ID", "ROLE", "STATUS", "PROVIDER", "LAST SEEN"}, rows)
}

func actorShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	x, err := l.Actor(ctx, in.argument)
	if err != nil {
		return err
	}
	return in.answer(fields{"actor": x}, func(p *printer) {
		p.facts("actor", x.ID, "role", x.Role, "kind", x.Kind, "name", x.DisplayName, "provider", x.Provider, "status", x.Status,
			"capabilities", compact(x.Capabilities), "last seen", x.LastSeenAt, "registered", x.CreatedAt)
	})
}
