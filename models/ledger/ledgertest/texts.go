package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

func textTests() map[string]func(*env) {
	return map[string]func(*env){
		"text/what_not_every_database_keeps": unstorable,
		"text/letters_of_the_world":          letters,
	}
}

func unstorable(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	for _, text := range []string{"a\x00b", "a\xffb"} {
		e.unchanged("one", models.CodeInvalidArgument, func() error {
			_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, text)
			return err
		})
		e.unchanged("one", models.CodeInvalidArgument, func() error {
			_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, text, "", nil)
			return err
		})
		_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "two", TeamID: crew, Title: "t", AcceptanceCriteria: []string{text}}, nil)
		e.refused(models.CodeInvalidArgument, err)
	}
	_, err := e.l.RecordRunBinding(e.ctx, ledger.As(agentA), c.Run.ID, map[string]any{"zero": "a\x00b"}, nil)
	e.ok(err)
	same(e, "in JSON it is kept", e.run(c.Run.ID).Metadata["zero"].(string), "a\x00b")
}

func letters(e *env) {
	const text = "Zażółć gęślą jaźń – 漢字 עברית 🜚 \"quoted\" \\ back % _ ' $1 ?"
	e.create("one", func(n *models.NewAssignment) {
		n.Title, n.AcceptanceCriteria, n.Metadata = text, []string{text}, map[string]any{text: text}
	})
	a := e.assignment("one")
	same(e, "title", a.Title, text)
	same(e, "criterion", a.AcceptanceCriteria[0], text)
	same(e, "metadata", a.Metadata[text].(string), text)
}
