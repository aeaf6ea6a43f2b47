package models

import (
	"errors"
	"fmt"
	"maps"
)

// Code is the machine-readable kind of an Error. The set is closed; every
// surface (exit code, MCP result, JSON document) maps it once.
type Code string

// The codes of every error that a caller can meet.
const (
	CodeInternal                 Code = "INTERNAL"
	CodeInvalidArgument          Code = "INVALID_ARGUMENT"
	CodeNotFound                 Code = "NOT_FOUND"
	CodeForbidden                Code = "FORBIDDEN"
	CodeLeaseConflict            Code = "LEASE_CONFLICT"
	CodeStaleRevision            Code = "STALE_REVISION"
	CodeVersionConflict          Code = "VERSION_CONFLICT"
	CodeIdempotencyConflict      Code = "IDEMPOTENCY_CONFLICT"
	CodeDependencyCycle          Code = "DEPENDENCY_CYCLE"
	CodeDependencyBlocked        Code = "DEPENDENCY_BLOCKED"
	CodeSecretDetected           Code = "SECRET_DETECTED"
	CodeLedgerBusy               Code = "LEDGER_BUSY"
	CodeLedgerUnavailable        Code = "LEDGER_UNAVAILABLE"
	CodeSchemaVersionUnsupported Code = "SCHEMA_VERSION_UNSUPPORTED"
	CodeAdapterUnavailable       Code = "ADAPTER_UNAVAILABLE"
	CodeEngineUnavailable        Code = "ENGINE_UNAVAILABLE"
	CodeInterrupted              Code = "INTERRUPTED"
)

// Error is what every rule, transaction and surface returns for an outcome that
// the caller can act on.
type Error struct {
	Code    Code           // the kind
	Message string         // one sentence for a person, naming the field
	Next    string         // the command or step that helps; may be empty
	Details map[string]any // machine-readable facts (holder, expiry, field, path)
	Cause   error          // the underlying error; may be nil
}

// Error implements the error interface with the message, and the cause if any.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Hint returns a copy of the error whose next step is the given text.
func (e *Error) Hint(format string, args ...any) *Error {
	c := *e
	c.Next = fmt.Sprintf(format, args...)
	return &c
}

// With returns a copy of the error with one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = make(map[string]any, len(e.Details)+1)
	maps.Copy(c.Details, e.Details)
	c.Details[key] = value
	return &c
}

// Because returns a copy of the error with the given cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// Errorf builds an error of a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid builds an INVALID_ARGUMENT error about one field, which is also put
// into the details under "field".
func Invalid(field, format string, args ...any) *Error {
	return Errorf(CodeInvalidArgument, "%s: %s", field, fmt.Sprintf(format, args...)).With("field", field)
}

// NotFound builds a NOT_FOUND error about an entity and the id asked for.
func NotFound(entity, id string) *Error {
	return Errorf(CodeNotFound, "%s %q is not in the ledger", entity, id).With("entity", entity).With("id", id)
}

// Forbidden builds a FORBIDDEN error.
func Forbidden(format string, args ...any) *Error {
	return Errorf(CodeForbidden, format, args...)
}

// CodeOf returns the code of the nearest Error in the chain, INTERNAL for any
// other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// IsCode tells whether the error carries the code.
func IsCode(err error, code Code) bool { return err != nil && CodeOf(err) == code }
