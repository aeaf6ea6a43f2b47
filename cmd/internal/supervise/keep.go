package supervise

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// steady is how long a child has to live for its restarts to count from zero.
const steady = time.Minute

// Change is what Keep tells of a child: that it is ready, or how it ended.
type Change struct {
	PID   int // 0 when it could not be started
	Ready bool
	Err   error
}

// Keep keeps a child running until ctx ends: it is started again after a back-off
// of 0.5 s to 30 s that a minute of life resets. say is told when a child is ready
// and when it ended by itself, from more than one goroutine. It returns when the
// last child is gone.
func Keep(ctx context.Context, c Command, grace time.Duration, say func(Change)) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 500*time.Millisecond, 30*time.Second
	for ctx.Err() == nil {
		began := time.Now()
		child, err := Start(c)
		if err != nil {
			say(Change{Err: err})
		} else {
			go func() {
				if _, err := child.Ready(ctx); err == nil {
					say(Change{PID: child.PID(), Ready: true})
				}
			}()
			if ended := attend(ctx, child, grace); !ended {
				return
			}
			say(Change{PID: child.PID(), Err: orExited(child.Err())})
		}
		if time.Since(began) > steady {
			wait.Reset()
		}
		t := time.NewTimer(wait.NextBackOff())
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// attend waits for the child's own end (true), or stops it when ctx ends.
func attend(ctx context.Context, child *Child, grace time.Duration) bool {
	select {
	case <-child.Done():
		return true
	case <-ctx.Done():
		child.Stop(grace)
		return false
	}
}
