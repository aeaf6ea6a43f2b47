package worker

import (
	"context"
	"log/slog"

	"coxswain/activities/codex"
	"coxswain/models/ledger"
)

// Watch writes what a host reports into the ledger until ctx ends, as a worker does
// for each of its hosts: nothing else of a worker runs. It is for measuring that path.
func Watch(ctx context.Context, l *ledger.Ledger, host codex.Adapter, log *slog.Logger) error {
	o := newObserver(l, log)
	defer host.Subscribe(o.handler(host))()
	return o.run(ctx)
}
