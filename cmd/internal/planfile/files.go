package planfile

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"coxswain/models"
)

// Stdin is the name that stands for the standard input.
const Stdin = "-"

// maxFile is the largest file of a plan in bytes.
const maxFile = 16 << 20

// Read reads files, folders with all plans in them and below, and the standard input.
// Its error is about a file that cannot be read at all: NOT_FOUND or INVALID_ARGUMENT.
func Read(names []string, stdin io.Reader) (Plan, error) {
	var out Plan
	for _, name := range names {
		part, err := readOne(name, stdin)
		if err != nil {
			return out, err
		}
		out.add(part)
	}
	if len(out.Entries) == 0 && len(out.Problems) == 0 {
		return out, models.Invalid("FILE", "%s holds no assignment", strings.Join(names, ", ")).Hint("cox assignment import --help")
	}
	out.sort()
	return out, nil
}

func readOne(name string, stdin io.Reader) (Plan, error) {
	if name == Stdin {
		raw, err := io.ReadAll(io.LimitReader(stdin, maxFile+1))
		if err != nil {
			return Plan{}, unreadable("the standard input", err)
		}
		return parseSized("(stdin)", raw)
	}
	info, err := os.Stat(name)
	if err != nil {
		return Plan{}, unreadable(name, err)
	}
	if !info.IsDir() {
		return readFile(name)
	}
	files, err := plansIn(name)
	if err != nil {
		return Plan{}, unreadable(name, err)
	}
	var out Plan
	for _, file := range files {
		part, err := readListed(file)
		if err != nil {
			return out, err
		}
		out.add(part)
	}
	return out, nil
}

// plansIn lists the plans of a folder and of those below it by name. What is hidden is
// passed over.
func plansIn(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		hidden := path != dir && strings.HasPrefix(d.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return fs.SkipDir
		case !hidden && d.Type().IsRegular() && (isYAML(path) || isMarkdown(path)):
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// readListed reads a file of a folder, in which Markdown without front matter is a
// text like any other.
func readListed(name string) (Plan, error) {
	if isMarkdown(name) {
		raw, err := os.ReadFile(name)
		if err != nil {
			return Plan{}, unreadable(name, err)
		}
		if _, found, err := cut(raw, 0); err == nil && !found {
			return Plan{Skipped: []string{name}}, nil
		}
	}
	return readFile(name)
}

func readFile(name string) (Plan, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return Plan{}, unreadable(name, err)
	}
	return parseSized(name, raw)
}

func parseSized(name string, raw []byte) (Plan, error) {
	if len(raw) > maxFile {
		return Plan{}, models.Invalid("FILE", "%s is larger than %d MiB", name, maxFile>>20)
	}
	return Parse(name, raw), nil
}

func unreadable(name string, err error) error {
	if os.IsNotExist(err) {
		return models.Errorf(models.CodeNotFound, "FILE: there is no file %s", name).With("field", "FILE").Hint("name a file or folder that exists, or - for the standard input")
	}
	return models.Invalid("FILE", "%s cannot be read", name).Because(err)
}

// Parse reads one text. Its name tells YAML from Markdown; any other name leaves that
// to the text.
func Parse(name string, raw []byte) Plan {
	r := &reader{file: name}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if row, column := foreign(raw); row > 0 {
		r.fail(row, "", "", "column %d holds bytes that are no UTF-8; save the file as UTF-8", column)
	} else if isMarkdown(name) || !isYAML(name) && looksLikeMarkdown(raw) {
		r.markdown(raw)
	} else if docs, problem := decode(raw, 0); problem != nil {
		problem.File = name
		r.plan.Problems = append(r.plan.Problems, *problem)
	} else {
		r.documents(docs)
	}
	r.plan.sort()
	return r.plan
}

// foreign is the place, from 1, of the first byte that is no UTF-8; 0 when there is
// none. Reading on would put another character in its place.
func foreign(raw []byte) (row, column int) {
	for i, line := range bytes.Split(raw, []byte("\n")) {
		if !utf8.Valid(line) {
			sound, _, _ := strings.Cut(strings.ToValidUTF8(string(line), "\xff"), "\xff")
			return i + 1, utf8.RuneCountInString(sound) + 1
		}
	}
	return 0, 0
}

func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(name)))
}

func isMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(name)))
}

// looksLikeMarkdown tells whether front matter is followed by what is no plan in YAML.
func looksLikeMarkdown(raw []byte) bool {
	b, found, err := cut(raw, 0)
	if err != nil || !found {
		return false
	}
	docs, problem := decode([]byte(b.body), 0)
	return problem != nil || len(docs) == 0 || slices.ContainsFunc(docs, func(d document) bool {
		_, mapping := d.value.(map[string]any)
		_, list := d.value.([]any)
		return !mapping && !list
	})
}
