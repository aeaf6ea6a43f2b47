package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"

	"coxswain/models"
)

// The states of Postgres that the ledger tells apart.
const (
	stateNoTable       = "42P01"
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateLockTimeout   = "55P03"
	stateTooMany       = "53300" // connections
	stateDuplicate     = "23505"
	stateBadText       = "22021"
	requestsKey        = "requests_pkey"
)

// serverDialect gives every statement's error its code, those of reads too.
type serverDialect struct {
	postgres.Dialector

	store *serverStore
}

// Translate implements gorm's ErrorTranslator.
func (d serverDialect) Translate(err error) error {
	if coded := d.store.failure(err); models.CodeOf(coded) != models.CodeInternal {
		return coded
	}
	return d.Dialector.Translate(err)
}

func isState(err error, state string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == state
}

func (s *serverStore) failure(err error) error {
	if err == nil || models.CodeOf(err) != models.CodeInternal || errors.Is(err, context.Canceled) {
		return err
	}
	if isState(err, stateLockTimeout) {
		return s.busy(err)
	}
	if isState(err, stateSerialization) || isState(err, stateDeadlock) || isState(err, stateTooMany) {
		return models.Errorf(models.CodeLedgerBusy, "the ledger was busy").Hint("try again").Because(err)
	}
	if isState(err, stateBadText) {
		return models.Invalid("text", "holds a zero character, or bytes that are no UTF-8").Hint("write plain text").Because(err)
	}
	if unreachable(err) {
		return Unavailable(s.name(), err)
	}
	return err
}

// busy names the process that holds the writers' lock, where it can be found out.
func (s *serverStore) busy(cause error) error {
	e := models.Errorf(models.CodeLedgerBusy, "the ledger was busy for %s", s.timeout).Because(cause)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var holder string
	err := s.reader.WithContext(ctx).Raw(`SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	  WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32) | l.objid::bigint = ? LIMIT 1`, s.lock).Scan(&holder).Error
	if err != nil || holder == "" {
		return e.Hint("try again; pg_stat_activity of the database shows who writes")
	}
	return e.With("holder", holder).Hint("%q holds it; try again, or look at that process", holder)
}

// unreachable tells whether the server is away, shuts down, or does not let this
// user in.
func unreachable(err error) bool {
	if away(err) {
		return true
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "28", "3D", "53", "58", "F0", "XX": // login, database, resources, system, configuration, internal
		return true
	}
	return e.Code == "42501" || e.Code == "25006" // privilege, read-only server
}
