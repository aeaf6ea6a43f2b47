package projection

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"coxswain/models"
)

// The files of an export, relative to its folder.
const (
	stateFile  = "coxswain/snapshots/accepted-state.json"
	eventsFile = "coxswain/events/accepted-events.md"
)

// Export is what Write left behind.
type Export struct {
	State   string `json:"accepted_state"`  // absolute path
	Events  string `json:"accepted_events"` // absolute path
	Changed bool   `json:"changed"`         // whether a file has other bytes than before
}

// Write writes a snapshot into a folder of the workspace at root, an absolute
// path. dir is absolute or relative to the root, and blank for the root itself;
// what is missing of it is made. Errors: INVALID_ARGUMENT for a folder outside
// the workspace, in its Git directory, or behind a symlink.
func Write(root, dir string, s models.Snapshot) (Export, error) {
	rel, err := within(root, dir)
	if err != nil {
		return Export{}, err
	}
	place, err := os.OpenRoot(root)
	if err != nil {
		return Export{}, models.Invalid("workspace_id", "its folder %s cannot be opened", root).Because(err)
	}
	defer place.Close() //nolint:errcheck // a directory that was only read
	text, err := state(s)
	if err != nil {
		return Export{}, err
	}
	out := Export{State: filepath.Join(root, rel, stateFile), Events: filepath.Join(root, rel, eventsFile)}
	for _, file := range []struct {
		name    string
		content []byte
	}{{eventsFile, events(s)}, {stateFile, text}} {
		changed, err := replace(place, filepath.Join(rel, filepath.FromSlash(file.name)), file.content)
		if err != nil {
			return Export{}, err
		}
		out.Changed = out.Changed || changed
	}
	return out, nil
}

// within returns the folder relative to the root.
func within(root, dir string) (string, error) {
	rel := filepath.Clean(dir)
	if filepath.IsAbs(dir) {
		var err error
		if rel, err = filepath.Rel(root, rel); err != nil {
			return "", outside(root, dir)
		}
	}
	if !filepath.IsLocal(rel) {
		return "", outside(root, dir)
	}
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if strings.EqualFold(part, ".git") {
			return "", models.Invalid("output_dir", "%s lies in a Git directory", dir).Hint("name a folder of the working tree")
		}
	}
	return rel, nil
}

func outside(root, dir string) error {
	return models.Invalid("output_dir", "%s lies outside the workspace", dir).
		With("root", root).Hint("name a folder inside %s", root)
}

// replace gives a file its content at once, and tells whether that changed it.
func replace(place *os.Root, name string, content []byte) (changed bool, err error) {
	if err := noLinks(place, name); err != nil {
		return false, err
	}
	old, err := place.ReadFile(name)
	if err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, unwritable(name, err)
	}
	if err := place.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, unwritable(name, err)
	}
	fresh := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
	if err := create(place, fresh, content); err != nil {
		return false, unwritable(name, err)
	}
	if err := place.Rename(fresh, name); err != nil {
		return false, unwritable(name, errors.Join(err, place.Remove(fresh)))
	}
	return true, nil
}

// noLinks refuses a path of which a part is a symlink: it would write where
// nobody asked to.
func noLinks(place *os.Root, name string) error {
	for part := name; part != "."; part = filepath.Dir(part) {
		info, err := place.Lstat(part)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unwritable(name, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return models.Invalid("output_dir", "%s is a symlink", filepath.Join(place.Name(), part)).Hint("name a folder that no link leads to")
		}
	}
	return nil
}

// create writes a new file and leaves none when it fails.
func create(place *os.Root, name string, content []byte) error {
	f, err := place.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // for everybody who reads the repository
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, place.Remove(name))
	}
	return nil
}

func unwritable(name string, err error) error {
	return models.Invalid("output_dir", "%s cannot be written", name).Because(err).Hint("name a folder that you may write to")
}
