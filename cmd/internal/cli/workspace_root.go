package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

// checkRoot refuses a folder that agents must not be given to write: the file
// system, the home directory, and any that shares files with the state directory
// or holds the ledger.
func (in *call) checkRoot(root string) error {
	refuse := func(why, next string) error {
		return models.Invalid("path", "%s %s", root, why).With("root", root).Hint("%s", next)
	}
	if root == filepath.Dir(root) {
		return refuse("is the whole file system", "name the folder of one repository")
	}
	if home, _ := in.env("HOME"); home != "" {
		home, err := realPath(home)
		if err != nil {
			return err
		}
		if root == home {
			return refuse("is the home directory", "name the folder of one repository; git init in it, if home itself is a repository")
		}
	}
	paths, err := in.paths()
	if err != nil {
		return err
	}
	state, err := realPath(paths.StateDir)
	if err != nil {
		return ledger.StateUnusable(paths.StateDir, errors.Unwrap(err))
	}
	const next = "name another folder, or keep the state elsewhere with --state-dir"
	switch {
	case root == state:
		return refuse("is the state directory", next)
	case inside(root, state):
		return refuse("contains the state directory "+state, next)
	case inside(state, root):
		return refuse("lies in the state directory "+state, next)
	}
	if ledger.IsAddress(paths.DB) {
		return nil // no folder holds it
	}
	db, err := realPath(paths.DB)
	if err != nil {
		return ledger.Unavailable(paths.DB, errors.Unwrap(err))
	}
	if inside(root, db) {
		return refuse("contains the ledger "+db, "name another folder, or keep the ledger elsewhere with --db")
	}
	return nil
}

// inside tells whether a path lies below a folder.
func inside(folder, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// realPath follows the symlinks of a path of which the end may not exist yet.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", models.Invalid("path", "%s cannot be made absolute", path).Because(err)
	}
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		target, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(target, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", models.Invalid("path", "%s cannot be read", path).Because(err)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
