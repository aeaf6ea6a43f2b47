package worker

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
)

// Figures of the look at the engine.
const (
	reachEvery   = 2 * time.Second        // between two looks while it answers
	reachAgain   = 500 * time.Millisecond // while it does not
	reachTimeout = 3 * time.Second        // of one look
)

// reach knows whether the engine answers, and whether it is still the one in which
// the workflows live: a server in memory forgets them when it starts again.
type reach struct {
	namespace  func(context.Context) (id string, err error)       // of the engine that answers
	prepare    func(context.Context) (attributes bool, err error) // brings it up to what the workflows need
	note       func(ctx context.Context, away bool) error         // for the commands of this ledger
	log        *slog.Logger
	prepared   string // the id of the namespace that is prepared
	attributes bool   // whether that has the search attributes
	away       bool
	told       bool      // whether the log and the ledger say so
	next       time.Time // of the next look
}

// newReach begins with an engine that was prepared already, but for its id.
func newReach(c client.Client, o Options, nodeID string, attributes bool) *reach {
	return &reach{
		namespace: func(ctx context.Context) (string, error) {
			described, err := describeNamespace(ctx, c, o.Engine.NamespaceName())
			return described.GetNamespaceInfo().GetId(), err
		},
		prepare:    func(ctx context.Context) (bool, error) { return prepareEngine(ctx, c, o) },
		note:       func(ctx context.Context, away bool) error { return o.Ledger.EngineAway(ctx, nodeID, away) },
		log:        o.Log,
		attributes: attributes,
		away:       true, // until the first look, which tells, and takes back what an earlier worker noted
	}
}

// doubt makes the next question a new look.
func (r *reach) doubt() { r.next = time.Time{} }

// answers tells whether wake-ups can be brought now. back is true when the engine
// answers again, so that whatever was sent before may be lost.
func (r *reach) answers(ctx context.Context) (yes, back bool) {
	if time.Now().Before(r.next) {
		return !r.away, false
	}
	was := r.away
	err := r.look(ctx)
	if ctx.Err() != nil {
		return false, false
	}
	r.away, r.next = err != nil, time.Now().Add(reachEvery)
	if r.away {
		r.next = time.Now().Add(reachAgain)
	}
	if r.away != was || !r.told {
		r.told = true
		r.changed(ctx, err)
	}
	return !r.away, was && !r.away
}

// look asks the engine for its namespace, and prepares one that is new.
func (r *reach) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	id, err := r.namespace(ctx)
	if err != nil || id == r.prepared {
		return err
	}
	if r.attributes, err = r.prepare(ctx); err == nil {
		r.prepared = id
	}
	return err
}

// changed tells the log and the ledger.
func (r *reach) changed(ctx context.Context, cause error) {
	if r.away {
		r.log.Warn("Temporal cannot be used; wake-ups wait for it", "error", cause)
	} else {
		r.log.Info("Temporal answers")
	}
	if err := r.note(ctx, r.away); err != nil && ctx.Err() == nil {
		r.log.Warn("the ledger does not say whether Temporal answers", "error", err)
	}
}
