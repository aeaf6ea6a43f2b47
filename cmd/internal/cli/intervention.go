package cli

import (
	"context"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) interventionCommand() *urfave.Command {
	return a.group("intervention", "answer what agents ask a person",
		leaf{
			name: "list", usage: "list questions to people", example: "cox intervention list",
			options: interventionListing().options(workspaceFilter(), teamFilter(),
				&option{name: "assignment", ids: "assignment", kind: identKind, usage: "only about this assignment `ID`"},
				&option{name: "run", ids: "run", usage: "only about this run `ID`"},
				&option{name: "status", fallback: "open", oneOf: []string{"open", "answered", "closed", "all"}, usage: "`STATUS`: open, answered, closed or all"}),
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
	if err := in.known(ctx, l, "workspace", "team", "assignment", "run"); err != nil {
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
	if id := in.text("assignment"); id != "" {
		found = slices.DeleteFunc(found, func(i models.Intervention) bool { return i.AssignmentID != id })
	}
	return interventionListing().answer(ctx, in, l, found)
}

func interventionListing() listing[models.Intervention] {
	return listing[models.Intervention]{
		key: "interventions", when: "asked", who: "asked or answered",
		id:    func(i models.Intervention) string { return i.ID },
		at:    func(i models.Intervention) time.Time { return i.CreatedAt },
		by:    func(i models.Intervention) []string { return []string{i.RequestedBy, i.RespondedBy} },
		text:  func(i models.Intervention) []string { return []string{i.AssignmentID, i.Kind, i.Prompt, i.Response} },
		table: (*printer).interventions,
	}
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
