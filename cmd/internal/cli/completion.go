package cli

import (
	"context"
	"embed"
	"io"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
)

//go:embed completions
var completionScripts embed.FS

const completionAbout = `The script asks cox itself for each word, so that commands, flags, their words and the ids
of the ledger are those of the moment. Where there is no ledger it offers no ids.

  bash:  source <(cox completion bash)        in ~/.bashrc
  zsh:   source <(cox completion zsh)         in ~/.zshrc, after compinit
  fish:  cox completion fish | source         in ~/.config/fish/config.fish

A key press waits at most 300ms for the ids of a slow ledger; COX_COMPLETION_WAIT is another limit.`

func (a *app) completionCommand() *urfave.Command {
	return a.group("completion", "print a script that completes commands and ids in a shell",
		completionLeaf("bash"), completionLeaf("zsh"), completionLeaf("fish"))
}

func completionLeaf(shell string) leaf {
	return leaf{
		name: shell, usage: "print the script for " + shell, about: completionAbout, example: "cox completion " + shell,
		run: func(_ context.Context, in *call) error {
			script, err := completionScripts.ReadFile("completions/cox." + shell)
			if err != nil {
				return err
			}
			return in.answer(fields{"shell": shell, "script": string(script)}, func(p *printer) { p.write(string(script)) })
		},
	}
}

// completeLeaf answers the scripts: one candidate a line, with a tab and what it is.
func completeLeaf() leaf {
	return leaf{
		name: "complete-words", usage: "complete the last of the words", argument: "[WORDS…]", hidden: true, example: "cox complete-words assignment show",
		run: func(ctx context.Context, in *call) error {
			for _, c := range in.complete(ctx, in.many) {
				if _, err := io.WriteString(in.io.Out, clean(c.value)+"\t"+clean(cut(c.about))+"\n"); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// candidate is one word that may stand where the cursor is.
type candidate struct{ value, about string }

// filesHere asks the shell for names of files.
func filesHere() []candidate { return []candidate{{value: ":files"}} }

// typing is a command line as far as it is typed.
type typing struct {
	commands []*urfave.Command // those that may come next
	leaf     *leaf             // the command, once it is named
	group    string            // the name of its group
	options  []*option         // those that may be given
	given    map[string]string // values of options that were given
	pending  *option           // the option whose value comes next
	plain    bool              // after "--", where no flag is read
	args     int               // arguments before the cursor
	lost     bool              // a word was not understood
}

// complete lists what the last word may become.
func (in *call) complete(ctx context.Context, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	tree := &app{called: in.called, env: in.env, io: in.io}
	t := &typing{commands: tree.commands(), options: commonOptions(), given: map[string]string{}}
	for _, w := range words[:len(words)-1] {
		t.read(tree, w)
	}
	return startingWith(t.candidates(ctx, in, last), last)
}

// read takes over one whole word.
func (t *typing) read(tree *app, word string) {
	switch {
	case t.pending != nil:
		t.given[t.pending.name], t.pending = word, nil
	case word == "--" && !t.plain:
		t.plain = true
	case strings.HasPrefix(word, "-") && len(word) > 1 && !t.plain:
		t.flag(word)
	case t.leaf != nil:
		t.args++
	default:
		t.command(tree, word)
	}
}

func (t *typing) flag(word string) {
	name, value, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, o := range t.options {
		switch {
		case o.name != name:
		case joined:
			t.given[name] = value
		case o.kind != truthKind:
			t.pending = o
		}
	}
}

func (t *typing) command(tree *app, word string) {
	for _, c := range t.commands {
		if c.Name != word && !slices.Contains(c.Aliases, word) {
			continue
		}
		if len(c.Subcommands) > 0 {
			t.group, t.commands = c.Name, c.Subcommands
			return
		}
		l := tree.leaves[c]
		t.leaf, t.commands, t.options = &l, nil, l.all()
		return
	}
	t.lost = true
}

// candidates are the words that fit the place of the cursor, whatever is typed of them.
func (t *typing) candidates(ctx context.Context, in *call, last string) []candidate {
	switch {
	case t.lost:
		return nil
	case t.pending != nil:
		return t.values(ctx, in, t.pending, "")
	case strings.HasPrefix(last, "-") && !t.plain:
		return t.flags(ctx, in, last)
	case t.leaf != nil:
		return t.arguments(ctx, in)
	}
	var out []candidate
	for _, c := range t.commands {
		if !c.Hidden {
			out = append(out, candidate{c.Name, c.Usage})
		}
	}
	return out
}

// flags are the names of options, or the values of the one that is typed with "=".
func (t *typing) flags(ctx context.Context, in *call, last string) []candidate {
	name, _, joined := strings.Cut(strings.TrimLeft(last, "-"), "=")
	var out []candidate
	for _, o := range t.options {
		if !joined {
			out = append(out, candidate{"--" + o.name, strings.ReplaceAll(o.usage, "`", "")})
		} else if o.name == name {
			return t.values(ctx, in, o, last[:strings.Index(last, "=")+1])
		}
	}
	if t.leaf == nil {
		out = append(out, candidate{"--help", "show help"}, candidate{"--version", "print the version"})
	} else if !joined {
		out = append(out, candidate{"--help", "show help"})
	}
	return out
}

// values are those of an option, each behind the prefix.
func (t *typing) values(ctx context.Context, in *call, o *option, prefix string) []candidate {
	out := []candidate{}
	for _, word := range o.oneOf {
		out = append(out, candidate{value: word})
	}
	switch {
	case o.ids != "":
		out = t.ids(ctx, in, o.ids)
	case o.name == "format" && o.kind == formatKind:
		out = []candidate{{formatTable, "for people"}, {formatJSON, "one document"}, {formatJSONL, "one object a line"}, {formatIDs, "one id a line"}}
	case strings.Contains(o.usage, "`FILE`") || strings.Contains(o.usage, "`DIR`") || strings.Contains(o.usage, "`PROGRAM`"):
		return filesHere()
	}
	for i := range out {
		out[i].value = prefix + out[i].value
	}
	return out
}

// arguments are what the command's argument may be.
func (t *typing) arguments(ctx context.Context, in *call) []candidate {
	if t.args > 0 && !t.leaf.several() {
		return nil
	}
	switch name := strings.Trim(t.leaf.argument, "[]…"); {
	case name == "FILE" || name == "PATH" || name == "DIR":
		return filesHere()
	case name == "CODE":
		return codes()
	case name == "RUN":
		return t.ids(ctx, in, "run")
	case name == "ID" && !slices.Contains([]string{"create", "register"}, t.leaf.name):
		return t.ids(ctx, in, t.argumentOf())
	}
	return nil
}

// argumentOf is the entity that the command's ID names.
func (t *typing) argumentOf() string {
	if t.group == "run" && slices.Contains([]string{"steer", "interrupt"}, t.leaf.name) {
		return "open run"
	}
	return t.group
}

func codes() []candidate {
	var out []candidate
	for _, f := range models.Catalogue() {
		out = append(out, candidate{string(f.Code), f.Meaning})
	}
	return out
}

func startingWith(all []candidate, typed string) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool { return c.value != ":files" && !strings.HasPrefix(c.value, typed) })
}
