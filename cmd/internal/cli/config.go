package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"coxswain/models"
	"coxswain/models/ledger"
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
// is empty; unknown keys and values that are not plain are INVALID_ARGUMENT.
func (a *app) config() (map[string]string, error) {
	if a.file != nil {
		return a.file, nil
	}
	paths, err := ledger.ResolvePaths("", "", a.env)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(paths.Config)
	if errors.Is(err, fs.ErrNotExist) || paths.Config == "" {
		a.file = map[string]string{}
		return a.file, nil
	}
	if err != nil {
		return nil, models.Invalid("config", "cannot be read").Because(err)
	}
	a.file, err = parseConfig(paths.Config, raw)
	return a.file, err
}

func parseConfig(path string, raw []byte) (map[string]string, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, models.Invalid("config", "%s is not a YAML mapping", path).Because(errors.New(yaml.FormatError(err, false, false)))
	}
	known, rows, out := configKeys(), keyRows(raw), map[string]string{}
	var unknown []string
	for key, v := range doc {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
			continue
		}
		switch v.(type) {
		case map[string]any, []any:
			return nil, models.Invalid("config", "%s:%d: %s must be a plain value", path, rows[key], key)
		case nil:
		default:
			out[key] = fmt.Sprint(v)
		}
	}
	if len(unknown) > 0 {
		return nil, unknownKeys(path, unknown, rows, known)
	}
	return out, nil
}

// unknownKeys refuses keys of the file, each with its line and the key that it may
// mean.
func unknownKeys(path string, unknown []string, rows map[string]int, known []string) error {
	slices.SortFunc(unknown, func(a, b string) int { return cmp.Or(rows[a]-rows[b], strings.Compare(a, b)) })
	said := make([]string, 0, len(unknown))
	for _, key := range unknown {
		text := fmt.Sprintf("%s:%d: unknown key %s", path, rows[key], key)
		if near := models.Nearest(key, known); near != "" {
			text += " (did you mean " + near + "?)"
		}
		said = append(said, text)
	}
	return models.Invalid("config", "%s", strings.Join(said, "; ")).
		Hint("the keys are %s", strings.Join(known, ", ")).With("unknown", unknown)
}

// keyRows are the lines of a mapping's keys, from 1.
func keyRows(raw []byte) map[string]int {
	rows := map[string]int{}
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return rows // the text was read before; without lines it is still explained
	}
	for _, doc := range file.Docs {
		if top, ok := doc.Body.(*ast.MappingNode); ok {
			for _, pair := range top.Values {
				rows[pair.Key.GetToken().Value] = pair.Key.GetToken().Position.Line
			}
		}
	}
	return rows
}
