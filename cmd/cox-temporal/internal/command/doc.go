// Package command is the command line of cox-temporal: it parses, starts the
// server, prints one line when it is ready, waits, and maps errors to exit codes.
//
//	start ──ready line on stdout──▶ wait ──SIGINT, SIGTERM, end of stdin──▶ stop, exit 0
//	  └──error: words on stderr, exit 2, 3, 7 or 1
//
// Invariants: stdout carries the ready line or the JSON failure and nothing
// else; logs and human errors go to stderr; a second signal ends the process at
// once.
package command
