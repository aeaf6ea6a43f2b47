package gitscope

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"coxswain/models"
)

// scope is a compiled list of allowed-path patterns; an empty one covers the
// whole working tree.
type scope []string

// newScope validates patterns as assignments have them (models.Overlaps):
// relative to the root, with "/" between names. It returns INVALID_ARGUMENT for
// one that is malformed, absolute or leads out of the root.
func newScope(patterns []string) (scope, error) {
	out := make(scope, 0, len(patterns))
	for i, pattern := range patterns {
		clean := path.Clean(pattern)
		switch {
		case path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../"):
			return nil, models.Invalid(field(i), "%q leads out of the workspace", pattern)
		case !doublestar.ValidatePattern(clean):
			return nil, models.Invalid(field(i), "%q is not a valid pattern", pattern)
		}
		out = append(out, clean)
	}
	if slices.Contains(out, ".") {
		return nil, nil
	}
	return out, nil
}

func field(i int) string { return fmt.Sprintf("allowed_paths[%d]", i) }

// covers tells whether a file, or a directory given with a trailing slash, is
// in the scope. A pattern without wildcards covers the path itself and all
// below it; one with wildcards what it matches. A directory is also covered
// when a pattern reaches into it.
func (s scope) covers(file string) bool {
	if len(s) == 0 {
		return true
	}
	name, isDir := strings.CutSuffix(file, "/")
	for _, pattern := range s {
		if doublestar.MatchUnvalidated(pattern, name) || plain(pattern) && below(name, pattern) {
			return true
		}
		if base, _ := doublestar.SplitPattern(pattern); isDir && below(base, name) {
			return true
		}
	}
	return false
}

func plain(pattern string) bool { return !strings.ContainsAny(pattern, `*?[{\`) }

func below(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
