package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverWatch listens for the notifications that writers send with their commits,
// on a connection that is made anew when it is lost.
type serverWatch struct {
	store  *serverStore
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu    sync.Mutex
	moved bool
	err   error // told once per outage
}

// The wait before a lost connection is made anew, doubled up to the second.
const (
	watchFirst = 100 * time.Millisecond
	watchLast  = 5 * time.Second
)

func (s *serverStore) watch(ctx context.Context) (watcher, error) {
	conn, err := s.listen(ctx)
	if err != nil {
		return nil, coded(s.failure(err), s.name())
	}
	listening, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &serverWatch{store: s, cancel: cancel}
	w.ended.Go(func() { w.run(listening, conn) })
	return w, nil
}

func (s *serverStore) listen(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel}.Sanitize()); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// run notes every notification. What was committed while there was no connection
// counts as one.
func (w *serverWatch) run(ctx context.Context, conn *pgx.Conn) {
	for {
		_, err := conn.WaitForNotification(ctx)
		if err == nil {
			w.note(nil)
			continue
		}
		_ = conn.Close(context.WithoutCancel(ctx)) // broken, or no longer wanted
		if ctx.Err() != nil {
			return
		}
		w.note(w.store.failure(err))
		if conn = w.again(ctx); conn == nil {
			return
		}
		w.note(nil)
	}
}

// again connects until it succeeds; nil when the watch ends first.
func (w *serverWatch) again(ctx context.Context) *pgx.Conn {
	wait := watchFirst
	for {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		if conn, err := w.store.listen(ctx); err == nil {
			return conn
		}
		wait = min(wait*2, watchLast)
	}
}

func (w *serverWatch) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved, w.err = true, err
}

func (w *serverWatch) changed(context.Context) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	moved, err := w.moved, w.err
	w.moved, w.err = false, nil
	return moved, err
}

func (w *serverWatch) close() error {
	w.cancel()
	w.ended.Wait()
	return nil
}
