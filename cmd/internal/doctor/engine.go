package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"coxswain/models"
	"coxswain/worker"
	"coxswain/workflows"
)

const (
	temporalCheck = "temporal"
	relayCheck    = "relay"
)

// temporalAnswers asks the Temporal that is named, or was started here. Where
// nobody said anything, the one that `cox up` would start has to be there.
func (e *examination) temporalAnswers(ctx context.Context) {
	state, err := worker.CheckEngine(ctx, e.Engine)
	switch {
	case err == nil && len(state.Missing) > 0 && len(state.Missing) < all():
		e.warn(temporalCheck, state.Address+" answers, namespace "+state.Namespace+"; search attributes are missing: "+strings.Join(state.Missing, ", "),
			"let cox worker add them, or create them as Keyword")
	case err == nil && len(state.Missing) > 0:
		e.ok(temporalCheck, state.Address+" answers, namespace "+state.Namespace+"; its first worker adds the search attributes")
	case err == nil:
		e.ok(temporalCheck, state.Address+" answers, namespace "+state.Namespace)
	case e.UpPID != 0:
		e.fail(temporalCheck, models.CodeEngineUnavailable, fmt.Sprintf("%s does not answer, and cox up (process %d) waits for it", state.Address, e.UpPID),
			models.StartAgain)
	case e.EngineNamed:
		e.failWith(temporalCheck, models.CodeEngineUnavailable, err, "cox up")
	case e.WorkerPID != 0: // which may have been told another address
		e.warn(temporalCheck, fmt.Sprintf("%s does not answer, and the worker (process %d) waits unless it uses another", state.Address, e.WorkerPID), "cox up")
	default:
		e.embedded()
	}
}

// relayBehind names workflows that do not read what was raised for them.
func (e *examination) relayBehind(ctx context.Context) {
	if e.ledger == nil {
		e.skip(relayCheck, "no ledger")
		return
	}
	lag, err := e.ledger.Lag(ctx)
	switch {
	case err != nil:
		e.failWith(relayCheck, models.CodeLedgerUnavailable, err, "cox doctor")
	case len(lag.Jams) > 0:
		first := lag.Jams[0]
		e.warn(relayCheck, fmt.Sprintf("%d workflows do not read; %s: %s", len(lag.Jams), first.WorkflowID, first.Reason), "cox status")
	case lag.Wakeups > 0 && len(lag.Alive) == 0:
		e.warn(relayCheck, fmt.Sprintf("%d wake-ups wait, and no worker runs", lag.Wakeups), "cox up")
	case lag.Wakeups > 0 && lag.AwaySince != nil:
		e.warn(relayCheck, fmt.Sprintf("%d wake-ups wait, and Temporal does not answer the worker", lag.Wakeups), models.StartAgain)
	default:
		e.ok(relayCheck, fmt.Sprintf("%d wake-ups are on their way", lag.Wakeups))
	}
}

func all() int { return len(workflows.AttributeNames()) }

func (e *examination) embedded() {
	if info, err := os.Stat(e.Temporal); err != nil || info.Mode()&0o111 == 0 {
		e.fail(temporalCheck, models.CodeEngineUnavailable, "none answers, and the embedded one is not at "+e.Temporal,
			"put cox-temporal beside cox, or name your own Temporal with --address")
		return
	}
	e.ok(temporalCheck, "none runs; cox up starts "+e.Temporal)
}
