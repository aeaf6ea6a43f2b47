package ledger

import (
	"coxswain/models"
)

// afterOutcome lets the clocks, the account and the breakers know how a turn ended.
func (tx *Tx) afterOutcome(b models.Binding, turn models.Turn, run models.Run, r TurnReport) error {
	if turn.Stale != "" {
		if err := tx.withdrawStale(b, turn.RunID); err != nil {
			return err
		}
	}
	switch r.Status {
	case models.TurnCompleted:
		if err := tx.accountWorks(b); err != nil || run.ID == "" {
			return err
		}
		return tx.forgive(assignmentBreaker(run.AssignmentID), "a turn succeeded")
	case models.TurnFailed:
		return tx.afterFailure(b, run, r)
	case models.TurnActive, models.TurnInterrupted, models.TurnLost:
	}
	return nil
}

// afterFailure holds the account after a usage limit. Every other failure of a run, and
// a usage limit that holds nothing, counts against the breakers.
func (tx *Tx) afterFailure(b models.Binding, run models.Run, r TurnReport) error {
	if models.RetryOf(r.ErrorKind) == models.RetryHold {
		limits := r.Limits
		if limits == nil {
			limits, _ = run.Metadata["rate_limits"].(map[string]any)
		}
		if held, err := tx.holdAccount(b, limits); err != nil || held {
			return err
		}
	}
	if run.ID == "" || run.Status.Terminal() || models.RetryOf(r.ErrorKind) == models.RetryPerson {
		return nil
	}
	return tx.failed(run, r.ErrorKind, r.Error)
}
