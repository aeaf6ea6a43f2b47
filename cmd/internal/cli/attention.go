package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) attentionCommand() *urfave.Command {
	return a.group("attention", "see what agents want somebody to look at",
		leaf{
			name: "board", usage: "list what somebody should look at in a team", example: "cox attention board --team web --green",
			about: "Red items are open questions, which people answer; the others were raised by runs.\nOf a run's items with one key only the last counts.",
			options: []*option{
				workspaceOption(), teamOption(),
				{name: "target", fallback: models.TargetHuman, oneOf: models.AttentionTargets(), usage: "whose items, `WHO`: human, integrator or agent"},
				{name: "green", kind: truthKind, usage: "list green items too; they are counted always"},
			},
			run: attentionBoard,
		},
		leaf{
			name: "raise", usage: "ask somebody to look at a run", argument: "RUN",
			example: "cox attention raise --dedupe-key api-limit --reason-code slow --why-now \"the limit is near\" --recommended-action \"raise it\" run_0f3c",
			about:   "It changes no status. Yellow for human is in cox inbox. A later one of the run with the same key replaces it.",
			options: []*option{
				{name: "level", fallback: string(models.AttentionYellow), oneOf: []string{string(models.AttentionYellow), string(models.AttentionGreen)}, usage: "`LEVEL`: yellow or green"},
				{name: "target", fallback: models.TargetHuman, oneOf: models.AttentionTargets(), usage: "`WHO` should look: human, integrator or agent"},
				{name: "dedupe-key", required: true, usage: "what it is about, in `WORDS` of your own"},
				{name: "reason-code", required: true, usage: "the kind of reason, in a `WORD` or a few"},
				{name: "why-now", required: true, usage: "why somebody should look now, in `WORDS`"},
				{name: "recommended-action", required: true, usage: "what they should do, in `WORDS`"},
				{name: "source-event", kind: listKind, usage: "`ID` of an event that shows it; may be repeated"},
				{name: "blocking", kind: truthKind, usage: "say that the work waits for it; it is told so, and a question is what holds a run"},
				updateOption(),
			},
			run: attentionRaise,
		},
		leaf{
			name: "settle", usage: "say that you have looked at what a run raised", argument: "EVENT",
			example: "cox attention settle --note \"raised it\" evt_0f3c",
			about:   "It leaves inbox and board, and the run goes on as it did. A later one of the run with the same key is shown again.",
			options: []*option{{name: "note", usage: "what was done about it, in `WORDS`"}},
			run:     attentionSettle,
		},
	)
}

func attentionBoard(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	t, err := in.team(ctx, l)
	if err != nil {
		return err
	}
	b, err := l.AttentionBoard(ctx, t.ID, in.text("target"), in.on("green"))
	if err != nil {
		return err
	}
	doc := fields{"team_id": b.TeamID, "target": b.Target, "counts": b.Counts, "items": b.Items, "digest": b.Digest}
	return in.answer(doc, func(p *printer) {
		rows := make([][]any, 0, len(b.Items))
		for _, i := range b.Items {
			rows = append(rows, []any{i.Level, orDash(i.AssignmentID), i.OwnerActorID, i.CreatedAt, i.WhyNow, i.RecommendedAction})
		}
		p.line("%d red, %d yellow, %d green for %s in team %s", b.Counts.Red, b.Counts.Yellow, b.Counts.Green, b.Target, b.TeamID)
		p.table("Nothing to look at.", []string{"LEVEL", "ASSIGNMENT", "OWNER", "SINCE", "WHY", "WHAT TO DO"}, rows)
	})
}

func attentionRaise(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	e, err := l.RaiseAttention(ctx, c, ledger.AttentionUpdate{
		RunID: in.argument, ClientUpdateID: in.updateID(), Attention: models.Attention{
			Level: models.AttentionLevel(in.text("level")), Target: in.text("target"), Blocking: in.on("blocking"), DedupeKey: in.text("dedupe-key"),
			ReasonCode: in.text("reason-code"), WhyNow: in.text("why-now"), RecommendedAction: in.text("recommended-action"), SourceEventIDs: in.list("source-event"),
		},
	})
	if err != nil {
		return err
	}
	return in.answer(fields{"event": e, "replayed": c.Replayed}, func(p *printer) {
		p.line("Run %s asks %s to look: %s", in.argument, in.text("target"), e.ID)
	})
}

func attentionSettle(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	e, err := l.SettleAttention(ctx, c, in.argument, in.text("note"))
	if err != nil {
		return err
	}
	return in.answer(fields{"event": e, "replayed": c.Replayed}, func(p *printer) {
		p.line("What %s raised is settled: %s", e.AssignmentID, e.ReviewedEventID)
	})
}
