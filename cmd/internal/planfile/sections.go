package planfile

import (
	"slices"
	"strings"
)

// section is the part of a Markdown text under the heading of one entry.
type section struct {
	id, title string
	row       int
	text      string
}

// sections is a plan whose front matter lists the entries and whose text describes
// them: a heading "ID" or "ID: TITLE" begins the description of that entry, and what
// stands before the first one is said to all of them.
func (r *reader) sections(d document, v map[string]any, b block) {
	r.whole(d, v)
	ids := make([]string, 0, len(r.plan.Entries))
	for _, e := range r.plan.Entries {
		ids = append(ids, e.ID)
	}
	intro, found := divide(b, ids)
	for i := range r.plan.Entries {
		e := &r.plan.Entries[i]
		for _, s := range found {
			if s.id == e.ID {
				e.take(s)
			}
		}
		e.describe(intro, b.bodyBefore+1)
	}
}

// take adds a section to the entry.
func (e *Entry) take(s section) {
	if e.Title == "" {
		e.Title = s.title
		e.note("title", "title", s.row)
	}
	own, _ := e.Metadata["description"].(string)
	if text := strings.TrimSpace(own + "\n\n" + s.text); text != "" {
		e.Metadata["description"] = text
		e.begins("description", s.row)
	}
}

// divide cuts a text at the headings that name one of the ids.
func divide(b block, ids []string) (intro string, found []section) {
	var before strings.Builder
	into, code := &before, false
	texts := []*strings.Builder{}
	for i, line := range strings.SplitAfter(b.body, "\n") {
		if t := strings.TrimLeft(line, " "); strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			code = !code
		}
		m := heading.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		if m != nil && !code {
			id, title, _ := strings.Cut(m[2], ":")
			if id = strings.Trim(id, "` \t"); slices.Contains(ids, id) {
				found = append(found, section{id: id, title: strings.TrimSpace(title), row: b.bodyBefore + i + 1})
				into = &strings.Builder{}
				texts = append(texts, into)
				continue
			}
		}
		into.WriteString(line)
	}
	for i := range found {
		found[i].text = strings.TrimSpace(texts[i].String())
	}
	return strings.TrimSpace(before.String()), found
}
