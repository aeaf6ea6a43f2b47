package ledgertest

import (
	"testing"
	"time"

	"coxswain/models/ledger"
)

// Opener opens a fresh, empty ledger with the given clock and closes it when the
// test ends.
type Opener func(t *testing.T, clock ledger.Clock) *ledger.Ledger

// Suite runs every test against ledgers of the opener.
func Suite(t *testing.T, open Opener) {
	for _, group := range []map[string]func(*env){
		setupTests(), assignmentTests(), claimTests(), runTests(), handoffTests(), reviewTests(), stopTests(),
		dependentTests(), loopTests(), pauseTests(), alertTests(), interventionTests(), managedTests(), secretTests(), textTests(), requestTests(), contentionTests(), planTests(),
		briefTests(), attentionTests(), snapshotTests(),
		interruptTests(), steerTests(), runLogTests(), inboxTests(), lagTests(),
		settingsTests(), worktreeTests(), approvalTests(), clockTests(), holdTests(),
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { test(newEnv(t, open)) })
		}
	}
}

// start is the first reading of every test's clock.
var start = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
