package cli

import (
	"context"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/worker/notify"
)

func (a *app) notifyCommand() *urfave.Command {
	return a.group("notify", "try the command that tells you what happens",
		leaf{
			name: "test", usage: "run the notify command once with a test document", example: "cox notify test",
			about: "The worker runs the command once per change, in an environment without secrets, with one JSON document on\n" +
				"stdin: id, kind (needs_you, all_done, limit_hit, parked; here test), change (raised or cleared), summary,\n" +
				"count, open, items, node_id, ledger, at, attempt. After a crash the same id may come again.",
			options: notifyOptions(),
			run:     notifyTest,
		},
	)
}

func notifyTest(ctx context.Context, in *call) error {
	line := in.text("notify-command")
	if line == "" {
		return models.Invalid("notify-command", "no notify command is set").Hint("set notify.command in the configuration file: cox config init explains it")
	}
	payload := fields{"id": "test", "kind": "test", "change": models.NoticeRaised, "summary": "a test of cox notify test", "count": 0, "open": 0, "items": []any{}, "at": time.Now().UTC(), "attempt": 1}
	began := time.Now()
	if err := notify.Run(ctx, line, in.span("notify-timeout"), payload, in.env); err != nil {
		return models.Invalid("notify-command", "the command failed: %s", err).Hint("it is run by /bin/sh with PATH, HOME and little more; mend the line, then cox notify test")
	}
	took := time.Since(began).Round(time.Millisecond)
	return in.answer(fields{"command": line, "milliseconds": took.Milliseconds()}, func(p *printer) { p.line("The command ended well after %s.", took) })
}
