package cli

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
)

func eventsLeaf() leaf {
	return leaf{
		name: "events", usage: "read the ledger's events in order",
		about:   "A reader goes on with --after N, N being the last sequence it saw (next_after in JSON).",
		example: "cox events --team web --type handoff_submitted --limit 20",
		options: []*option{
			workspaceFilter(), teamFilter(),
			{name: "after", kind: wholeKind, usage: "only events after sequence `N`"},
			{name: "assignment", kind: identKind, usage: "only this assignment `ID`"},
			{name: "run", usage: "only this run `ID`"},
			{name: "type", kind: listKind, usage: "only this `TYPE`; may be repeated"},
			{name: "newest", kind: truthKind, usage: "the last events instead of the first"},
			limitOption("events"),
		},
		run: events,
	}
}

func events(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace", "team", "assignment", "run"); err != nil {
		return err
	}
	found, err := l.Events(ctx, ledger.EventFilter{
		After: int64(in.whole("after")), WorkspaceID: in.text("workspace"), TeamID: in.text("team"), AssignmentID: in.text("assignment"),
		RunID: in.text("run"), Types: in.list("type"), Limit: in.whole("limit"), Newest: in.on("newest"),
	})
	if err != nil {
		return err
	}
	next := int64(in.whole("after"))
	if len(found) > 0 {
		next = found[len(found)-1].Sequence
	}
	return in.answer(fields{"events": found, "next_after": next}, func(p *printer) { p.events(found) })
}

func (p *printer) events(found []models.Event) {
	rows := make([][]any, 0, len(found))
	for _, e := range found {
		rows = append(rows, []any{e.Sequence, e.CreatedAt, e.Type, e.Status, orDash(e.AssignmentID), e.ActorID, e.ID})
	}
	p.table("No event.", []string{"SEQUENCE", "TIME", "TYPE", "STATUS", "ASSIGNMENT", "ACTOR", "EVENT"}, rows)
}
