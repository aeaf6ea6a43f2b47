package cli

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
)

// TestHintsThatAreCommandsCanBePasted reads every hint of the source. One that begins
// with cox is a command line as a person would paste it; what else it says follows
// behind a semicolon.
func TestHintsThatAreCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	tree := &app{called: "cox"}
	root := tree.commands()
	hints := hintsOf(t, filepath.Join("..", "..", ".."))
	if len(hints) < 100 {
		t.Fatalf("only %d hints were found", len(hints))
	}
	for _, r := range models.StillReasons() {
		hints["the reason "+r.Code] = r.Next
	}
	for _, f := range models.Catalogue() {
		hints["the code "+string(f.Code)] = f.Next
	}
	for where, hint := range hints {
		if err := tree.pastable(root, hint); err != nil {
			t.Errorf("%s: %q: %v", where, hint, err)
		}
	}
}

func TestProseAndUnknownOptionsAreNoCommands(t *testing.T) {
	t.Parallel()
	tree := &app{called: "cox"}
	root := tree.commands()
	for _, bad := range []string{"cox loop --team crew starts it", "cox down, then cox up", "cox workspace set --branch-prefix x", "cox assignment show", "cox nothing", "cox assignment cancel x"} {
		if tree.pastable(root, bad) == nil {
			t.Errorf("%q passes for a command", bad)
		}
	}
	for _, good := range []string{"try again", "cox down && cox up", "cox status; cox down stops it", `cox assignment cancel --reason "…" x`} {
		if err := tree.pastable(root, good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// hintsOf are the texts that the source gives to Hint and because, by their place.
func hintsOf(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, is := hintText(n); is {
				found[set.Position(n.Pos()).String()+" "+text] = text
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hintText is the text of a call that gives a next step, where it stands in the call.
func hintText(n ast.Node) (string, bool) {
	call, is := n.(*ast.CallExpr)
	if !is {
		return "", false
	}
	method, is := call.Fun.(*ast.SelectorExpr)
	at := map[string]int{"Hint": 0, "because": 1}
	if !is || !slices.Contains([]string{"Hint", "because"}, method.Sel.Name) || len(call.Args) <= at[method.Sel.Name] {
		return "", false
	}
	literal, is := call.Args[at[method.Sel.Name]].(*ast.BasicLit)
	if !is {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// pastable refuses a text that begins as a cox command and is none.
func (a *app) pastable(root []*urfave.Command, hint string) error {
	line, _, _ := strings.Cut(hint, ";")
	if !strings.HasPrefix(line, "cox ") {
		return nil
	}
	for command := range strings.SplitSeq(line, " && ") {
		words := strings.Fields(command)
		if words[0] != "cox" {
			return fmt.Errorf("%q is no command of cox", command)
		}
		if err := a.accepts(root, words[1:]); err != nil {
			return err
		}
	}
	return nil
}

// accepts tells whether the command tree would take the words.
func (a *app) accepts(commands []*urfave.Command, words []string) error {
	if len(words) > 0 && (words[0] == "%s" || words[0] == "COMMAND") {
		return nil // the kind of an entity, whose every group can list, or any command
	}
	for i, word := range words {
		at := slices.IndexFunc(commands, func(c *urfave.Command) bool { return c.Name == word })
		if at < 0 {
			return fmt.Errorf("there is no command %q", word)
		}
		found := commands[at]
		rest := words[i+1:]
		commands = commands[at].Subcommands
		group := len(rest) > 0 && slices.ContainsFunc(commands, func(c *urfave.Command) bool { return c.Name == rest[0] })
		if l, leaf := a.leaves[found]; leaf && !group {
			return l.takes(rest)
		}
	}
	return errors.New("it names no command")
}

// takes tells whether the leaf would take the words behind its name. A %s where no
// argument belongs stands for options.
func (l leaf) takes(words []string) error {
	arguments, named := 0, map[string]bool{}
	for i := 0; i < len(words); i++ {
		name, isOption := strings.CutPrefix(words[i], "--")
		switch at := slices.IndexFunc(l.all(), func(o *option) bool { return o.name == name }); {
		case isOption && name == "help":
			return nil
		case isOption && at < 0:
			return fmt.Errorf("there is no option --%s", name)
		case isOption:
			named[name] = true
			if l.all()[at].kind != truthKind {
				i++ // its value
			}
		case words[i] != "%s" || l.argument != "":
			arguments++
		}
	}
	most := 1
	switch {
	case l.argument == "":
		most = 0
	case l.several():
		most = len(words)
	}
	if arguments > most || arguments == 0 && l.needsArgument() {
		return fmt.Errorf("%s takes %q and gets %d arguments", l.name, l.argument, arguments)
	}
	for _, o := range l.all() {
		if o.required && !named[o.name] {
			return fmt.Errorf("%s needs --%s", l.name, o.name)
		}
	}
	return nil
}
