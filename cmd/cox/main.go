// Command cox steers a crew of Codex agents. See package cli for the commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"coxswain/cmd/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args, os.LookupEnv, cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
