package planfile

import (
	"cmp"
	"slices"
	"strings"

	"coxswain/models"
)

// Entry is one assignment of a plan and where it stands.
type Entry struct {
	models.NewAssignment
	File string
	Row  int            // its first line, from 1
	rows map[string]int // the line of each field by its path, such as depends_on[1]
	// written are the names that the author gave to fields, by their path.
	written map[string]string
}

// inMetadata is where the ledger keeps the fields of an entry that are no columns.
const inMetadata = "metadata."

// Written is the name that the author gave to a field, which the ledger names by its
// own words: criteria[0] for acceptance_criteria[0], description for
// metadata.description.
func (e *Entry) Written(field string) string {
	for path := field; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		for _, known := range []string{path, strings.TrimPrefix(path, inMetadata)} {
			if name, ok := e.written[known]; ok {
				return name + field[len(path):]
			}
		}
	}
	return field
}

// Line is the line in which a field stands, as the ledger names it; that of what
// holds it, or of the entry, where the field itself was left out.
func (e *Entry) Line(field string) int {
	for path := field; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		for _, known := range []string{path, strings.TrimPrefix(path, inMetadata)} {
			if row, ok := e.rows[known]; ok {
				return row
			}
		}
	}
	return e.Row
}

// Problem is one reason why a plan cannot be imported, with its place.
type Problem struct {
	File         string      `json:"file"`
	Line         int         `json:"line"` // from 1; 0 for the file as a whole
	AssignmentID string      `json:"assignment_id,omitempty"`
	Field        string      `json:"field,omitempty"`
	Code         models.Code `json:"code"`
	Message      string      `json:"message"`
}

// Plan is what files hold: their entries in order, and what is wrong with their form.
type Plan struct {
	Entries  []Entry
	Problems []Problem
	Skipped  []string // Markdown files of a folder that have no front matter
}

func (p *Plan) add(other Plan) {
	p.Entries = append(p.Entries, other.Entries...)
	p.Problems = append(p.Problems, other.Problems...)
	p.Skipped = append(p.Skipped, other.Skipped...)
}

// Refused adds what the ledger found wrong with the entries. What it says of a field
// that could not be read is left out.
func (p *Plan) Refused(problems []models.ImportProblem) {
	read := slices.Clone(p.Problems)
	for _, found := range problems {
		e := &p.Entries[found.Entry]
		field := e.Written(found.Field)
		known := slices.ContainsFunc(read, func(r Problem) bool {
			return r.File == e.File && r.Field == field && r.AssignmentID == e.ID
		})
		if !known {
			p.Problems = append(p.Problems, e.refused(found))
		}
	}
	p.sort()
}

// refused is what the ledger says of the entry, in the author's words.
func (e *Entry) refused(found models.ImportProblem) Problem {
	field := e.Written(found.Field)
	message := found.Message
	if rest, named := strings.CutPrefix(message, found.Field+": "); named {
		message = field + ": " + rest
	}
	return Problem{File: e.File, Line: e.Line(found.Field), AssignmentID: e.ID, Field: field, Code: found.Code, Message: message}
}

// sort puts the problems into the order of the lines of each file; the files keep
// theirs.
func (p *Plan) sort() {
	order := map[string]int{}
	for _, problem := range p.Problems {
		if _, seen := order[problem.File]; !seen {
			order[problem.File] = len(order)
		}
	}
	slices.SortStableFunc(p.Problems, func(a, b Problem) int {
		return cmp.Or(order[a.File]-order[b.File], a.Line-b.Line)
	})
}
