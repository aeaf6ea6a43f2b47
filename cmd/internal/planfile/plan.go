package planfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"coxswain/models"
)

// defaults are what a plan says for all of its entries.
type defaults struct {
	team, workspace string
	description     string // stands before the entries' own
	row             int    // the line of the description
}

// reader reads one file and collects what is wrong with it.
type reader struct {
	file string
	plan Plan
}

func (r *reader) fail(row int, id, field, format string, args ...any) {
	r.plan.Problems = append(r.plan.Problems, Problem{
		File: r.file, Line: row, AssignmentID: id, Field: field, Code: models.CodeInvalidArgument, Message: fmt.Sprintf(format, args...),
	})
}

// documents reads every entry of some YAML documents.
func (r *reader) documents(docs []document) {
	for _, d := range docs {
		switch v := d.value.(type) {
		case []any:
			r.entries(d, "", v, defaults{})
		case map[string]any:
			if isPlan(v) {
				r.whole(d, v)
			} else {
				r.entry(d, "", v, defaults{}, "")
			}
		default:
			r.fail(d.rows[""], "", "", "a plan is a mapping or a list, not %s", named(v))
		}
	}
}

// isPlan tells a plan of many entries from one entry.
func isPlan(v map[string]any) bool { _, many := v["assignments"]; return many }

// planKeys are what a plan of many may say; a workspace and a team go by both names
// everywhere.
func planKeys() []string {
	return []string{"team", "team_id", "workspace", "workspace_id", "description", "assignments"}
}

func (r *reader) whole(d document, v map[string]any) {
	at := fields{reader: r, doc: d}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if !slices.Contains(planKeys(), key) {
			at.unknown(key, planKeys())
		}
	}
	shared := defaults{description: at.text("description", v["description"]), row: at.row("description")}
	for _, key := range []string{"team", "team_id"} {
		shared.team = cmpOr(shared.team, at.text(key, v[key]))
	}
	for _, key := range []string{"workspace", "workspace_id"} {
		shared.workspace = cmpOr(shared.workspace, at.text(key, v[key]))
	}
	list, ok := v["assignments"].([]any)
	if !ok || len(list) == 0 {
		at.fail("assignments", "must be a list of one assignment or more, not %s", named(v["assignments"]))
		return
	}
	r.entries(d, "assignments", list, shared)
}

func (r *reader) entries(d document, path string, list []any, shared defaults) {
	for i, e := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		v, ok := e.(map[string]any)
		if !ok {
			r.fail(d.rows[at], "", "", "an assignment is a mapping, not %s", named(e))
			continue
		}
		r.entry(d, at, v, shared, "")
	}
}

// entry reads one assignment. An id that it does not name is otherwise, or made of its
// title.
func (r *reader) entry(d document, path string, v map[string]any, shared defaults, otherwise string) {
	id, _ := v["id"].(string)
	if id == "" {
		id, _ = v["assignment_id"].(string)
	}
	title, _ := v["title"].(string)
	id = cmpOr(id, otherwise, IDOf(title))
	e := Entry{File: r.file, Row: d.rows[path], rows: map[string]int{}, written: map[string]string{}}
	e.ID, e.TeamID, e.WorkspaceID = id, shared.team, shared.workspace
	at := fields{reader: r, doc: d, path: path, entry: &e}
	at.read(v)
	if e.ID == "" {
		at.fail("id", "is needed, or a title that gives one")
	}
	e.describe(shared.description, shared.row)
	r.plan.Entries = append(r.plan.Entries, e)
}

// describe puts the text that the plan shares, which begins in a row, before the
// entry's own.
func (e *Entry) describe(shared string, row int) {
	own, _ := e.Metadata["description"].(string)
	text := strings.TrimSpace(strings.TrimSpace(shared) + "\n\n" + strings.TrimSpace(own))
	if text != "" {
		e.Metadata["description"] = text
		e.begins("description", row)
	}
}

// begins notes the line of a field that the entry does not name itself.
func (e *Entry) begins(field string, row int) {
	if _, named := e.rows[field]; !named {
		e.note(field, field, row)
	}
}

// IDOf makes an id of a title: small letters, digits and dashes.
func IDOf(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
	return models.IDPart(strings.TrimLeft(strings.TrimRight(strings.Join(words, "-"), "."), "._-"))
}

// stem is the id that a file's name gives.
func stem(file string) string {
	name := filepath.Base(file)
	return IDOf(strings.TrimSuffix(name, filepath.Ext(name)))
}

func cmpOr(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
