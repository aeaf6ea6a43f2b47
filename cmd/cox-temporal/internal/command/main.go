package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"coxswain/cmd/cox-temporal/internal/devserver"
	"coxswain/cmd/cox-temporal/internal/options"
	"coxswain/models"
)

const description = `Runs a Temporal server and its Web UI on this machine, for cox. Only loopback
addresses are served. Without --db-filename everything is in memory and gone at
the end. "cox-temporal server start-dev" is the same command, so that tools which
start "temporal server start-dev" can start this.

Examples:
   cox-temporal --db-filename ~/.local/state/cox/temporal.db
   cox-temporal --port 0 --ui-port 0 --json --exit-with-stdin
   cox-temporal server start-dev --headless --namespace test --search-attribute CoxTeam=Keyword

Exit codes: 0 stopped when asked; 1 internal; 2 usage; 3 the database is in use
by another server; 7 a port is taken, the database is of another server version,
or the server does not start.`

// Streams are the standard streams of a process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the program with the arguments of a process (args[0] is its name)
// and returns its exit code.
func Main(args []string, std Streams) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	p := &program{Streams: std, json: wantsJSON(args), forgetSignals: cancel}
	if err := p.app().RunContext(ctx, args); err != nil {
		return p.fail(err)
	}
	return int(models.ExitDone)
}

// program is one run.
type program struct {
	Streams
	json          bool   // failures are printed as JSON on stdout too
	forgetSignals func() // gives signals their usual effect back
}

// app describes the command line.
func (p *program) app() *cli.App {
	return &cli.App{
		Name:                      "cox-temporal",
		Usage:                     "a local Temporal server with its Web UI",
		Description:               description,
		UsageText:                 "cox-temporal [flags]\ncox-temporal server start-dev [flags]",
		Version:                   fmt.Sprintf("(Temporal server %s, Web UI %s)", devserver.Version, devserver.UIVersion),
		Flags:                     options.Flags(),
		Action:                    p.run,
		Commands:                  []*cli.Command{p.serverCommand()},
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		Writer:                    p.Out,
		ErrWriter:                 p.Err,
		OnUsageError:              usageError,
		ExitErrHandler:            func(*cli.Context, error) {}, // Main maps errors
	}
}

func (p *program) serverCommand() *cli.Command {
	return &cli.Command{
		Name:            "server",
		Usage:           "the spelling of the Temporal CLI",
		HideHelpCommand: true,
		OnUsageError:    usageError,
		Action: func(*cli.Context) error {
			return models.Invalid("arguments", "server needs the word start-dev, and flags after it").Hint("cox-temporal server start-dev --help")
		},
		Subcommands: []*cli.Command{{
			Name:         "start-dev",
			Usage:        "the same as cox-temporal without words",
			Flags:        options.Flags(),
			Action:       p.run,
			OnUsageError: usageError,
		}},
	}
}

// usageError makes an unknown or malformed flag an error like every other.
func usageError(_ *cli.Context, err error, _ bool) error {
	return models.Invalid("arguments", "%s", strings.TrimSpace(err.Error())).Hint("cox-temporal --help lists the flags")
}

// wantsJSON looks for the flags that ask for JSON, for errors that come up
// before the flags are parsed.
func wantsJSON(args []string) bool {
	for i, a := range args {
		if a == "--json" || a == "-json" || a == "--log-format=json" || (a == "--log-format" && i+1 < len(args) && args[i+1] == "json") {
			return true
		}
	}
	return false
}
