package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

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
	known, out := configKeys(), map[string]string{}
	var unknown []string
	for key, v := range doc {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
			continue
		}
		switch v.(type) {
		case map[string]any, []any:
			return nil, models.Invalid("config", "%s of %s must be a plain value", key, path)
		case nil:
		default:
			out[key] = fmt.Sprint(v)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		for i, key := range unknown {
			if near := models.Nearest(key, known); near != "" {
				unknown[i] = key + " (did you mean " + near + "?)"
			}
		}
		return nil, models.Invalid("config", "unknown key in %s: %s", path, strings.Join(unknown, ", ")).
			Hint("the keys are %s", strings.Join(known, ", ")).With("unknown", unknown)
	}
	return out, nil
}
