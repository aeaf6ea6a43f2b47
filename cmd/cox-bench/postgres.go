package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"coxswain/models/ledger"
)

// serverEnv names a database of Postgres on which the ledger is measured, too.
const serverEnv = "COX_BENCH_DB"

// server measures the ledger on Postgres, each part in a schema of its own that is
// dropped afterwards. Without a database to measure on there are no rows.
func (b *bench) server(ctx context.Context) ([]row, error) {
	address := os.Getenv(serverEnv)
	if address == "" {
		b.say("  %s names no database: nothing to measure", serverEnv)
		return nil, nil
	}
	var rows []row
	for i, part := range []func(context.Context, ledger.Options) ([]row, error){b.serverCalls, b.serverCrowds} {
		err := b.inSchema(ctx, address, fmt.Sprintf("cox_bench_%d_%d", os.Getpid(), i), func(o ledger.Options) error {
			more, err := part(ctx, o)
			rows = append(rows, more...)
			return err
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// inSchema runs a part in a schema that exists only meanwhile.
func (b *bench) inSchema(ctx context.Context, address, schema string, part func(ledger.Options) error) (err error) {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%s is no address of a database", serverEnv) // the cause repeats it
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
		return err
	}
	defer func() {
		_, dropped := conn.Exec(context.WithoutCancel(ctx), "DROP SCHEMA "+schema+" CASCADE")
		err = errors.Join(err, dropped)
	}()
	return part(ledger.Options{Path: u.String(), StateDir: filepath.Join(b.dir, schema)})
}

func (b *bench) serverCalls(ctx context.Context, o ledger.Options) (rows []row, err error) {
	l, err := openSceneAt(ctx, o, "/repo/calls", "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	runID, err := hold(ctx, l)
	if err != nil {
		return nil, err
	}
	for name, call := range map[string]func(n int) error{
		"decision in process (create assignment)": func(n int) error { return createNumbered(ctx, l, "call", n) },
		"heartbeat in process":                    func(int) error { return heartbeat(ctx, l, runID) },
	} {
		var all samples
		for n := range b.calls {
			if err := timed(&all, func() error { return call(n) }); err != nil {
				return rows, err
			}
		}
		rows = append(rows, told("ledger on Postgres, "+name+", p50", ms(all.p50()), "ms", all.detail()))
	}
	return rows, nil
}

// serverCrowds lets many processes write. The largest crowd of files is left out: a
// server has fewer connections than that.
func (b *bench) serverCrowds(ctx context.Context, o ledger.Options) ([]row, error) {
	n := b.processes[0]
	c, err := b.crowdAt(ctx, o, childLedger, n)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("ledger on Postgres, %d processes calling for %s: ", n, b.contention)
	detail := map[string]any{"calls": c.Done}
	if c.Error != "" {
		detail["first"] = c.Error
	}
	return []row{
		atMost(name+"errors", float64(c.Errors), "calls", 0, detail),
		atMost(name+"acknowledged calls without a row", float64(c.Done-c.found), "calls", 0, nil),
		atMost(name+"longest wait", c.Longest.Seconds(), "s", 2, nil),
		told(name+"calls", float64(c.Done)/b.contention.Seconds(), "1/s", nil),
	}, nil
}
