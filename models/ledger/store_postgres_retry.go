package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// How often something is tried: what the server gave up for another one's sake, and
// what failed because a server that was there is away, for about ten seconds.
const (
	triesAtOnce  = 5
	triesOnceBut = 16
	waitFirst    = 20 * time.Millisecond
	waitLast     = time.Second
)

// again: a transaction that the server gave up for another one's sake did nothing,
// nor did one whose request another recorded first; a new one finds the answer. When
// the connection is lost before the commit was asked for, nothing was done either, and
// a server that is restarted is waited for, once the ledger was open.
func (s *serverStore) again(ctx context.Context, err error, undone bool, try int) bool {
	if rolledBack(err) {
		return try+1 < triesAtOnce
	}
	if !undone || !s.opened.Load() || !away(err) || try+1 >= triesOnceBut {
		return false
	}
	pause := time.NewTimer(min(waitFirst<<min(try, 10), waitLast))
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func rolledBack(err error) bool {
	if isState(err, stateSerialization) || isState(err, stateDeadlock) {
		return true
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == stateDuplicate && e.ConstraintName == requestsKey
}

// away tells whether the server, or the connection to it, is gone.
func away(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		class := e.Code[:min(2, len(e.Code))]
		return class == "08" || class == "57" || e.Code == "25P03" // connection, shutdown or start, idle for too long
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || err != nil && strings.Contains(err.Error(), "conn closed")
}

// steadyPool repeats reads, which change nothing, while the server is away.
type steadyPool struct {
	*sql.DB

	store *serverStore
}

// GetDBConn implements gorm's GetDBConnector.
func (p steadyPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

// QueryContext implements gorm's ConnPool.
func (p steadyPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	for try := 0; ; try++ {
		rows, err := p.DB.QueryContext(ctx, query, args...)
		if err == nil || !p.store.again(ctx, err, true, try) {
			return rows, err
		}
	}
}
