package cli

import (
	"context"
	"strings"

	"coxswain/models"
)

func explainLeaf() leaf {
	return leaf{
		name: "explain", usage: "say what an error code means and what helps", argument: "[CODE]",
		about:   "Without a code it lists all of them, as docs/errors.md does.",
		example: "cox explain STALE_REVISION",
		run:     explain,
	}
}

func explain(_ context.Context, in *call) error {
	if in.argument == "" {
		all := models.Catalogue()
		return in.answer(fields{"errors": all}, func(p *printer) { p.codes(all) })
	}
	for _, f := range models.Catalogue() {
		if strings.EqualFold(string(f.Code), in.argument) {
			return in.answer(fields{"error_code": f}, func(p *printer) { p.code(f) })
		}
	}
	return models.Errorf(models.CodeNotFound, "%q is no error code", in.argument).With("code", in.argument).Hint("cox explain")
}

func (p *printer) codes(all []models.CodeFacts) {
	rows := [][]any{}
	for _, f := range all {
		rows = append(rows, []any{f.Code, int(f.Exit), f.Meaning})
	}
	p.table("", []string{"CODE", "EXIT", "MEANING"}, rows)
}

func (p *printer) code(f models.CodeFacts) {
	p.line("%s (exit code %d)", f.Code, f.Exit)
	p.line("%s", f.Meaning)
	p.heading("Causes")
	for _, cause := range f.Causes {
		p.line("- %s", cause)
	}
	p.heading("What helps")
	p.line("%s", f.Next)
}
