package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"
)

func (a *app) recoverCommand() *urfave.Command {
	return a.group("recover", "bring back by hand what was lost",
		leaf{
			name: "workflows", usage: "let every workflow look at the ledger again",
			about: "The worker does this by itself when Temporal lost its memory. By hand it helps where workflows were\n" +
				"lost otherwise. It may be repeated: a workflow does only what the ledger still asks for, so that\n" +
				"nothing is started or said twice.",
			example: "cox recover workflows",
			run:     recoverWorkflows,
		},
	)
}

func recoverWorkflows(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	raised, err := l.RecoverWorkflows(ctx, c)
	if err != nil {
		return err
	}
	return in.answer(fields{"raised": raised, "replayed": c.Replayed}, func(p *printer) {
		p.line("%s looked at again by the worker", counted(raised.Workflows, "workflow is", "workflows are"))
	})
}
