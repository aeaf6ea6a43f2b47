package doctor

import (
	"context"
	"errors"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// Status is how a check came out.
type Status string

// A warning is worth a look and stops nothing; what is skipped does not apply.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Check is one thing that was looked at.
type Check struct {
	Name     string      `json:"name"`
	Required bool        `json:"required"` // nothing can run while it fails
	Status   Status      `json:"status"`
	Detail   string      `json:"detail"`
	Remedy   string      `json:"remedy,omitempty"` // the command that helps
	Code     models.Code `json:"code,omitempty"`   // of a failure
}

// Options say what to look at.
type Options struct {
	Environ     []string // the environment, as os.Environ gives it
	Paths       ledger.Paths
	NodeID      string // this host's node
	Codex       bool   // the loops run the real Codex
	CodexBin    string // "" is found
	CodexHome   string // "" is the user's own
	Transport   string // appserver.Auto, Unix or Stdio; "" is Auto
	Engine      workflows.Engine
	EngineNamed bool   // somebody said where Temporal is, or one was started here
	Temporal    string // the embedded Temporal beside this program
	WorkerPID   int    // 0: no worker runs here
	UpPID       int    // of the cox up that uses Engine; 0: none runs here
	Now         func() time.Time
}

// Run makes every check, tells each as it is done, and returns all. It changes
// nothing itself; opening brings an older ledger up to date, and Codex keeps files
// of its own in its home.
func Run(ctx context.Context, o Options, tell func(Check)) []Check {
	e := &examination{Options: o, tell: tell}
	defer e.close()
	for _, check := range []func(context.Context){
		e.ledgerPrivate, e.ledgerOpens, e.ledgerSound, e.clockForward, e.relayBehind,
		e.gitRuns, e.codexRuns, e.temporalAnswers, e.workerLives, e.diskHasRoom, e.logsFit,
	} {
		if ctx.Err() != nil {
			break
		}
		check(ctx)
	}
	return e.checks
}

// FirstFailure is the first required check that failed, nil for none.
func FirstFailure(checks []Check) *Check {
	for i := range checks {
		if checks[i].Required && checks[i].Status == Failed {
			return &checks[i]
		}
	}
	return nil
}

type examination struct {
	Options

	tell   func(Check)
	checks []Check
	ledger *ledger.Ledger // nil without one
}

func (e *examination) close() {
	if e.ledger != nil {
		_ = e.ledger.Close() // it only read
	}
}

// add keeps and tells a check. Without a worker the rest is still as it should be;
// one that hangs is not.
func (e *examination) add(c Check) {
	c.Required = c.Status != Skipped && (c.Name != workerCheck || c.Status == Failed)
	e.checks = append(e.checks, c)
	e.tell(c)
}

func (e *examination) ok(name, detail string) { e.add(Check{Name: name, Status: OK, Detail: detail}) }

func (e *examination) skip(name, why string) {
	e.add(Check{Name: name, Status: Skipped, Detail: why})
}

func (e *examination) warn(name, detail, remedy string) {
	e.add(Check{Name: name, Status: Warning, Detail: detail, Remedy: remedy})
}

// fail adds a failure.
func (e *examination) fail(name string, code models.Code, detail, remedy string) {
	e.add(Check{Name: name, Status: Failed, Detail: detail, Remedy: remedy, Code: code})
}

// unavailable are the codes of what cannot be had now; a failed check has no other.
func unavailable(code models.Code) bool {
	switch code {
	case models.CodeLedgerBusy, models.CodeLedgerUnavailable, models.CodeSchemaVersionUnsupported, models.CodeAdapterUnavailable, models.CodeEngineUnavailable:
		return true
	default:
		return false
	}
}

// failWith adds a failure as an error tells it.
func (e *examination) failWith(name string, code models.Code, err error, remedy string) {
	if typed, ok := errors.AsType[*models.Error](err); ok {
		if unavailable(typed.Code) {
			code = typed.Code
		}
		if typed.Next != "" {
			remedy = typed.Next
		}
	}
	e.fail(name, code, err.Error(), remedy)
}
