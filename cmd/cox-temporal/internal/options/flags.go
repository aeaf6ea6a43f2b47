package options

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// The names of the flags. Those up to pragma are spelled as in
// `temporal server start-dev`.
const (
	flagIP            = "ip"
	flagPort          = "port"
	flagUIIP          = "ui-ip"
	flagUIPort        = "ui-port"
	flagHeadless      = "headless"
	flagNamespace     = "namespace"
	flagDatabase      = "db-filename"
	flagLogLevel      = "log-level"
	flagLogFormat     = "log-format"
	flagAttribute     = "search-attribute"
	flagDynamicConfig = "dynamic-config-value"
	flagPragma        = "sqlite-pragma"
	flagJSON          = "json"
	flagExitWithStdin = "exit-with-stdin"
)

// Flags returns new flags for one command; cli keeps parsed values in them, so
// two commands must not share a set.
func Flags() []cli.Flag {
	return append(addressFlags(), append(contentFlags(), outputFlags()...)...)
}

func addressFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagIP, Value: "127.0.0.1", Usage: "loopback `ADDRESS` of the gRPC frontend"},
		&cli.IntFlag{Name: flagPort, Aliases: []string{"p"}, Value: DefaultPort, Usage: "`PORT` of the gRPC frontend; 0 picks a free one"},
		&cli.StringFlag{Name: flagUIIP, Usage: "loopback `ADDRESS` of the Web UI", DefaultText: "same as --ip"},
		&cli.IntFlag{Name: flagUIPort, Usage: "`PORT` of the Web UI; 0 picks a free one", DefaultText: "--port + 1000"},
		&cli.BoolFlag{Name: flagHeadless, Usage: "start without the Web UI"},
	}
}

func contentFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: flagNamespace, Aliases: []string{"n"}, Usage: "`NAME` of a namespace to have; may be repeated", DefaultText: DefaultNamespace},
		&cli.StringFlag{Name: flagDatabase, Aliases: []string{"f"}, Usage: "`PATH` of the SQLite file", DefaultText: "in memory, gone when the server stops"},
		&cli.StringSliceFlag{Name: flagAttribute, Usage: "`KEY=TYPE` of a search attribute to have in every namespace (" + attributeTypes() + "); may be repeated"},
		&cli.StringSliceFlag{Name: flagDynamicConfig, Usage: "`KEY=JSON` of a server setting; may be repeated"},
		&cli.StringSliceFlag{Name: flagPragma, Usage: "`NAME=VALUE` of a SQLite pragma; may be repeated", DefaultText: "journal_mode=wal, synchronous=normal"},
	}
}

func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagLogLevel, Value: "warn", Usage: "`LEVEL` of the log on stderr: debug, info, warn, error, never"},
		&cli.StringFlag{Name: flagLogFormat, Value: "text", Usage: "`FORMAT` of the log: text or json; json also makes the line on stdout JSON"},
		&cli.BoolFlag{Name: flagJSON, Usage: "print one JSON document on stdout when ready, or on failure"},
		&cli.BoolFlag{Name: flagExitWithStdin, Usage: "stop when standard input ends, so that the server does not outlive the process that holds the other end"},
	}
}

// nearest returns the context, from the command outwards, in which the flag was
// given; cli itself lets an unset flag of a command hide a set one before it.
func nearest(c *cli.Context, name string) (where *cli.Context, given bool) {
	for _, ctx := range c.Lineage() {
		if slices.Contains(ctx.LocalFlagNames(), name) {
			return ctx, true
		}
	}
	return c, false
}

func text(c *cli.Context, name string) string {
	where, _ := nearest(c, name)
	return where.String(name)
}

func number(c *cli.Context, name string) int {
	where, _ := nearest(c, name)
	return where.Int(name)
}

func flag(c *cli.Context, name string) bool {
	where, _ := nearest(c, name)
	return where.Bool(name)
}

func list(c *cli.Context, name string) []string {
	where, _ := nearest(c, name)
	return where.StringSlice(name)
}
