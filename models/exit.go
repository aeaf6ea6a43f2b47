package models

// Exit is how a command ended, as a number for scripts. A number is never used
// for a second meaning.
type Exit int

// The exit codes of every command.
const (
	ExitDone        Exit = 0
	ExitInternal    Exit = 1
	ExitUsage       Exit = 2
	ExitConflict    Exit = 3
	ExitNotFound    Exit = 4
	ExitBlocked     Exit = 5
	ExitUnavailable Exit = 7
	ExitForbidden   Exit = 8
	ExitInterrupted Exit = 130
)

// ExitFacts are what the catalogue says of one exit code.
type ExitFacts struct {
	Exit    Exit
	Meaning string // without a capital and a full stop
}

// Exits lists the exit codes, the smallest first.
func Exits() []ExitFacts {
	return []ExitFacts{
		{ExitDone, "done"},
		{ExitInternal, "internal error"},
		{ExitUsage, "usage, invalid input, or a secret in the text"},
		{ExitConflict, "conflict: stale revision, somebody else's claim, a request id that is in use"},
		{ExitNotFound, "not found"},
		{ExitBlocked, "blocked by a dependency"},
		{ExitUnavailable, "unavailable: engine, adapter, ledger busy or of another schema"},
		{ExitForbidden, "forbidden"},
		{ExitInterrupted, "interrupted before it had finished; what goes on until it is interrupted ends with 0"},
	}
}
