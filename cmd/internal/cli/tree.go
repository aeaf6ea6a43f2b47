package cli

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
)

// fileUse is how a command takes the configuration file.
type fileUse string

const (
	showsFile fileUse = "shows"  // works with a wrong file, and shows what is wrong
	brakes    fileUse = "brakes" // stops work: goes on with a wrong file, and warns
	noFile    fileUse = "none"   // started by a worker, which passes what it needs: never reads the file
)

// leaf is one command that does something.
type leaf struct {
	name     string
	aliases  []string
	usage    string // one line
	about    string // what a person needs besides the line
	example  string // one command line that works
	argument string // "" none, "ID" one that is required, "[PATH]" one that is optional, "FILE…" one or more
	hidden   bool
	file     fileUse // what a wrong configuration file does to it; "" refuses to run
	options  []*option
	run      func(context.Context, *call) error
}

// needsArgument tells whether the leaf cannot do without its argument.
func (l leaf) needsArgument() bool { return l.argument != "" && !strings.HasPrefix(l.argument, "[") }

// several tells whether the leaf takes more than one argument.
func (l leaf) several() bool { return strings.Contains(l.argument, "…") }

// all are the leaf's options and the common ones, in place of which it may have its own.
func (l leaf) all() []*option {
	out := slices.Clone(l.options)
	for _, o := range commonOptions() {
		if !slices.ContainsFunc(l.options, func(own *option) bool { return own.name == o.name }) {
			out = append(out, o)
		}
	}
	return out
}

// command turns the leaf into one of the library's commands.
func (a *app) command(l leaf) *urfave.Command {
	c := &urfave.Command{
		Name: l.name, Aliases: l.aliases, Usage: l.usage, ArgsUsage: l.argument, Hidden: l.hidden,
		Description:     describe(l),
		Flags:           flagsOf(l.all()),
		HideHelpCommand: true, // or "help" and "h" could not be ids
		OnUsageError:    a.usageError,
		Action:          a.action(l),
	}
	if a.leaves == nil {
		a.leaves = map[*urfave.Command]leaf{}
	}
	a.leaves[c] = l
	return c
}

func describe(l leaf) string {
	parts := []string{}
	if l.about != "" {
		parts = append(parts, l.about)
	}
	return strings.Join(append(parts, "Example:\n  "+l.example), "\n\n")
}

// group makes a command that only holds others.
func (a *app) group(name, usage string, leaves ...leaf) *urfave.Command {
	subs := make([]*urfave.Command, 0, len(leaves))
	for _, l := range leaves {
		subs = append(subs, a.command(l))
	}
	return &urfave.Command{
		Name: name, Usage: usage, ArgsUsage: "COMMAND", Subcommands: subs, Flags: flagsOf(commonOptions()),
		HideHelpCommand: true, OnUsageError: a.usageError, Action: a.unmatched,
	}
}

// action wraps a leaf's body: options resolved and checked before, nothing after.
func (a *app) action(l leaf) urfave.ActionFunc {
	return func(c *urfave.Context) error {
		in, err := a.begin(c, l)
		if err != nil || a.only {
			return err
		}
		answering := context.WithoutCancel(c.Context) // an interrupted command, too, says what became of its change
		in.waits = func() *lag { return in.lagging(answering) }
		in.idles = func() []models.Idle { return in.idle(answering) }
		return l.run(c.Context, in)
	}
}

// unmatched runs on a group: either no command was named, or an unknown one.
func (a *app) unmatched(c *urfave.Context) error {
	line, names := c.Command.HelpName, []string{}
	for _, sub := range c.Command.Subcommands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	if name := c.Args().First(); name != "" {
		if strings.HasPrefix(name, "-") {
			return flagAfterArgument(name)
		}
		return models.Invalid("command", "unknown command %q of %s%s", name, line, suggested("", name, names)).Hint("%s --help", line)
	}
	return models.Invalid("command", "%s needs a command: %s", line, strings.Join(names, ", ")).Hint("%s --help", line)
}

// suggested ends a sentence about an unknown word with the known one that it most
// likely means, if any.
func suggested(prefix, word string, known []string) string {
	if near := models.Nearest(word, known); near != "" {
		return ". Did you mean " + prefix + near + "?"
	}
	return ""
}

var undefinedFlag = regexp.MustCompile(`^flag provided but not defined: -+(.+)$`)

// usageError turns what the flag parser reports into a usage error.
func (a *app) usageError(c *urfave.Context, err error, _ bool) error {
	if match := undefinedFlag.FindStringSubmatch(err.Error()); match != nil {
		var known []string
		for _, f := range c.Command.Flags {
			known = append(known, f.Names()...)
		}
		err = errors.New("unknown flag " + a.asTyped(match[1]) + suggested("--", match[1], known))
	}
	return models.Errorf(models.CodeInvalidArgument, "%s", err).With("field", "flags").Hint("%s --help", c.Command.HelpName)
}

// asTyped is a flag with the dashes that it was typed with, which the parser drops.
func (a *app) asTyped(name string) string {
	for _, arg := range a.args {
		flag, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(flag, "-") && strings.TrimLeft(flag, "-") == name {
			return flag
		}
	}
	return "--" + name
}

// flagsFirst refuses a flag behind an argument, where the parser does not look.
func (a *app) flagsFirst(c *urfave.Context, l leaf) error {
	if slices.Contains(a.args, "--") {
		return nil
	}
	for _, arg := range c.Args().Slice() {
		if strings.HasPrefix(arg, "-") && arg != "-" {
			return flagAfterArgument(arg).Hint("%s", corrected(c, l))
		}
	}
	return nil
}

// corrected is the command line with its flags in front. Values are left out:
// they are long, and an error is no place for what may be a secret.
func corrected(c *urfave.Context, l leaf) string {
	takes := map[string]bool{}
	for _, o := range l.all() {
		takes[o.name] = o.kind != truthKind
	}
	words := []string{c.Command.HelpName}
	add := func(name string) {
		words = append(words, "--"+name)
		if takes[name] {
			words = append(words, "…")
		}
	}
	for _, name := range c.LocalFlagNames() {
		add(name)
	}
	arguments, rest := []string{c.Args().First()}, c.Args().Tail()
	for i := 0; i < len(rest); i++ {
		if !strings.HasPrefix(rest[i], "-") {
			arguments = append(arguments, rest[i])
			continue
		}
		name, _, joined := strings.Cut(strings.TrimLeft(rest[i], "-"), "=")
		add(name)
		if takes[name] && !joined {
			i++ // its value
		}
	}
	switch {
	case l.argument == "":
		arguments = nil
	case !l.several():
		arguments = arguments[:1]
	}
	for _, argument := range arguments {
		words = append(words, shellWord(argument))
	}
	return strings.Join(words, " ")
}

func flagAfterArgument(flag string) *models.Error {
	return models.Invalid("arguments", "flags go before arguments; %q came after one", flag).
		Hint("move it before the argument, or put -- before an argument that begins with a dash")
}
