package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) interventionCommand() *urfave.Command {
	return a.group("intervention", "answer what agents ask a person",
		leaf{
			name: "list", usage: "list questions to people", example: "cox intervention list",
			options: []*option{
				workspaceFilter(), teamFilter(),
				{name: "run", usage: "only about this run `ID`"},
				{name: "status", fallback: "open", oneOf: []string{"open", "answered", "closed", "all"}, usage: "`STATUS`: open, answered, closed or all"},
			},
			run: interventionList,
		},
		leaf{
			name: "respond", usage: "answer a question", argument: "ID", example: "cox intervention respond --response \"use the staging key\" evt_0f3c",
			about:   "The run goes on when none of its questions is open any more.",
			options: []*option{{name: "response", required: true, usage: "the answer in `WORDS`"}},
			run:     interventionRespond,
		},
	)
}

func interventionList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace", "team", "run"); err != nil {
		return err
	}
	filter := ledger.InterventionFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team"), RunID: in.text("run"), Status: in.text("status")}
	if filter.Status == "all" {
		filter.Status = ""
	}
	found, err := l.Interventions(ctx, filter)
	if err != nil {
		return err
	}
	return in.answer(fields{"interventions": found}, func(p *printer) { p.interventions(found) })
}

func (p *printer) interventions(found []models.Intervention) {
	rows := make([][]any, 0, len(found))
	for _, i := range found {
		rows = append(rows, []any{i.ID, i.Status, i.Kind, orDash(i.AssignmentID), i.RequestedBy, i.CreatedAt, i.Prompt})
	}
	p.table("Nobody waits for an answer.", []string{"ID", "STATUS", "KIND", "ASSIGNMENT", "ASKED BY", "SINCE", "QUESTION"}, rows)
}

func interventionRespond(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	event, err := l.RespondIntervention(ctx, c, in.argument, in.text("response"))
	if err != nil {
		return err
	}
	return in.answer(fields{"event": event, "replayed": c.Replayed}, func(p *printer) {
		p.line("Intervention %s is answered by %s", in.argument, event.ActorID)
	})
}
