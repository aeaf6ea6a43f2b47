// Package cli is the command tree of cox. A command parses its arguments, calls
// one method of the ledger or of the client, and prints the answer; it decides
// nothing.
//
// Invariants:
//
//   - Main is the only door and has no global state: arguments, environment and
//     streams come in, the exit code goes out. Signals belong to package main.
//   - With --json stdout carries exactly one document, also on failure; whatever
//     a person should read, and every log line, goes to stderr.
//   - Errors are mapped to an exit code in one table (exit.go) and printed in one
//     place.
//   - A value comes from the nearest flag that was set (leaf before group before
//     root), else from the environment, else from the configuration file, else
//     from the default; resolve in option.go is the only place that knows.
//   - Text from the ledger may have been written by an agent: control characters
//     are replaced before it reaches a terminal.
//   - The person who types is the actor human:<login>. No caller can choose that
//     id, because ":" is not allowed in a chosen id.
//
// The way of one invocation:
//
//	args ─▶ urfave parses ─▶ begin: positionals checked, options resolved
//	                            └─▶ leaf.run ─▶ ledger (opened at first use)
//	                                   └─▶ result │ error ─▶ finish ─▶ exit code
package cli
