package commandline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Line is a command line that was read.
type Line struct {
	Words    []string   // of a plain command without the shell around it, else none
	Commands [][]string // every command in it, in the order of the text; words that are not literal are "…"
	Doubts   []string   // what cannot be read, in words; none when all is
	Empties  []string   // files that redirections empty
}

// Limits of what is read; beyond them a line is doubtful.
const (
	maxLength = 64 << 10
	maxDepth  = 8
)

// opaque stands for a word whose value the text does not tell.
const opaque = "…"

// Parse reads a line as a POSIX or Bash shell would.
func Parse(line string) Line {
	r := reader{}
	words := r.script(line, 0)
	if len(r.doubts)+len(r.empties) > 0 {
		words = nil
	}
	return Line{Words: words, Commands: r.commands, Doubts: r.doubts, Empties: r.empties}
}

// reader collects what it meets.
type reader struct {
	commands [][]string
	doubts   []string
	empties  []string
}

func (r *reader) doubt(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.doubts, text) {
		r.doubts = append(r.doubts, text)
	}
}

// script reads one script and returns the words when it is one plain command.
func (r *reader) script(text string, depth int) (plain []string) {
	if len(text) > maxLength || depth > maxDepth {
		r.doubt("it is too long or too deep to be read")
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		r.doubt("it is no shell text that can be read")
		return nil
	}
	r.walk(file, depth)
	call := onlyCall(file)
	if call == nil {
		return nil
	}
	words, literal := literals(call.Args)
	if !literal || len(call.Assigns) > 0 {
		return nil
	}
	if inner, ok := shellScript(words); ok {
		if depth > 0 || len(words) != 3 { // more than one shell, or options and arguments of its own
			return nil
		}
		return plainWords(inner)
	}
	return words
}

// plainWords are the words of a script that is one plain command and no shell.
func plainWords(text string) []string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	call := onlyCall(file)
	if call == nil || len(call.Assigns) > 0 {
		return nil
	}
	words, literal := literals(call.Args)
	if !literal || isShell(words[0]) {
		return nil
	}
	return words
}

// onlyCall is the command of a script that is nothing but one command.
func onlyCall(file *syntax.File) *syntax.CallExpr {
	if len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(s.Redirs) > 0 || s.Negated || s.Background || s.Coprocess || s.Disown {
		return nil
	}
	return call
}

// walk visits every command of a script, those in substitutions as well.
func (r *reader) walk(file *syntax.File, depth int) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			r.call(n, depth)
		case *syntax.Redirect:
			r.redirect(n)
		case *syntax.FuncDecl:
			r.doubt("it defines a function")
		case *syntax.DeclClause, *syntax.LetClause:
			r.doubt("it declares variables")
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				r.pipe(n.Y)
			}
		}
		return true
	})
}

// call reads one command.
func (r *reader) call(call *syntax.CallExpr, depth int) {
	for _, a := range call.Assigns {
		if a.Name != nil && changesMeaning(a.Name.Value) {
			r.doubt("it sets %s", a.Name.Value)
		}
	}
	if len(call.Args) == 0 {
		return
	}
	words, literal := literals(call.Args)
	if !literal {
		r.doubt("not all of its words are plain")
	}
	r.commands = append(r.commands, words)
	for _, script := range r.scripts(words) {
		r.script(script, depth+1)
	}
}

// pipe doubts a shell that reads its script from a pipe.
func (r *reader) pipe(to *syntax.Stmt) {
	call, ok := to.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	words, _ := literals(call.Args)
	for i, w := range words {
		if isShell(w) || isInterpreter(w) {
			if _, ok := shellScript(words[i:]); !ok {
				r.doubt("what is run comes from a pipe")
			}
		}
	}
}

// redirect notes the files that are emptied, and scripts that are fed to a shell.
func (r *reader) redirect(n *syntax.Redirect) {
	switch n.Op {
	case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll, syntax.RdrInOut:
		if name, ok := literal(n.Word); !ok {
			r.empties = append(r.empties, opaque)
		} else if !strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/dev/sd") || strings.HasPrefix(name, "/dev/nvme") {
			r.empties = append(r.empties, name)
		}
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		r.doubt("it feeds a text to a command")
	default: // reading, appending and doubling a descriptor empty nothing
	}
}

// scripts are the texts among the words of a command that it runs as scripts.
func (r *reader) scripts(words []string) []string {
	var out []string
	for i, w := range words {
		if script, ok := shellScript(words[i:]); ok {
			out = append(out, script)
		}
		if i == 0 && base(w) == "eval" {
			out = append(out, strings.Join(words[1:], " "))
		}
	}
	if len(words) > 1 && runsWords[base(words[0])] {
		for _, w := range words[1:] {
			if strings.ContainsAny(w, " \t\n;|&") {
				out = append(out, w)
			}
		}
	}
	return out
}

// shellScript is the script of a shell's option -c, alone or among others as in
// -lc.
func shellScript(words []string) (string, bool) {
	if len(words) == 0 || !isShell(words[0]) {
		return "", false
	}
	for i := 1; i+1 < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "+") {
			return "", false
		}
		if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c") {
			return words[i+1], true
		}
	}
	return "", false
}

// literals are the words of a command; literal is false when one is not plain, which
// stands as opaque.
func literals(args []*syntax.Word) (words []string, literally bool) {
	literally = true
	for _, a := range args {
		w, ok := literal(a)
		if !ok {
			w, literally = opaque, false
		}
		words = append(words, w)
	}
	return words, literally
}

// literal is the value of a word without substitution, pattern or brace.
func literal(word *syntax.Word) (string, bool) {
	if word == nil {
		return "", false
	}
	var b strings.Builder
	for i, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text, ok := unescape(p.Value, i == 0)
			if !ok {
				return "", false
			}
			b.WriteString(text)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, ok := quoted(p)
			if !ok {
				return "", false
			}
			b.WriteString(text)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape takes the backslashes of an unquoted text away; a text with a pattern, a
// brace or a leading tilde has no plain value.
func unescape(text string, first bool) (string, bool) {
	if first && strings.HasPrefix(text, "~") {
		return "", false
	}
	if text == "[" || text == "{}" { // the program, and what find and xargs replace
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i+1 == len(text) {
				return "", false
			}
			i++
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case '*', '?', '[', '{':
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// quoted is the value of a double-quoted text without substitution.
func quoted(q *syntax.DblQuoted) (string, bool) {
	if q.Dollar {
		return "", false
	}
	var b strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		for i := 0; i < len(lit.Value); i++ {
			if c := lit.Value[i]; c != '\\' || i+1 == len(lit.Value) || !strings.ContainsRune("$`\"\\\n", rune(lit.Value[i+1])) {
				b.WriteByte(c)
				continue
			}
			i++
			if lit.Value[i] != '\n' {
				b.WriteByte(lit.Value[i])
			}
		}
	}
	return b.String(), true
}

func base(word string) string { return strings.ToLower(path.Base(word)) }

func isShell(word string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh"}, base(word))
}

func isInterpreter(word string) bool {
	name := strings.TrimRight(base(word), "0123456789.")
	return slices.Contains([]string{"python", "perl", "ruby", "node", "php", "xargs", "source", "psql", "mysql", "sqlite"}, name)
}

// runsWords are programs that run one of their words as a script.
var runsWords = map[string]bool{
	"ssh": true, "su": true, "runuser": true, "watch": true, "script": true, "env": true, "parallel": true, "entr": true, "sudo": true, "doas": true,
	"nix-shell": true, "nsenter": true, "chroot": true, "flock": true, "tmux": true, "screen": true, "dbus-run-session": true, "trap": true, "timeout": true, "xargs": true, "at": true,
}

// changesMeaning tells whether a variable changes what a command is or does.
func changesMeaning(name string) bool {
	for _, begin := range []string{"LD_", "DYLD_", "GIT_", "BASH_", "PYTHON", "NODE_OPTIONS", "PERL", "RUBY", "KUBECONFIG", "DOCKER_HOST", "AWS_"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "ENV", "IFS", "EDITOR", "VISUAL", "PAGER", "SHELL", "HOME", "CDPATH", "PROMPT_COMMAND"}, name)
}
