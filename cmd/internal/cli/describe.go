package cli

import (
	"slices"

	urfave "github.com/urfave/cli/v2"
)

// Command describes one command of the tree, for the documents.
type Command struct {
	Name     string
	Aliases  []string
	Usage    string    // one line
	Argument string    // "" none, "ID" one that is required, "[PATH]" one that is optional
	Commands []Command // of a group; nil for a command that does something
}

// Tree describes the commands in the order of help, without the hidden ones.
func Tree() []Command {
	a := &app{called: "cox"}
	return described(a.commands())
}

func described(commands []*urfave.Command) []Command {
	var out []Command
	for _, c := range commands {
		if !c.Hidden {
			out = append(out, Command{Name: c.Name, Aliases: c.Aliases, Usage: c.Usage, Argument: c.ArgsUsage, Commands: described(c.Subcommands)})
		}
	}
	return out
}

// Setting describes one setting that more than one command has, for the documents.
type Setting struct {
	Flag        string
	Environment []string // in order of precedence
	Key         string   // in the configuration file, "" when it is not allowed there
	Default     string
	Usage       string // one line
}

// Settings describes the settings in the order of config show.
func Settings() []Setting {
	var out []Setting
	for _, o := range slices.Concat(commonOptions(), shownOptions()) {
		out = append(out, Setting{Flag: "--" + o.name, Environment: o.env, Key: o.key, Default: o.fallback, Usage: o.usage})
	}
	return out
}
