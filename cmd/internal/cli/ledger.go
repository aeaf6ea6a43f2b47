package cli

import (
	"context"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

func (a *app) ledgerCommand() *urfave.Command {
	return a.group("ledger", "keep copies of the ledger and bring it back",
		leaf{
			name: "backup", usage: "copy the ledger and its key into new files", argument: "FILE", example: "cox ledger backup ledger-monday.db",
			about: "Work goes on meanwhile. FILE.key is the copy of the key: who has it can act as any agent.",
			run:   ledgerBackup,
		},
		leaf{
			name: "restore", usage: "put a backup in the place of the ledger", argument: "[FILE]", example: "cox ledger restore ledger-monday.db",
			about: "Stop everything first: cox down. What was there is kept beside it. Whatever the backup holds for open may\n" +
				"have happened since; it is looked for before anything is done or said again. Without FILE the ledger\n" +
				"stays as it is and is told that it was set back by other means. A worker notices by itself when an\n" +
				"older copy of the file was put back.",
			run: ledgerRestore,
		},
		leaf{
			name: "renew-key", usage: "give a ledger whose key is lost a new one", example: "cox ledger renew-key",
			about: "Stop everything first: cox down. Every token of before is worthless then; live threads get new ones when\n" +
				"their worker starts. A key in a backup is better: put it back instead.",
			run: ledgerRenewKey,
		},
	)
}

func ledgerBackup(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	file, err := filepath.Abs(in.argument)
	if err != nil {
		return models.Invalid("file", "%s is no path", in.argument).Hint("name a file").Because(err)
	}
	if err := l.Backup(ctx, file); err != nil {
		return err
	}
	return in.answer(fields{"ledger": l.Path(), "backup": file, "key": file + ".key"}, func(p *printer) {
		p.line("%s and its key are copied to %s and %s.key", l.Path(), file, file)
		p.line("bring it back: cox %sledger restore %s", in.elsewhere(), shellWord(file))
	})
}

// unused are the places of a ledger that no worker of this state directory uses.
func (in *call) unused() (ledger.Options, error) {
	paths, err := in.paths()
	if err != nil {
		return ledger.Options{}, err
	}
	if pid, running := worker.Running(paths.StateDir); running {
		return ledger.Options{}, models.Errorf(models.CodeLedgerBusy, "the worker (process %d) uses the ledger", pid).
			Hint("%s", in.next("down")).With("worker_pid", pid)
	}
	return ledger.Options{Path: paths.DB, StateDir: paths.StateDir}, nil
}

func ledgerRestore(ctx context.Context, in *call) error {
	if in.argument == "" {
		return ledgerWasRestored(ctx, in)
	}
	at, err := in.unused()
	if err != nil {
		return err
	}
	done, kept, err := ledger.RestoreFile(ctx, at, in.argument, in.request())
	if err != nil {
		return err
	}
	return in.answerRestored(done, kept)
}

// ledgerWasRestored is the answer of somebody who restored the ledger by other means.
func ledgerWasRestored(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	done, err := l.RaiseEpoch(ctx, in.request())
	if err != nil {
		return err
	}
	return in.answerRestored(done, "")
}

func (in *call) answerRestored(done ledger.Restored, kept string) error {
	return in.answer(fields{"restored": done, "kept": kept}, func(p *printer) {
		p.line("the ledger is in epoch %d", done.Epoch)
		p.line("%s and %s may have happened already and are looked for first; %s woken",
			counted(done.Commands, "open command", "open commands"), counted(done.Messages, "message", "messages"),
			counted(done.Workflows, "workflow is", "workflows are"))
		if kept != "" {
			p.line("what was there is kept as %s", kept)
		}
		p.line("next: %s", in.next("up"))
	})
}

func ledgerRenewKey(ctx context.Context, in *call) error {
	at, err := in.unused()
	if err != nil {
		return err
	}
	done, err := ledger.RenewKey(ctx, at)
	if err != nil {
		return err
	}
	return in.answer(fields{"renewed": done}, func(p *printer) {
		p.line("the ledger has a new key; %s and %s have new tokens",
			counted(done.Bindings, "live thread", "live threads"), counted(done.Tasks, "task", "tasks"))
		p.line("next: %s", in.next("up"))
	})
}
