package cli

import (
	"context"

	"coxswain/models/ledger"
)

// filters are the options that narrow a list to one entity, and how the ledger
// finds it.
func filters() map[string]func(context.Context, *ledger.Ledger, string) error {
	return map[string]func(context.Context, *ledger.Ledger, string) error{
		"workspace": func(ctx context.Context, l *ledger.Ledger, id string) error {
			_, err := l.Workspace(ctx, id)
			return err
		},
		"team": func(ctx context.Context, l *ledger.Ledger, id string) error { _, err := l.Team(ctx, id); return err },
		"assignment": func(ctx context.Context, l *ledger.Ledger, id string) error {
			_, err := l.Assignment(ctx, id)
			return err
		},
		"run": func(ctx context.Context, l *ledger.Ledger, id string) error { _, err := l.Run(ctx, id); return err },
		"by":  func(ctx context.Context, l *ledger.Ledger, id string) error { _, err := l.Actor(ctx, id); return err },
	}
}

// known refuses a filter that names what is not in the ledger: an empty list
// would hide the mistyped id. Errors: NOT_FOUND.
func (in *call) known(ctx context.Context, l *ledger.Ledger, names ...string) error {
	find := filters()
	for _, name := range names {
		id := in.text(name)
		if id == "" {
			continue
		}
		if err := find[name](ctx, l, id); err != nil {
			return err
		}
	}
	return nil
}
