package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/glebarez/sqlite"
)

// bulkName is the id of the n-th of many assignments.
func bulkName(n int) string { return fmt.Sprintf("bulk-%05d", n) }

// multiply copies the assignment `held` of a closed ledger n times. Creating so
// many one by one would measure the disk. Every column is copied but for those
// that tell assignments apart; readyEach of m is ready, the others are accepted.
func multiply(ctx context.Context, path string, n, readyEach int) error {
	return bare(ctx, path, func(tx *sql.Tx) error {
		own := map[string]string{
			"id": "printf('bulk-%05d', i)", "priority": "i % 10", "updated_at": "updated_at + i", "title": "'Measure part ' || i",
			"allowed_paths": "json_array('src/part-' || i)", "active_run_id": "''", "claimed_by": "''", "lease_expires_at": "NULL",
			"status": fmt.Sprintf("CASE WHEN i %% %d = 0 THEN 'ready' ELSE 'accepted' END", readyEach),
		}
		names, values, err := columns(ctx, tx, own)
		if err != nil {
			return err
		}
		insert := "INSERT INTO assignments (" + names + ") SELECT " + values + " FROM assignments, n WHERE id = ?"
		_, err = tx.ExecContext(ctx, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "+insert, n, held) //nolint:gosec // names of columns of the schema
		return err
	})
}

// chain makes each of the copies depend on the one before it: n dependencies.
func chain(ctx context.Context, path string, n int) error {
	return bare(ctx, path, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		  INSERT INTO dependencies (assignment_id, depends_on) SELECT printf('bulk-%05d', i + 1), printf('bulk-%05d', i) FROM n`, n)
		return err
	})
}

// columns lists the columns of assignments and what a copy gets for each.
func columns(ctx context.Context, tx *sql.Tx, own map[string]string) (names, values string, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM pragma_table_info('assignments')")
	if err != nil {
		return "", "", err
	}
	defer rows.Close() //nolint:errcheck // read to its end; Err says what went wrong
	var left, right []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", "", err
		}
		left = append(left, name)
		if value, ok := own[name]; ok {
			right = append(right, value)
		} else {
			right = append(right, name)
		}
	}
	return strings.Join(left, ", "), strings.Join(right, ", "), rows.Err()
}

// bare changes a ledger behind the product's back, in one transaction.
func bare(ctx context.Context, path string, change func(*sql.Tx) error) error {
	db, err := sql.Open(sqlite.DriverName, "file:"+path+"?_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // committed or given up by then
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
