package planfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"coxswain/models"
)

// fields reads the fields of one entry.
type fields struct {
	*reader
	doc   document
	path  string
	entry *Entry
}

// aliases are the short names of fields, as the flags of assignment create have them.
func aliases() map[string]string {
	return map[string]string{
		"id": "assignment_id", "team": "team_id", "workspace": "workspace_id", "paths": "allowed_paths", "criteria": "acceptance_criteria",
	}
}

// Keys are the names that an entry's fields may have.
func Keys() []string {
	return append([]string{
		"title", "description", "priority", "depends_on", "context_refs", "target_actor", "session_bind",
		"requested_capabilities", "preferred_provider", "execution", "worktree", "metadata",
	}, slices.Sorted(maps.Keys(withLong()))...)
}

// withLong are the short names and the long ones.
func withLong() map[string]bool {
	out := map[string]bool{}
	for short, long := range aliases() {
		out[short], out[long] = true, true
	}
	return out
}

func (f fields) fail(key, format string, args ...any) {
	id, name := "", key
	if f.entry != nil {
		id, name = f.entry.ID, key
	}
	f.reader.fail(f.row(key), id, name, "%s: %s", key, fmt.Sprintf(format, args...))
}

// row is the line of a field, or of the entry.
func (f fields) row(key string) int {
	if row, ok := f.doc.rows[join(f.path, key)]; ok {
		return row
	}
	return f.doc.rows[f.path]
}

func canonical(key string) string {
	if long, ok := aliases()[key]; ok {
		return long
	}
	return key
}

func (f fields) unknown(key string, known []string) {
	if near := models.Nearest(key, known); near != "" {
		f.fail(key, "is no key here. Did you mean %s?", near)
		return
	}
	f.fail(key, "is no key here; the keys are %s", strings.Join(known, ", "))
}

// keys are those that the entry may have, and at the top of a file the one that makes
// it a plan.
func (f fields) keys() []string {
	if f.path == "" {
		return append(Keys(), "assignments")
	}
	return Keys()
}

// read takes over every field of the entry; what belongs into the metadata by seed 000
// is put there. Own keys go first, so that metadata may not hide them.
func (f fields) read(v map[string]any) {
	e := f.entry
	e.Metadata = map[string]any{}
	if given, named := v["metadata"]; named {
		maps.Copy(e.Metadata, f.object("metadata", given))
	}
	f.locate()
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if !slices.Contains(Keys(), key) {
			f.unknown(key, f.keys())
			continue
		}
		if other, twice := seen[canonical(key)]; twice {
			f.fail(key, "is the same field as %s", other)
		}
		seen[canonical(key)] = key
		if v[key] != nil {
			f.take(key, v[key])
		}
	}
}

// locate keeps the lines of the entry's fields under the ledger's names.
func (f fields) locate() {
	for path, row := range f.doc.rows {
		rest, ok := strings.CutPrefix(path, f.path)
		if rest = strings.TrimPrefix(rest, "."); !ok || rest == "" {
			continue
		}
		key, tail := rest, ""
		if i := strings.IndexAny(rest, ".["); i >= 0 {
			key, tail = rest[:i], rest[i:]
		}
		f.entry.note(canonical(key)+tail, key+tail, row)
		if key == "target_actor" {
			f.entry.note("session_bind.target_actor_id", key, row)
		}
	}
}

// note keeps where a field stands and by which name.
func (e *Entry) note(field, written string, row int) { e.rows[field], e.written[field] = row, written }

func (f fields) take(key string, v any) {
	e := f.entry
	switch canonical(key) {
	case "assignment_id":
		e.ID = cmpOr(f.text(key, v), e.ID)
	case "team_id":
		e.TeamID = f.text(key, v)
	case "workspace_id":
		e.WorkspaceID = f.text(key, v)
	case "title":
		e.Title = strings.TrimSpace(f.text(key, v))
	case "priority":
		e.Priority = f.whole(key, v)
	case "allowed_paths":
		e.AllowedPaths = f.texts(key, v)
	case "acceptance_criteria":
		e.AcceptanceCriteria = f.texts(key, v)
	case "depends_on":
		e.DependsOn = f.texts(key, v)
	case "worktree":
		e.Worktree = f.truth(key, v)
	case "metadata":
	default:
		f.takeMetadata(key, v)
	}
}

func (f fields) takeMetadata(key string, v any) {
	into := f.entry.Metadata
	if _, twice := into[key]; twice {
		f.fail(key, "stands in metadata too")
		return
	}
	switch key {
	case "description", "preferred_provider":
		into[key] = f.text(key, v)
	case "requested_capabilities":
		into[key] = anys(f.texts(key, v))
	case "execution":
		into[key] = f.object(key, v)
	case "context_refs":
		into[key] = f.contextRefs(key, v)
	case "session_bind":
		f.bind(f.object(key, v))
	case "target_actor":
		f.bind(map[string]any{"target_actor_id": f.text(key, v)})
	}
}

// bind adds to the session bind, which target_actor and session_bind both write.
func (f fields) bind(part map[string]any) {
	bind, _ := f.entry.Metadata["session_bind"].(map[string]any)
	if bind == nil {
		bind = map[string]any{}
	}
	maps.Copy(bind, part)
	f.entry.Metadata["session_bind"] = bind
}

// The readers of one value; nil is the zero value of each.

func (f fields) text(key string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	f.fail(key, "must be a text, not %s; put it in quotes", named(v))
	return ""
}

func (f fields) whole(key string, v any) int {
	switch v := v.(type) {
	case int64:
		return int(v)
	case uint64:
		if v <= math.MaxInt32 {
			return int(v)
		}
	}
	f.fail(key, "must be a whole number, not %s", named(v))
	return 0
}

func (f fields) truth(key string, v any) *bool {
	if b, ok := v.(bool); ok {
		return &b
	}
	f.fail(key, "must be true or false, not %s", named(v))
	return nil
}

// texts is a list of texts; one text alone is a list of one.
func (f fields) texts(key string, v any) []string {
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	out := make([]string, 0, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok {
			f.failAt(key, i, many, "must be a text or a list of texts, not of %s", named(e))
			continue
		}
		out = append(out, s)
	}
	return out
}

// failAt is fail about one element of a list.
func (f fields) failAt(key string, i int, many bool, format string, args ...any) {
	if !many {
		f.fail(key, format, args...)
		return
	}
	f.reader.fail(f.row(fmt.Sprintf("%s[%d]", key, i)), f.entry.ID, key, "%s, entry %d: %s", key, i+1, fmt.Sprintf(format, args...))
}

func (f fields) object(key string, v any) map[string]any {
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		f.fail(key, "must be a mapping, not %s", named(v))
	}
	return object
}

// contextRefs are PATH, PATH#HEADING,HEADING, or mappings of path and read.
func (f fields) contextRefs(key string, v any) []any {
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	out := make([]any, 0, len(list))
	for i, e := range list {
		ref, problem := contextRef(e)
		if problem != "" {
			f.failAt(key, i, many, "%s", problem)
			continue
		}
		out = append(out, ref)
	}
	return out
}

func contextRef(v any) (ref map[string]any, problem string) {
	switch v := v.(type) {
	case string:
		if ref = ContextRef(v); ref == nil {
			return nil, fmt.Sprintf("%q names no path", v)
		}
		return ref, ""
	case map[string]any:
		for key := range v {
			if key != "path" && key != "read" {
				return nil, fmt.Sprintf("%q is no key of a document; the keys are path, read", key)
			}
		}
		if path, _ := v["path"].(string); strings.TrimSpace(path) == "" {
			return nil, "path is required"
		}
		if !textsOnly(v["read"]) {
			return nil, "read must be a list of headings"
		}
		return v, ""
	}
	return nil, "must be PATH, PATH#HEADING or a mapping of path and read, not " + named(v)
}

func textsOnly(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && !slices.ContainsFunc(list, func(e any) bool { _, text := e.(string); return !text })
}

// ContextRef reads PATH[#HEADING,HEADING] into an entry of metadata.context_refs, nil
// when it names no path.
func ContextRef(text string) map[string]any {
	path, headings, _ := strings.Cut(text, "#")
	if strings.TrimSpace(path) == "" {
		return nil
	}
	ref, read := map[string]any{"path": strings.TrimSpace(path)}, []any{}
	for heading := range strings.SplitSeq(headings, ",") {
		if h := strings.TrimSpace(heading); h != "" {
			read = append(read, h)
		}
	}
	if len(read) > 0 {
		ref["read"] = read
	}
	return ref
}

func anys(in []string) []any {
	out := make([]any, 0, len(in))
	for _, s := range in {
		out = append(out, s)
	}
	return out
}

// named says what a value is, in the words of someone who writes YAML.
func named(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return "a text"
	case bool:
		return fmt.Sprintf("%v, a truth value", v)
	case int64, uint64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprintf("%v", v)
}
