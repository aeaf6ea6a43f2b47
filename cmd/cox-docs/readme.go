package main

import (
	"fmt"
	"strings"

	"coxswain/cmd/internal/cli"
	"coxswain/models"
)

// readme fills the tables of README.md.
func readme(before string) (string, error) {
	after := before
	for name, table := range map[string]string{"commands": commandTable(), "settings": settingTable(), "exit codes": exitTable()} {
		var err error
		if after, err = between(after, name, table); err != nil {
			return "", err
		}
	}
	return after, nil
}

// between replaces what stands between the two marks of a name.
func between(text, name, table string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	head, rest, found := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the page lacks the marks %q and %q", begin, end)
	}
	return head + begin + table + end + tail, nil
}

func commandTable() string {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, c := range cli.Tree() {
		names := []string{"`cox " + spelled(c) + "`"}
		for _, sub := range c.Commands {
			names = append(names, "`"+spelled(sub)+"`")
		}
		usage := c.Usage
		if len(c.Aliases) > 0 {
			usage += "; also `cox " + strings.Join(c.Aliases, "`, `cox ") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(names, " "), usage)
	}
	return b.String()
}

// spelled is the command with its argument; a group's argument is its commands.
func spelled(c cli.Command) string {
	if c.Argument == "" || c.Commands != nil {
		return c.Name
	}
	return c.Name + " " + c.Argument
}

func settingTable() string {
	var b strings.Builder
	b.WriteString("| flag | variable | key in the file | what it is |\n|---|---|---|---|\n")
	for _, s := range cli.Settings() {
		usage := strings.ReplaceAll(s.Usage, "<", "&lt;") // or it would be taken for HTML
		if s.Default != "" && s.Default != "0" {
			usage += "; default: " + s.Default
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Flag, code(s.Environment), code([]string{s.Key}), usage)
	}
	return b.String()
}

// code marks words as code, but for empty ones.
func code(words []string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, "`"+w+"`")
		}
	}
	return strings.Join(out, ", ")
}

// operations fills the table of docs/operations.md.
func operations(before string) (string, error) { return between(before, "reasons", reasonTable()) }

func reasonTable() string {
	var b strings.Builder
	b.WriteString("| reason | what holds it | what helps |\n|---|---|---|\n")
	for _, r := range models.StillReasons() {
		next := "time does"
		if r.Next != "" {
			next = "`" + strings.ReplaceAll(r.Next, ", or ", "` or `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Code, r.Meaning, next)
	}
	return b.String()
}

func exitTable() string {
	var b strings.Builder
	b.WriteString("| exit code | meaning |\n|---|---|\n")
	for _, e := range models.Exits() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Exit, e.Meaning)
	}
	return b.String()
}
