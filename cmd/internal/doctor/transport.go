package doctor

import (
	"context"
	"os"

	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/appserver/managed"
	"coxswain/models"
)

const transportCheck = "codex transport"

const socketRemedy = "see what the detail names; until then --transport stdio works, and cuts running turns off when the worker stops"

// transportWorks tells how a worker reaches Codex: as the one that runs here said, else
// by trying it with a server that ends at once.
func (e *examination) transportWorks(ctx context.Context) {
	if e.Transport == appserver.Stdio {
		e.ok(transportCheck, "stdio, as it is set: running turns are cut off when the worker stops")
		return
	}
	if p, said := e.workersProbe(ctx); said {
		if p.Fallback == "" {
			e.ok(transportCheck, p.Transport+", as the worker says")
		} else {
			e.warn(transportCheck, p.Transport+", as the worker says: "+p.Fallback, socketRemedy)
		}
		return
	}
	err := e.trySocket(ctx)
	switch {
	case err == nil:
		e.ok(transportCheck, "unix: running turns outlive the worker")
	case e.Transport == appserver.Unix:
		e.fail(transportCheck, models.CodeAdapterUnavailable, "no socket: "+plain(err), socketRemedy)
	default:
		e.warn(transportCheck, "stdio, since there is no socket: "+plain(err), socketRemedy)
	}
}

// workersProbe is what the worker that runs here found.
func (e *examination) workersProbe(ctx context.Context) (p models.Probe, said bool) {
	if e.ledger == nil || e.WorkerPID == 0 {
		return p, false
	}
	node, err := e.ledger.Node(ctx, e.NodeID)
	if err != nil {
		return p, false // the check of the worker tells
	}
	p, said = node.Probes[models.AdapterKindCodex]
	return p, said && p.Incarnation == node.Incarnation && p.Transport != ""
}

func (e *examination) trySocket(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "cox-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary folder harms nobody
	host, err := managed.Open(ctx, dir, e.codexOptions(e.CodexBin))
	if err != nil {
		return err
	}
	_ = host.Close() // it was only asked
	_, err = managed.Stop(ctx, dir, 0)
	return err
}
