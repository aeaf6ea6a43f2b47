package main

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm/logger"
)

// statement is one SQL statement as the product sent it to the driver.
type statement struct {
	sql  string
	args []any
}

// reads tells whether the statement answers rows.
func (s statement) reads() bool {
	upper := strings.ToUpper(strings.TrimSpace(s.sql))
	return strings.HasPrefix(upper, "SELECT") || strings.HasPrefix(upper, "PRAGMA") || strings.Contains(upper, " RETURNING ")
}

// recorder is a gorm logger that keeps the statements instead of writing them.
type recorder struct {
	mu   sync.Mutex
	kept []statement
}

// recording opens something whose statements are recorded. The ledger gives gorm
// the logger that discards everything, which is a variable of the library.
func recording(r *recorder, open func() error) error {
	before := logger.Discard
	logger.Discard = r
	defer func() { logger.Discard = before }()
	return open()
}

// take returns the statements since the last call.
func (r *recorder) take() []statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.kept
	r.kept = nil
	return out
}

// LogMode implements logger.Interface; every mode records.
func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

// Info implements logger.Interface; only statements are kept.
func (*recorder) Info(context.Context, string, ...any) {}

// Warn implements logger.Interface; only statements are kept.
func (*recorder) Warn(context.Context, string, ...any) {}

// Error implements logger.Interface; only statements are kept.
func (*recorder) Error(context.Context, string, ...any) {}

// Trace implements logger.Interface. Asking for the text makes gorm call
// ParamsFilter with the statement and its arguments, but for a raw query that is
// scanned: of that one it knows only the text with the arguments in it.
func (r *recorder) Trace(_ context.Context, _ time.Time, text func() (string, int64), _ error) {
	if sql, _ := text(); sql != "" {
		r.keep(statement{sql: sql})
	}
}

func (r *recorder) keep(s statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, s)
}

// ParamsFilter implements gorm.ParamsFilter and keeps the statement.
func (r *recorder) ParamsFilter(_ context.Context, sql string, params ...any) (string, []any) { //nolint:unparam // the interface is gorm's
	args := make([]any, len(params))
	for i, p := range params {
		args[i] = plain(p)
	}
	r.keep(statement{sql: sql, args: args})
	return "", nil // the text would be this statement once more
}

// plain is the value that the driver gets.
func plain(v any) any {
	if valuer, ok := v.(driver.Valuer); ok {
		value, err := valuer.Value()
		if err != nil {
			return fmt.Sprintf("unencodable: %s", err) // the replay's statement then fails and says so
		}
		v = value
	}
	if r := reflect.ValueOf(v); r.IsValid() && r.Kind() == reflect.String {
		return r.String()
	}
	return v
}
