package cli

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	urfave "github.com/urfave/cli/v2"

	"coxswain/cmd/internal/docs"
	"coxswain/models"
)

var repository = filepath.Join("..", "..", "..")

// check parses a command line with the real tree, as far as its body: commands,
// flags, the values' forms, what is required, and the number of arguments.
func check(t *testing.T, words ...string) error {
	t.Helper()
	home := map[string]string{"HOME": t.TempDir()}
	a := &app{
		io: IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, called: calledName(words), args: words, only: true,
		env: func(name string) (string, bool) { v, ok := home[name]; return v, ok },
	}
	return a.root().RunContext(context.Background(), normalise(a.called, words))
}

// shellWords splits a command line as a shell does, without carrying out anything.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("bash", "-fc", "words=( "+line+" ); printf '%s\\0' \"${words[@]}\"").Output()
	if err != nil {
		t.Fatalf("%q cannot be split: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// filled puts values in the place of the words that stand for them.
func filled(words []string) []string {
	out := []string{}
	for _, w := range words {
		switch w = strings.Trim(w, "[]"); w {
		case "N":
			w = "1"
		case "JSON":
			w = "{}"
		case "DURATION":
			w = "10s"
		case "FILE|-":
			w = "-"
		}
		out = append(out, w)
	}
	return out
}

func isCox(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return slices.Contains(links(), first) && first != text
}

// Every `cox …` in a sentence or a table of the documents is a command line that
// cox takes.
func TestCommandsNamedInTheDocumentsExist(t *testing.T) {
	files, err := docs.Files(repository)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		_, spans, err := docs.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range spans {
			if !isCox(s.Text) {
				continue
			}
			seen++
			command, _, _ := strings.Cut(s.Text, "; ") // what follows is prose
			for one := range strings.SplitSeq(command, " && ") {
				if err := namesCommand(t, one); err != nil {
					t.Errorf("%s:%d: `%s`: %v", filepath.Base(file), s.Line, s.Text, err)
				}
			}
		}
	}
	if seen < 20 {
		t.Fatalf("only %d command lines were found", seen)
	}
}

// namesCommand checks a command line; a group may be named without its commands.
func namesCommand(t *testing.T, line string) error {
	t.Helper()
	words := filled(shellWords(t, line))
	if group := find(words[1:]); group != nil && len(group.Subcommands) > 0 {
		return nil
	}
	return check(t, words...)
}

// find follows words down the tree; nil when they leave it.
func find(words []string) *urfave.Command {
	a := &app{called: "cox"}
	at, commands := (*urfave.Command)(nil), a.commands()
	for _, w := range words {
		i := slices.IndexFunc(commands, func(c *urfave.Command) bool { return c.HasName(w) })
		if i < 0 {
			return nil
		}
		at, commands = commands[i], commands[i].Subcommands
	}
	return at
}

func TestCommandThatDoesNotExistIsFound(t *testing.T) {
	for _, line := range []string{
		"cox assignment paint ID", "cox status --colour", "cox review accept", "cox review reject ID",
		"cox events --limit many", "cox team show A B", "cox sail",
	} {
		if err := namesCommand(t, line); err == nil {
			t.Errorf("`%s` was taken", line)
		}
	}
}

// The example on every page of help is a command line that cox takes.
func TestExamplesOfHelp(t *testing.T) {
	a, seen := &app{called: "cox"}, 0
	walk(a.commands(), func(c *urfave.Command) {
		_, example, found := strings.Cut(c.Description, "Example:\n")
		if !found {
			return
		}
		for line := range strings.Lines(example) {
			if line = strings.TrimSpace(line); isCox(line) {
				seen++
				if err := check(t, shellWords(t, line)...); err != nil {
					t.Errorf("`%s`: %v", line, err)
				}
			}
		}
	})
	if seen < 20 {
		t.Fatalf("only %d examples were found", seen)
	}
}

func walk(commands []*urfave.Command, visit func(*urfave.Command)) {
	for _, c := range commands {
		visit(c)
		walk(c.Subcommands, visit)
	}
}

var (
	mentioned   = regexp.MustCompile(`\bcox [a-z]+(?: [a-z]+(?:-[a-z]+)*)?`)
	prose       = regexp.MustCompile(`\bcox (and|or|is|that)\b`) // about cox, no command line
	placeholder = regexp.MustCompile(`%[a-z]`)
)

// Every command that an error, a question or a prompt names as the next step exists.
// Only its words are looked at; what follows is put together at run time.
func TestCommandsNamedInTextsOfTheProgramExist(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isHint(call) {
				return true
			}
			text, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range mentionedIn(placeholder.ReplaceAllString(text, "X")) {
				seen++
				if !begins(strings.Fields(line)[1:]) {
					t.Errorf("%s: %q is no command", set.Position(call.Pos()), line)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range models.Catalogue() {
		for _, line := range mentionedIn(f.Next) {
			seen++
			if !begins(strings.Fields(line)[1:]) {
				t.Errorf("%s: %q is no command", f.Code, line)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d commands were found", seen)
	}
}

func mentionedIn(text string) []string {
	return slices.DeleteFunc(mentioned.FindAllString(text, -1), prose.MatchString)
}

func isHint(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Hint" || len(call.Args) == 0 {
		return false
	}
	_, ok = call.Args[0].(*ast.BasicLit)
	return ok
}

// begins tells whether the first word is a command and, where that only holds others,
// the second one of its own. Behind any other command stands prose.
func begins(words []string) bool {
	first := find(words[:1])
	if first == nil || len(first.Subcommands) == 0 || first.Description != "" {
		return first != nil
	}
	return len(words) > 1 && find(words[:2]) != nil
}

// The console blocks name commands too; that they work is shown end to end.
func TestDocumentsTypeOnlyCommandsThatExist(t *testing.T) {
	files, err := docs.Files(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		blocks, _, err := docs.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			for _, s := range b.Steps {
				if !isCox(s.Typed) || strings.ContainsAny(s.Typed, "|$&;") {
					continue
				}
				if err := check(t, shellWords(t, s.Typed)...); err != nil {
					t.Errorf("%s:%d: %s: %v", filepath.Base(file), s.Line, s.Typed, err)
				}
			}
		}
	}
}
