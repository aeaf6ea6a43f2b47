package appserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"coxswain/activities/codex"
)

// mountpoints are folders that Codex's sandbox closes in every folder that a command
// may write.
var mountpoints = []string{".agents", ".aws", ".codex"}

// makeMountpoints makes the ones that are missing in what the thread may write. Else
// each command makes them and takes them away again, and of two commands at once in
// one folder the second may find its mount point gone and fail before it began (seen
// with 0.171.0: "bwrap: Can't mount tmpfs on …/.aws: No such file or directory"). They
// stay, empty; Git does not see them. A .git is made only in the thread's own
// temporary folder: elsewhere it would mean something.
func makeMountpoints(spec codex.ThreadSpec) error {
	var missing []string
	for _, name := range mountpoints {
		if spec.Writable {
			missing = append(missing, filepath.Join(spec.CWD, name))
		}
		if spec.TempDir != "" {
			missing = append(missing, filepath.Join(spec.TempDir, name))
		}
	}
	if spec.TempDir != "" {
		missing = append(missing, filepath.Join(spec.TempDir, ".git"))
	}
	for _, path := range missing {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return refused("the sandbox's mount point cannot be made: %v", err)
		}
	}
	return nil
}
