package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/glebarez/sqlite"
)

// marker stands in every id of a recorded call that a replay has to replace, so
// that rows stay unique.
const marker = "recorded-by-cox-bench"

// eventID is how ids of events begin; those are unique too.
const eventID = "evt_"

// replay runs the statements of one product call through database/sql and the
// product's driver, with the product's pragmas and kind of transaction, and
// nothing else: no lock file, no checks, no gorm.
type replay struct {
	db       *sql.DB
	list     []statement
	prepared []*sql.Stmt
	name     string // unique among processes
	count    int
}

// openReplay opens the database bare. synchronous is 2 for FULL, 1 for NORMAL.
func openReplay(ctx context.Context, path string, synchronous int, list []statement, name string) (*replay, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "foreign_keys(1)",
		fmt.Sprintf("synchronous(%d)", synchronous),
	}}
	db, err := sql.Open(sqlite.DriverName, "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	r := &replay{db: db, list: list, name: name}
	if len(list) == 0 {
		return nil, errors.Join(errors.New("no statement was recorded"), db.Close())
	}
	for _, s := range list {
		p, err := db.PrepareContext(ctx, s.sql) //nolint:sqlclosecheck // closed with the database
		if err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", s.sql, err), db.Close())
		}
		r.prepared = append(r.prepared, p)
	}
	return r, nil
}

func (r *replay) close() error { return r.db.Close() }

// once replays the call in one transaction under fresh ids.
func (r *replay) once(ctx context.Context) error {
	r.count++
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for i := range r.list {
		if err := r.statement(ctx, tx, i); err != nil {
			return errors.Join(fmt.Errorf("replay of %q: %w", r.list[i].sql, err), tx.Rollback())
		}
	}
	return tx.Commit()
}

func (r *replay) statement(ctx context.Context, tx *sql.Tx, i int) error {
	args, stmt := r.fresh(r.list[i].args), tx.StmtContext(ctx, r.prepared[i]) //nolint:sqlclosecheck // closed with the transaction
	if !r.list[i].reads() {
		_, err := stmt.ExecContext(ctx, args...)
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // read to its end; Err says what went wrong
	return drain(rows)
}

// fresh replaces what has to be unique.
func (r *replay) fresh(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		text, ok := a.(string)
		switch {
		case ok && strings.HasPrefix(text, eventID):
			out[i] = fmt.Sprintf("%s-%s-%d", text, r.name, r.count)
		case ok && strings.Contains(text, marker):
			out[i] = strings.ReplaceAll(text, marker, fmt.Sprintf("%s-%d", r.name, r.count))
		default:
			out[i] = a
		}
	}
	return out
}

// drain reads all rows and their columns.
func drain(rows *sql.Rows) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// processName is unique among the processes of one run.
func processName(prefix string) string { return fmt.Sprintf("%s-%d", prefix, os.Getpid()) }

// unnamed cuts a process's name from the recorded ids.
func unnamed(arg any, name string) any {
	if text, ok := arg.(string); ok {
		return strings.ReplaceAll(text, marker+name, marker)
	}
	return arg
}
