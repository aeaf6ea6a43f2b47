package cli

import urfave "github.com/urfave/cli/v2"

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
