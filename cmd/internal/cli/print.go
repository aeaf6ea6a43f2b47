package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// fields are the named parts of a success document.
type fields map[string]any

// answer prints a success: one document with "ok":true and the fields, or what
// human writes. After a change it also says what keeps its effects, if anything does,
// and what it queued that nobody takes up.
func (in *call) answer(doc fields, human func(p *printer)) error {
	waits, idle := in.waits(), in.idles()
	if in.json {
		out := maps.Clone(doc)
		out["ok"] = true
		if waits != nil {
			out["waits"] = waits
		}
		if len(idle) > 0 {
			out["queued"] = idle
		}
		return in.document(out)
	}
	p := &printer{out: in.io.Out, colour: in.colour()}
	human(p)
	for _, i := range idle {
		if p.err == nil {
			_, p.err = fmt.Fprintln(in.io.Err, clean(idleLine(i)))
		}
	}
	if waits != nil && p.err == nil {
		_, p.err = fmt.Fprintf(in.io.Err, "%s: %s. Next: %s\n", waits, waits.why(), waits.Next)
	}
	return p.err
}

// document writes the one JSON document of this invocation.
func (a *app) document(doc any) error {
	a.wrote = true
	enc := json.NewEncoder(a.io.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// colour tells whether stdout is a terminal whose user did not set NO_COLOR.
func (a *app) colour() bool {
	if v, set := a.env("NO_COLOR"); set && v != "" {
		return false
	}
	f, ok := a.io.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printer writes for people and keeps the first error.
type printer struct {
	out    io.Writer
	colour bool
	err    error
}

func (p *printer) write(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, s)
	}
}

// line writes one line; control characters of its arguments are replaced.
func (p *printer) line(format string, args ...any) {
	p.write(clean(fmt.Sprintf(format, args...)) + "\n")
}

// heading writes the title of a section after an empty line.
func (p *printer) heading(title string) {
	if p.colour {
		title = text.Bold.Sprint(title)
	}
	p.write("\n" + title + "\n")
}

// table writes rows under a header, or the sentence when there are none.
func (p *printer) table(empty string, header []string, rows [][]any) {
	if len(rows) == 0 {
		p.line("%s", empty)
		return
	}
	w := newTable()
	if p.colour {
		w.Style().Color.Header = text.Colors{text.Bold}
	}
	w.AppendHeader(row(header))
	for _, r := range rows {
		w.AppendRow(row(r))
	}
	p.write(trimLines(w.Render()))
}

// facts writes pairs of name and value, leaving out empty values.
func (p *printer) facts(pairs ...any) {
	w := newTable()
	for i := 0; i+1 < len(pairs); i += 2 {
		if shown := show(pairs[i+1]); shown != "" {
			w.AppendRow(table.Row{pairs[i], shown})
		}
	}
	p.write(trimLines(w.Render()))
}

func newTable() table.Writer {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	w.SetStyle(style)
	return w
}

func row[T any](cells []T) table.Row {
	out := make(table.Row, 0, len(cells))
	for _, c := range cells {
		out = append(out, cut(show(c)))
	}
	return out
}

// maxCell is the widest a cell of a table gets, in characters; what is cut off
// stands in the answer of show and in the document of --json.
const maxCell = 80

func cut(s string) string {
	if letters := []rune(s); len(letters) > maxCell {
		return string(letters[:maxCell-1]) + "…"
	}
	return s
}

func trimLines(rendered string) string {
	var b strings.Builder
	for line := range strings.Lines(rendered + "\n") {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// show turns a cell into one line of text.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		return when(v)
	case *time.Time:
		if v == nil {
			return ""
		}
		return when(*v)
	case []string:
		return clean(strings.Join(v, ", "))
	}
	return clean(fmt.Sprint(v))
}

// compact shows a JSON value on one line, "" for an empty one.
func compact(v map[string]any) string {
	if len(v) == 0 {
		return ""
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// sortedPairs turns an object into pairs of facts, in the order of its keys.
func sortedPairs(m map[string]any) []any {
	var out []any
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k, m[k])
	}
	return out
}

// short is the beginning of a commit hash.
func short(commit string) string {
	if len(commit) > 12 {
		return commit[:12]
	}
	return commit
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// clean replaces control characters, so that a text that an agent wrote cannot
// steer the terminal or forge a line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}
