package policyfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"coxswain/models"
)

// MaxSize is the longest file that is read, in bytes.
const MaxSize = 256 << 10

// document is the file as written.
type document struct {
	Answers map[string]string `yaml:"answers"`
	Accept  []acceptRow       `yaml:"accept"`
	Wait    string            `yaml:"wait"`
}

type acceptRow struct {
	Argv []string `yaml:"argv"`
	CWD  string   `yaml:"cwd"`
}

// Parse reads the text of a policy file. The path is for messages. Errors are
// INVALID_ARGUMENT with the line: unknown keys and classes, other answers than ask
// and decline, rows that accept what always asks.
func Parse(path string, raw []byte) (models.Policy, error) {
	var doc document
	err := yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(&doc)
	if err != nil && !errors.Is(err, io.EOF) {
		return models.Policy{}, models.Invalid("policy", "%s cannot be read", path).Because(errors.New(yaml.FormatError(err, false, true)))
	}
	c := checker{path: path}
	if c.file, err = parser.ParseBytes(raw, 0); err != nil {
		return models.Policy{}, models.Invalid("policy", "%s cannot be read", path).Because(err)
	}
	p := models.Policy{Rows: c.answers(doc.Answers), Accept: c.accept(doc.Accept), Wait: c.wait(doc.Wait)}
	return p, c.failed()
}

// checker collects the problems of a file, each with its line.
type checker struct {
	path     string
	file     *ast.File
	problems []problem
}

type problem struct {
	line int
	text string
}

// refuse notes a problem of a place such as $.accept[0].argv.
func (c *checker) refuse(place, format string, values ...any) {
	line := 1
	if p, err := yaml.PathString(place); err == nil {
		if node, err := p.FilterFile(c.file); err == nil && node.GetToken() != nil {
			line = node.GetToken().Position.Line
		}
	}
	c.problems = append(c.problems, problem{line, fmt.Sprintf(format, values...)})
}

func (c *checker) failed() error {
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortFunc(c.problems, func(a, b problem) int { return cmp.Or(a.line-b.line, strings.Compare(a.text, b.text)) })
	said := make([]string, len(c.problems))
	for i, p := range c.problems {
		said[i] = fmt.Sprintf("%s:%d: %s", c.path, p.line, p.text)
	}
	return models.Invalid("policy", "%s", strings.Join(said, "; ")).With("line", c.problems[0].line).Hint("mend it there; cox policy check reads it again")
}

// answers turns the table into rows, the riskiest first.
func (c *checker) answers(table map[string]string) []models.PolicyRow {
	var rows []models.PolicyRow
	for _, class := range models.RiskClasses() {
		said, given := table[string(class)]
		if !given {
			continue
		}
		delete(table, string(class))
		ruling := models.Ruling(said)
		if ruling != models.RulingAsk && ruling != models.RulingDecline {
			c.refuse("$.answers."+string(class), "%s is %q; it can be ask or decline, and single commands are accepted under accept", class, said)
			continue
		}
		rows = append(rows, models.PolicyRow{Class: class, Ruling: ruling})
	}
	for name := range table {
		near := ""
		if n := models.Nearest(name, classNames()); n != "" {
			near = " (did you mean " + n + "?)"
		}
		c.refuse("$.answers."+name, "unknown class %s%s; the classes are %s", name, near, strings.Join(classNames(), ", "))
	}
	return rows
}

func classNames() []string {
	var out []string
	for _, class := range models.RiskClasses() {
		out = append(out, string(class))
	}
	return out
}

func (c *checker) accept(rows []acceptRow) []models.AcceptRow {
	out := make([]models.AcceptRow, 0, len(rows))
	for i, r := range rows {
		place := fmt.Sprintf("$.accept[%d]", i)
		if why := unacceptable(r); why != "" {
			c.refuse(place, "%s", why)
			continue
		}
		if r.CWD != "" {
			r.CWD = filepath.Clean(r.CWD)
		}
		out = append(out, models.AcceptRow{Argv: r.Argv, CWD: r.CWD})
	}
	return out
}

// unacceptable tells why a row cannot be taken, "" when it can.
func unacceptable(r acceptRow) string {
	if len(r.Argv) == 0 || strings.TrimSpace(r.Argv[0]) == "" {
		return "argv needs the words of one command"
	}
	program := r.Argv[0]
	switch {
	case strings.Contains(program, "/") && !filepath.IsAbs(program):
		return fmt.Sprintf("argv begins with %s, a file that the agent can change; give an absolute path or a plain name", program)
	case r.CWD != "" && !filepath.IsAbs(r.CWD):
		return fmt.Sprintf("cwd %s is not absolute", r.CWD)
	}
	class := models.Classify(models.ApprovalRequest{Kind: models.RequestCommand, Commands: [][]string{r.Argv}})[0]
	if class != models.RiskOrdinary {
		return fmt.Sprintf("%s is %s, which always needs a person", strings.Join(r.Argv, " "), class)
	}
	return ""
}

// Waits of a person are between a minute and a week.
const (
	minWait = time.Minute
	maxWait = 7 * 24 * time.Hour
)

func (c *checker) wait(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minWait || d > maxWait {
		c.refuse("$.wait", "wait is %q; it must be a duration between 1m and 168h, such as 12h", text)
	}
	return d
}
