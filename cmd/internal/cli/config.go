package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"coxswain/models"
)

// configKeys are the keys that the configuration file may hold.
func configKeys() []string {
	var keys []string
	for _, o := range fileOptions() {
		keys = append(keys, o.key)
	}
	return keys
}

// config reads $XDG_CONFIG_HOME/cox/config.yaml once. A file that is not there
// is empty; unknown keys and values of another type are INVALID_ARGUMENT, but for the
// commands that work all the same, for which it becomes the app's problem.
func (a *app) config() (map[string]string, error) {
	if a.file != nil {
		return a.file, nil
	}
	if a.use == noFile {
		a.file = map[string]string{}
		return a.file, nil
	}
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	text := readConfig(path)
	a.seen = text.state()
	a.file, err = text.parse()
	if err != nil && a.use != "" {
		a.problem, err = err, nil
	}
	return a.file, err
}

// parseConfig reads the settings of a file. Everything that is wrong in it is one
// error, each with its line; the settings that are right are returned all the same.
func parseConfig(path string, raw []byte) (map[string]string, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return placesOnly(raw), models.Invalid("config", "%s is not a YAML mapping", path).Hint(mendFile).
			Because(errors.New(yaml.FormatError(err, false, false)))
	}
	flat := flattened(doc)
	known, rows, out := fileKeys(), keyRows(raw), map[string]string{}
	var wrong []string
	var unknown []string
	for _, key := range slices.SortedFunc(maps.Keys(flat), func(a, b string) int { return cmp.Or(rows[a]-rows[b], strings.Compare(a, b)) }) {
		o, ok := known[key]
		if !ok {
			unknown = append(unknown, key)
			continue
		}
		text, err := o.fromFile(flat[key])
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s", path, rows[key], err))
		case text != "":
			out[key] = text
		}
	}
	if len(unknown) > 0 {
		return out, unknownKeys(path, unknown, rows, configKeys(), wrong)
	}
	if len(wrong) > 0 {
		return out, models.Invalid("config", "%s", strings.Join(wrong, "; ")).Hint(mendFile)
	}
	return out, nil
}

// flattened are the settings by key; a section's are behind its name and a point.
func flattened(doc map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range doc {
		section, ok := v.(map[string]any)
		if !ok || !slices.ContainsFunc(configKeys(), func(known string) bool { return strings.HasPrefix(known, key+".") }) {
			out[key] = v
			continue
		}
		for name, inner := range section {
			out[key+"."+name] = inner
		}
	}
	return out
}

// fileKeys are the options that the file may set, by key.
func fileKeys() map[string]*option {
	out := map[string]*option{}
	for _, o := range fileOptions() {
		out[o.key] = o
	}
	return out
}

// fromFile checks a value of the file as the flag's would be checked; "" is not set.
func (o *option) fromFile(v any) (string, error) {
	switch v.(type) {
	case map[string]any, []any:
		return "", fmt.Errorf("%s must be a plain value", o.key)
	case nil:
		return "", nil
	}
	text := fmt.Sprint(v)
	if _, err := o.parse(text); err != nil {
		return "", fmt.Errorf("%s: %s", o.key, strings.TrimPrefix(err.Error(), o.name+": "))
	}
	return text, nil
}

// unknownKeys refuses keys of the file, each with its line and the key that it may
// mean.
func unknownKeys(path string, unknown []string, rows map[string]int, known, more []string) error {
	said := make([]string, 0, len(unknown)+len(more))
	for _, key := range unknown {
		text := fmt.Sprintf("%s:%d: unknown key %s", path, rows[key], key)
		if near := models.Nearest(key, known); near != "" {
			text += " (did you mean " + near + "?)"
		}
		said = append(said, text)
	}
	return models.Invalid("config", "%s", strings.Join(append(said, more...), "; ")).
		Hint("the keys are %s", strings.Join(known, ", ")).With("unknown", unknown)
}

// keyRows are the lines of a mapping's keys, from 1; those of a section are behind its
// name and a point.
func keyRows(raw []byte) map[string]int {
	rows := map[string]int{}
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return rows // the text was read before; without lines it is still explained
	}
	for _, doc := range file.Docs {
		if top, ok := doc.Body.(*ast.MappingNode); ok {
			addRows(rows, "", top)
		}
	}
	return rows
}

func addRows(rows map[string]int, section string, m *ast.MappingNode) {
	for _, pair := range m.Values {
		key := section + pair.Key.GetToken().Value
		rows[key] = pair.Key.GetToken().Position.Line
		if inner, ok := pair.Value.(*ast.MappingNode); ok && section == "" {
			addRows(rows, key+".", inner)
		}
	}
}
