package cli

import (
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"coxswain/models"
)

// The formats of a list; any other one is a template.
const (
	formatText  = "text"
	formatTable = "table" // the same as text
	formatJSON  = "json"
	formatJSONL = "jsonl"
	formatIDs   = "ids"
)

// listFormatOption takes the place of the common --format.
func listFormatOption() *option {
	return &option{
		name: "format", kind: formatKind, fallback: formatText, env: []string{"COX_FORMAT"}, common: true,
		usage: "`FORMAT` of the answer: table, json, jsonl (one object a line), ids (one a line), or a Go template for each line, such as '{{.status}} {{.title}}'",
	}
}

// listFormat is how the rows of a list are to be printed.
type listFormat struct {
	word string
	row  *template.Template // when the format is a template
}

// listFormat is the format that was asked for; --json beats what the environment says
// of it, and the other way round. It decides whether stdout carries a document.
func (in *call) listFormat() (listFormat, error) {
	f := in.value("format").parsed.(listFormat)
	if !in.on("json") || f.word == formatText {
		in.json = in.json && f.word == formatText
		return f, nil
	}
	byFlag := func(name string) bool { return in.value(name).source == "flag" }
	switch {
	case byFlag("json") && byFlag("format"):
		return f, models.Invalid("format", "%q and --json exclude each other", in.raw("format"))
	case byFlag("json"):
		return listFormat{word: formatText}, nil
	}
	in.json = false
	return f, nil
}

// parseFormat reads a format of lists. The words json and table are both text: whether
// it is for people, the invocation knows.
func parseFormat(name, raw string) (listFormat, error) {
	switch raw {
	case "", formatText, formatTable, formatJSON:
		return listFormat{word: formatText}, nil
	case formatJSONL, formatIDs:
		return listFormat{word: raw}, nil
	}
	known := []string{formatTable, formatText, formatJSON, formatJSONL, formatIDs}
	if !strings.Contains(raw, "{{") {
		e := models.Invalid(name, "%q must be one of %s, or a template", raw, strings.Join(known, ", "))
		if near := models.Nearest(raw, known); near != "" {
			e = e.Hint("did you mean %s?", near)
		}
		return listFormat{}, e
	}
	t, err := template.New("format").Option("missingkey=error").Funcs(template.FuncMap{"json": templateJSON, "join": templateJoin}).Parse(raw)
	if err != nil {
		return listFormat{}, models.Invalid(name, "is no template").Because(err).Hint("fields are named as in the JSON document, such as {{.status}}")
	}
	return listFormat{word: "template", row: t}, nil
}

func templateJSON(v any) (string, error) {
	raw, err := json.Marshal(v)
	return string(raw), err
}

func templateJoin(separator string, list any) string {
	entries, _ := list.([]any)
	texts := make([]string, 0, len(entries))
	for _, e := range entries {
		texts = append(texts, show(e))
	}
	return strings.Join(texts, separator)
}

// render fills the template with a row as its JSON document has it. Fields that the
// document leaves out are empty.
func (f listFormat) render(row any) (string, error) {
	raw, err := json.Marshal(row)
	if err != nil {
		return "", err
	}
	data := map[string]any{}
	for _, name := range jsonNames(reflect.TypeOf(row)) {
		data[name] = ""
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		return "", err
	}
	var b strings.Builder
	if err := f.row.Execute(&b, data); err != nil {
		e := models.Invalid("format", "the template fails").Because(err)
		return "", e.Hint("the fields are %s", strings.Join(jsonNames(reflect.TypeOf(row)), ", "))
	}
	return clean(b.String()), nil
}

// jsonNames are the names of a row's fields in its document.
func jsonNames(t reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" && !f.Anonymous {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lines prints one line for each row.
func (in *call) lines(n int, line func(i int) (string, error)) error {
	in.wrote = true
	for i := range n {
		text, err := line(i)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(in.io.Out, text+"\n"); err != nil {
			return err
		}
	}
	return nil
}
