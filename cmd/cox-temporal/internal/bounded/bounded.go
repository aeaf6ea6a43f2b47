// Package bounded waits for a call that has no deadline of its own.
//
// Invariant: Call returns within its limit; a call that is still running then
// goes on by itself, so the caller must be about to end the process.
package bounded

import (
	"time"

	"coxswain/models"
)

// Call runs f and returns its error, or ENGINE_UNAVAILABLE naming what when f
// has not returned within limit.
func Call(what string, limit time.Duration, f func() error) error {
	done := make(chan error, 1) // buffered: a late f must not wait for a reader
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return models.Errorf(models.CodeEngineUnavailable, "%s did not end within %s", what, limit)
	}
}
