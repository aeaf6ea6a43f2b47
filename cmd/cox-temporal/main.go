// Command cox-temporal is a local Temporal server with its Web UI. It is an
// executable of its own because the server and the ledger each register a
// SQLite driver of the same name.
package main

import (
	"os"

	"coxswain/cmd/cox-temporal/internal/command"
)

func main() {
	os.Exit(command.Main(os.Args, command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
