package ledger

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"coxswain/models"
)

// MaxPathPattern is the longest allowed path in bytes.
const MaxPathPattern = 1024

// allowedPaths checks and cleans the patterns of an assignment: relative to the
// workspace, slash-separated, without "..", valid for doublestar. An absolute one
// inside the root is made relative by its text alone. Each bad one has an error.
func allowedPaths(in []string, root string) ([]string, []error) {
	out, wrong := make([]string, 0, len(in)), []error(nil)
	for _, entry := range in {
		p, err := allowedPath(entry, root)
		if err != nil {
			wrong = append(wrong, err)
		}
		out = append(out, p)
	}
	return out, wrong
}

func allowedPath(entry, root string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", models.Invalid("allowed_paths", "%q %s", entry, why).With("entry", entry)
	}
	p := strings.TrimSpace(entry)
	if root != "" && filepath.IsAbs(p) {
		base := strings.TrimSuffix(filepath.ToSlash(root), "/")
		switch {
		case p == base:
			p = "."
		case strings.HasPrefix(p, base+"/"):
			p = p[len(base)+1:]
		}
	}
	switch {
	case p == "":
		return refuse("is blank")
	case len(p) > MaxPathPattern:
		return refuse("is too long")
	case strings.ContainsAny(p, "\x00\n\r"):
		return refuse("holds a control character")
	case filepath.IsAbs(p) || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~"):
		return refuse("must be relative to the workspace")
	case len(p) > 1 && p[1] == ':':
		return refuse("must be relative to the workspace, with slashes")
	case hasParent(p):
		return refuse("must not leave the workspace by \"..\"")
	case slices.ContainsFunc(segments(p), isGitName):
		return refuse("is a part of .git, in which agents cannot write")
	case !doublestar.ValidatePattern(p):
		return refuse("is not a valid pattern")
	}
	return tidy(p), nil
}

// hasParent tells whether any segment, in an alternative too, is "..".
func hasParent(p string) bool { return slices.Contains(segments(p), "..") }

// segments are the names between slashes, those of alternatives too.
func segments(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return strings.ContainsRune(`/\{},`, r) })
}

// isGitName tells whether a name is Git's folder, on file systems too that do
// not tell capitals apart.
func isGitName(name string) bool { return strings.EqualFold(name, ".git") }

// checkContextRefs refuses each document outside the workspace, since agents read
// context_refs relative to it.
func checkContextRefs(refs []models.ContextRef) (wrong []error) {
	for _, ref := range refs {
		p := strings.TrimSpace(ref.Path)
		var why string
		switch {
		case p == "":
			why = "is blank"
		case strings.ContainsFunc(p, unicode.IsControl):
			why = "holds a control character"
		case filepath.IsAbs(p) || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':':
			why = "must be relative to the workspace"
		case slices.Contains(strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' }), ".."):
			why = "must not leave the workspace by \"..\""
		default:
			continue
		}
		wrong = append(wrong, models.Invalid("metadata.context_refs", "%q %s", ref.Path, why).With("entry", ref.Path))
	}
	return wrong
}

// tidy removes empty and "." segments of plain paths; a pattern keeps its text
// but for a trailing slash, where a directory is meant.
func tidy(p string) string {
	if !strings.ContainsAny(p, `*?[{\`) {
		return path.Clean(p)
	}
	for strings.HasPrefix(p, "./") {
		p = p[2:]
	}
	return p
}
