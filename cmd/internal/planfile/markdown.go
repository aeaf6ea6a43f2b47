package planfile

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/adrg/frontmatter"
)

// fence is the line that begins and ends front matter.
const fence = "---"

// block is one front matter with the text behind it.
type block struct {
	head       []byte
	headBefore int // lines of the file before the front matter's first
	body       string
	bodyBefore int
}

// markdown reads a file of one entry, of several, or of a plan with sections.
func (r *reader) markdown(raw []byte) {
	otherwise := stem(r.file) // of the first entry, however many follow it
	for _, chunk := range splitBlocks(raw) {
		b, found, err := cut(chunk.text, chunk.before)
		switch {
		case err != nil:
			r.fail(chunk.before+1, "", "", "the front matter cannot be read: %v", err)
		case !found:
			r.fail(chunk.before+1, "", "", "there is no front matter: begin the file with a line %s, the fields, and a line %s", fence, fence)
		default:
			r.block(b, otherwise)
		}
		otherwise = ""
	}
}

func (r *reader) block(b block, otherwise string) {
	docs, problem := decode(b.head, b.headBefore)
	if problem != nil {
		problem.File = r.file
		r.plan.Problems = append(r.plan.Problems, *problem)
		return
	}
	if len(docs) == 0 {
		docs = []document{{value: map[string]any{}, rows: map[string]int{"": b.headBefore}}}
	}
	v, ok := docs[0].value.(map[string]any)
	switch {
	case !ok || len(docs) > 1:
		r.fail(docs[0].rows[""], "", "", "front matter is one mapping, not %s", named(docs[0].value))
	case isPlan(v):
		r.sections(docs[0], v, b)
	default:
		r.described(docs[0], v, b, otherwise)
	}
}

// described is one entry whose text is its description and whose first heading is its
// title where the front matter names none.
func (r *reader) described(d document, v map[string]any, b block, otherwise string) {
	title, text := titled(b.body)
	if _, named := v["title"]; named {
		text = b.body
	} else if title != "" {
		blank := len(b.body) - len(strings.TrimLeft(b.body, " \t\r\n"))
		v["title"], d.rows["title"] = title, b.bodyBefore+1+strings.Count(b.body[:blank], "\n")
	}
	own, _ := v["description"].(string)
	if text = strings.TrimSpace(strings.TrimSpace(own) + "\n\n" + strings.TrimSpace(text)); text != "" {
		v["description"] = text
		if _, named := d.rows["description"]; !named {
			d.rows["description"] = b.bodyBefore + 1
		}
	}
	r.entry(d, "", v, defaults{}, otherwise)
}

var heading = regexp.MustCompile(`^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$`)

// titled splits a text that begins with a heading.
func titled(body string) (title, rest string) {
	trimmed := strings.TrimLeft(body, " \t\r\n")
	line, rest, _ := strings.Cut(trimmed, "\n")
	if m := heading.FindStringSubmatch(strings.TrimRight(line, "\r")); m != nil {
		return m[2], rest
	}
	return "", body
}

// chunk is the text of one block and the lines before it.
type chunk struct {
	text   []byte
	before int
}

var firstKey = regexp.MustCompile(`^(id|assignment_id)[ \t]*:`)

// splitBlocks cuts a Markdown file before each further front matter: a line --- that
// is followed at once by a line that begins with "id:". Fenced code is passed over.
func splitBlocks(raw []byte) []chunk {
	lines := bytes.SplitAfter(raw, []byte("\n"))
	var out []chunk
	start, code, head := 0, false, true
	for i, line := range lines {
		text := strings.TrimRight(string(line), " \t\r\n")
		switch {
		case strings.HasPrefix(strings.TrimLeft(text, " "), "```") || strings.HasPrefix(strings.TrimLeft(text, " "), "~~~"):
			code = !code && !head
		case text != fence || code: // no line of interest
		case head && i > start && len(bytes.TrimSpace(bytes.Join(lines[start:i], nil))) > 0:
			head = false
		case !head && i+1 < len(lines) && firstKey.Match(lines[i+1]):
			out = append(out, chunk{bytes.Join(lines[start:i], nil), start})
			start, head = i, true
		}
	}
	return append(out, chunk{bytes.Join(lines[start:], nil), start})
}

// cut separates front matter from the text behind it.
func cut(raw []byte, before int) (b block, found bool, err error) {
	keep := func(data []byte, _ any) error {
		b.head, found = bytes.Clone(data), true
		return nil
	}
	rest, err := frontmatter.Parse(bytes.NewReader(raw), nil, frontmatter.NewFormat(fence, fence, keep))
	if err != nil || !found {
		return b, false, err
	}
	blank, _, _ := bytes.Cut(raw, []byte(fence))
	b.headBefore = before + bytes.Count(blank, []byte("\n")) + 1
	b.body = string(rest)
	b.bodyBefore = before + bytes.Count(raw[:len(raw)-len(rest)], []byte("\n"))
	return b, true, nil
}
