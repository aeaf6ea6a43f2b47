// Package docs reads the command lines out of the documents, so that tests can type
// them.
//
// A block marked "console" is a terminal:
//
//	$ cox status            what a reader types; "\" at the end goes on in the next line
//	worker: process …       what is then seen, among other lines; "…" stands for anything
//	…                       as the last line: the command goes on, as cox up does
//
// A block that begins without a prompt is what the command that goes on shows next.
// Any other block whose first line is "# NAME", with an ending in the name, is a file
// that the reader writes. Everything else between single backquotes is code in a sentence or a table.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Step is one command line of a console block.
type Step struct {
	Line   int      // in the document, from 1
	Typed  string   // what stands behind the prompt; "" for what an earlier command shows next
	Shown  []string // what is seen then; "…" stands for anything
	GoesOn bool     // the command does not end by itself
}

// Block is one console block, or one file.
type Block struct {
	Heading string // the nearest one above, without its marks
	Steps   []Step
	File    string // the name of the file, "" for a console block
	Text    string // what the file holds
}

// Span is a piece of code in a sentence or a table.
type Span struct {
	Line int
	Text string
}

const (
	fence  = "```"
	prompt = "$ "
	// as the last line of a step the command goes on, elsewhere it is any text
	goesOn = "…"
)

// Files lists the documents for people below the root of the repository.
func Files(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	return append([]string{filepath.Join(root, "README.md")}, files...), err
}

// Read reads a document's blocks and spans.
func Read(path string) ([]Block, []Span, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	blocks, spans := Parse(string(text))
	return blocks, spans, nil
}

// Parse finds the blocks and spans of a document.
func Parse(text string) ([]Block, []Span) {
	var r reader
	for line := range strings.Lines(text) {
		r.line++
		r.read(strings.TrimRight(line, "\r\n"))
	}
	return r.blocks, r.spans
}

type reader struct {
	line    int
	heading string
	fenced  bool
	block   *Block // nil outside a console block and a file
	first   bool   // the next line is a block's first
	blocks  []Block
	spans   []Span
}

func (r *reader) read(line string) {
	switch {
	case strings.HasPrefix(line, fence) && r.fenced:
		r.close()
	case strings.HasPrefix(line, fence):
		r.fenced, r.first = true, true
		if strings.TrimSpace(strings.TrimPrefix(line, fence)) == "console" {
			r.block = &Block{Heading: r.heading}
		}
	case r.block != nil && r.block.File != "":
		r.block.Text += line + "\n"
	case r.block != nil:
		r.block.add(r.line, line)
	case r.fenced:
		if match := fileName.FindStringSubmatch(line); match != nil && r.first {
			r.block = &Block{Heading: r.heading, File: match[1], Text: line + "\n"}
		}
		r.first = false
	case strings.HasPrefix(line, "#"):
		r.heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
	default:
		r.spans = append(r.spans, spansOf(r.line, line)...)
	}
}

var fileName = regexp.MustCompile(`^# ([a-z-]+\.[a-z]+)$`)

func (r *reader) close() {
	if r.block != nil {
		for i := range r.block.Steps {
			r.block.Steps[i].finish()
		}
		r.blocks = append(r.blocks, *r.block)
	}
	r.fenced, r.block = false, nil
}

// add takes one line of a console block.
func (b *Block) add(number int, line string) {
	last := len(b.Steps) - 1
	switch typed, isTyped := strings.CutPrefix(line, prompt); {
	case isTyped:
		b.Steps = append(b.Steps, Step{Line: number, Typed: typed})
	case last < 0:
		b.Steps = append(b.Steps, Step{Line: number, Shown: []string{line}})
	case strings.HasSuffix(b.Steps[last].Typed, `\`):
		b.Steps[last].Typed += "\n" + line
	default:
		b.Steps[last].Shown = append(b.Steps[last].Shown, line)
	}
}

func (s *Step) finish() {
	s.Shown = slices.DeleteFunc(s.Shown, func(l string) bool { return strings.TrimSpace(l) == "" })
	if n := len(s.Shown); n > 0 && strings.TrimSpace(s.Shown[n-1]) == goesOn {
		s.GoesOn, s.Shown = true, s.Shown[:n-1]
	}
}

var span = regexp.MustCompile("`([^`]+)`")

func spansOf(number int, line string) []Span {
	var out []Span
	for _, match := range span.FindAllStringSubmatch(line, -1) {
		out = append(out, Span{Line: number, Text: match[1]})
	}
	return out
}

var numbers = regexp.MustCompile(`\d+`)

// Find looks for the lines of a step in what was printed, in any order. Times and
// numbers may differ, and so may the width of gaps. It returns those that are missing
// and the end of the last one found.
func (s *Step) Find(printed string) (missing []string, end int) {
	for _, want := range s.Shown {
		at := pattern(want).FindStringIndex(printed)
		if at == nil {
			missing = append(missing, want)
			continue
		}
		end = max(end, at[1])
	}
	return missing, end
}

func pattern(line string) *regexp.Regexp {
	words := strings.Fields(line)
	for i, w := range words {
		parts := strings.Split(w, goesOn)
		for j, p := range parts {
			parts[j] = numbers.ReplaceAllString(regexp.QuoteMeta(p), `\d+`)
		}
		words[i] = strings.Join(parts, `.*`)
	}
	return regexp.MustCompile(`(?m)^\s*` + strings.Join(words, `\s+`) + `\s*$`)
}
