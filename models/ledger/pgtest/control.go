package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Connect opens a connection of the test's own to an address, closed when the test
// ends.
func Connect(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the test may have broken it
	return conn
}

// Execute runs a statement at an address.
func Execute(t testing.TB, address, statement string) {
	t.Helper()
	if _, err := Connect(t, address).Exec(context.Background(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
