package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models/ledger"
)

// IO are the streams of one invocation.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Main runs one command line and returns its exit code. args[0] is the called
// name; env reads one environment variable. Cancelling ctx interrupts the command.
func Main(ctx context.Context, args []string, env func(string) (string, bool), stdio IO) int {
	a := &app{io: stdio, env: env, called: calledName(args), args: args}
	err := a.root().RunContext(ctx, normalise(a.called, args))
	err = errors.Join(err, a.close())
	return a.finish(ctx, err)
}

// app is what all commands of one invocation share.
type app struct {
	io     IO
	env    func(string) (string, bool)
	called string   // cox, or the link it was called by
	args   []string // as given
	json   bool     // stdout carries one JSON document
	begun  bool     // the options are resolved, so that json is known
	wrote  bool     // the document has been written
	logger *slog.Logger
	level  slog.LevelVar     // of the logger; may change while a command goes on
	file   map[string]string // the configuration file; nil until read

	use     fileUse        // how the command takes the file
	problem error          // what is wrong with the file; nil for nothing
	seen    fileState      // of the file as it was read
	opened  *ledger.Ledger // nil until a command needs it
	leaves  map[*urfave.Command]leaf
	only    bool // check the command line and do nothing
}

// links are the names under which the command lines of the seeds work unchanged
// (design, commands).
func links() []string { return []string{"cox", "ctc", "comem", "loopx", "clt"} }

func calledName(args []string) string {
	if len(args) > 0 && slices.Contains(links(), filepath.Base(args[0])) {
		return filepath.Base(args[0])
	}
	return "cox"
}

// normalise puts the called name first and turns "help WORDS" into
// "WORDS --help", because the library's help command does not list subcommands.
func normalise(name string, args []string) []string {
	out := []string{name}
	if len(args) < 2 {
		return out
	}
	if args[1] == "help" {
		return append(append(out, args[2:]...), "--help")
	}
	return append(out, args[1:]...)
}

// root builds the command tree.
func (a *app) root() *urfave.App {
	common := flagsOf(commonOptions())
	return &urfave.App{
		Name:                      a.called,
		HelpName:                  a.called,
		Usage:                     "steer a crew of Codex agents",
		Description:               "Plans work, starts and resumes Codex threads, keeps agents apart and hand-offs moving.\nFirst steps:\n\n  cox workspace add\n  cox team create --workspace ID TEAM\n  cox assignment create --title \"…\"\n\nEvery command takes --json. Flags go before arguments.",
		Flags:                     append(common, truthFlag{&urfave.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true}}),
		Commands:                  a.commands(),
		HideVersion:               true,
		HideHelpCommand:           true,
		Writer:                    a.io.Out,
		ErrWriter:                 a.io.Err,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*urfave.Context, error) {},
		OnUsageError:              a.usageError,
		Action:                    a.rootAction,
	}
}

// rootAction runs when no command matched.
func (a *app) rootAction(c *urfave.Context) error {
	if c.Bool("version") && !c.Args().Present() {
		return a.action(versionLeaf())(c)
	}
	return a.unmatched(c)
}

func (a *app) close() error {
	if a.opened == nil {
		return nil
	}
	return a.opened.Close()
}
