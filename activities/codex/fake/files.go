package fake

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// write puts a file below the thread's folder. Links that lead out of the
// folder are not followed (os.Root).
func (a *agent) write(name, text string) error {
	return a.change(name, func(root *os.Root) error { return root.WriteFile(name, []byte(text), 0o644) })
}

// appendLine adds a line to a file, making it when it is absent. A line that is
// there already is not added twice; whether it was is the result.
func (a *agent) appendLine(name, line string) (added bool, err error) {
	err = a.change(name, func(root *os.Root) error {
		old, err := root.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text := string(old)
		if strings.Contains("\n"+text+"\n", "\n"+line+"\n") {
			return nil
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			line = "\n" + line
		}
		added = true
		return appendTo(root, name, line+"\n")
	})
	return added, err
}

func appendTo(root *os.Root, name, text string) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// change makes the folders of a file and calls fn, unless the thread may not
// write there.
func (a *agent) change(name string, fn func(*os.Root) error) error {
	if !a.req.Writable {
		return errors.New("the thread is read-only")
	}
	root, err := os.OpenRoot(a.req.CWD)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a handle of a folder: nothing to lose
	if err := a.allowed(name); err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return fn(root)
}

// allowed refuses a file below one of the denied paths, links resolved; not because of
// one that the thread's own folder lies below.
func (a *agent) allowed(name string) error {
	file, err := resolve(filepath.Join(a.req.CWD, name))
	if err != nil {
		return err
	}
	own, err := resolve(a.req.CWD)
	if err != nil {
		return err
	}
	for _, deny := range a.req.DenyPaths {
		real, err := resolve(deny)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(real, own); err == nil && filepath.IsLocal(rel) {
			continue
		}
		if rel, err := filepath.Rel(real, file); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s is denied to this thread", name)
		}
	}
	return nil
}

// resolve follows the links of a path as far as it exists.
func resolve(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(name) == name {
		return real, err
	}
	folder, err := resolve(filepath.Dir(name))
	return filepath.Join(folder, filepath.Base(name)), err
}

// workFile chooses the file that a worker changes: within the first allowed
// path, the whole workspace when there is none.
func (a *agent) workFile(allowed []string, assignmentID string) (string, error) {
	root, err := os.OpenRoot(a.req.CWD)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // a handle of a folder: nothing to lose
	own := assignmentID + ".md"
	if len(allowed) == 0 {
		return own, nil
	}
	pattern := path.Clean(strings.TrimPrefix(allowed[0], "./"))
	if base, _ := doublestar.SplitPattern(pattern); strings.ContainsAny(pattern, "*?[{") {
		return fromPattern(root.FS(), pattern, path.Join(base, own), assignmentID)
	}
	info, err := root.Stat(pattern)
	if strings.HasSuffix(allowed[0], "/") || err == nil && info.IsDir() {
		return path.Join(pattern, own), nil
	}
	return pattern, nil // a file, there or still to be made
}

// fromPattern chooses within a pattern: the assignment's own file where that
// fits, else the first file that is there, else a name made of the pattern.
func fromPattern(files fs.FS, pattern, own, assignmentID string) (string, error) {
	if fits, err := doublestar.Match(pattern, own); err != nil {
		return "", fmt.Errorf("allowed path %q: %w", pattern, err)
	} else if fits {
		return own, nil
	}
	found, err := doublestar.Glob(files, pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err == nil && len(found) > 0 {
		return found[0], nil
	}
	made := path.Clean(strings.NewReplacer("**/", "", "**", assignmentID, "*", assignmentID, "?", "x").Replace(pattern))
	if fits, err := doublestar.Match(pattern, made); err == nil && fits {
		return made, nil
	}
	return "", fmt.Errorf("no file fits the allowed path %q", pattern)
}

// comment writes a text as a line that harms no file of the name's kind.
func comment(name, text string) string {
	switch path.Ext(name) {
	case ".go", ".js", ".ts", ".tsx", ".jsx", ".java", ".c", ".h", ".cc", ".cpp", ".rs", ".swift", ".kt", ".cs":
		return "// " + text
	case ".py", ".sh", ".rb", ".yaml", ".yml", ".toml", ".tf", ".mk":
		return "# " + text
	case ".sql", ".lua", ".hs":
		return "-- " + text
	case ".css":
		return "/* " + text + " */"
	case ".html", ".xml", ".svg":
		return "<!-- " + text + " -->"
	}
	return text
}
