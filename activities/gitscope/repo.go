package gitscope

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coxswain/models"
)

// Repo is a working tree and the Git directories that belong to it. All three
// paths are absolute with symbolic links resolved. GitDir and CommonDir are
// empty for a folder without Git; they differ in a linked worktree.
type Repo struct {
	Root      string
	GitDir    string
	CommonDir string
}

// HasGit tells whether the folder is a repository.
func (r Repo) HasGit() bool { return r.GitDir != "" }

// Discover finds the repository that holds a path which a person named. The
// root is the top of its working tree, or the path itself where there is no
// Git. It returns INVALID_ARGUMENT for a path that is no directory, a bare
// repository, a path inside a Git directory, and a repository whose
// configuration puts its working tree elsewhere.
func Discover(ctx context.Context, path string) (Repo, error) {
	dir, err := canonicalDir(path)
	if err != nil {
		return Repo{}, err
	}
	if isGitDir(dir) {
		return Repo{}, models.Invalid("path", "%s is a Git directory, not a working tree", dir).Hint("name the working tree instead")
	}
	top := enclosing(dir)
	if top == "" {
		return Repo{Root: dir}, nil
	}
	return describe(ctx, top)
}

// enclosing returns the nearest directory at or above dir that has a Git
// directory or a link to one, "" for none. An empty .git, which a sandbox may
// leave behind, is none.
func enclosing(dir string) string {
	for {
		entry := filepath.Join(dir, ".git")
		info, err := os.Stat(entry)
		if err == nil && (info.Mode().IsRegular() || isGitDir(entry)) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func describe(ctx context.Context, top string) (Repo, error) {
	out, err := command{dir: top, args: []string{
		"rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir",
	}}.output(ctx)
	if err != nil {
		return Repo{}, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 3 {
		return Repo{}, models.Invalid("path", "%s has a line break in its name", top)
	}
	for i := range lines {
		if lines[i], err = filepath.EvalSymlinks(lines[i]); err != nil {
			return Repo{}, models.Invalid("path", "%s cannot be resolved", top).Because(err)
		}
	}
	if lines[0] != top {
		return Repo{}, models.Invalid("path", "the repository at %s has its working tree in %s", top, lines[0]).
			Hint("git -C %s config --unset core.worktree", top)
	}
	return Repo{Root: lines[0], GitDir: lines[1], CommonDir: lines[2]}, nil
}

// Open makes the Repo of a root and a common directory that the ledger holds.
// It looks up the working tree's own Git directory in the common directory,
// which agents cannot write, and believes nothing below the root. An empty
// common directory gives a Repo without Git. It returns INVALID_ARGUMENT when
// the root is not a working tree of that common directory.
func Open(root, commonDir string) (Repo, error) {
	top, err := canonicalDir(root)
	if err != nil || commonDir == "" {
		return Repo{Root: top}, err
	}
	common, err := canonicalDir(commonDir)
	if err != nil {
		return Repo{}, err
	}
	linked, err := linkedGitDir(top, common)
	if err != nil {
		return Repo{}, err
	}
	if linked != "" {
		return Repo{Root: top, GitDir: linked, CommonDir: common}, nil
	}
	if !isMainTree(top, common) {
		return Repo{}, models.Invalid("repo_root", "%s is no working tree of %s", top, common).
			Hint("git --git-dir=%s worktree repair %s", common, top)
	}
	return Repo{Root: top, GitDir: common, CommonDir: common}, nil
}

// linkedGitDir returns the Git directory of a linked worktree, "" when the root
// is none.
func linkedGitDir(top, common string) (string, error) {
	links, err := filepath.Glob(filepath.Join(escapeGlob(common), "worktrees", "*", "gitdir"))
	if err != nil {
		return "", models.Invalid("git_common_dir", "%s cannot be read", common).Because(err)
	}
	for _, link := range links {
		target, err := os.ReadFile(link)
		if errors.Is(err, fs.ErrNotExist) { // pruned meanwhile
			continue
		}
		if err != nil {
			return "", models.Errorf(models.CodeInternal, "%s cannot be read", link).Because(err)
		}
		tree := filepath.Dir(strings.TrimSpace(string(target)))
		if resolved, err := filepath.EvalSymlinks(tree); err == nil && resolved == top {
			return filepath.Dir(link), nil
		}
	}
	return "", nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// isMainTree tells whether the common directory is that of the root itself: its
// .git, or where its .git file points. The file is only compared with what the
// ledger already holds.
func isMainTree(top, common string) bool {
	entry := filepath.Join(top, ".git")
	if resolved, err := filepath.EvalSymlinks(entry); err == nil && resolved == common {
		return true
	}
	info, err := os.Lstat(entry)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return false
	}
	text, err := os.ReadFile(entry)
	target, found := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !found {
		return false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(top, target)
	}
	resolved, err := filepath.EvalSymlinks(target)
	return err == nil && resolved == common
}

func canonicalDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", models.Invalid("path", "%q cannot be made absolute", path).Because(err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", models.Invalid("path", "%s is not there", abs).Because(err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", models.Invalid("path", "%s cannot be read", resolved).Because(err)
	}
	if !info.IsDir() {
		return "", models.Invalid("path", "%s is not a directory", resolved)
	}
	return resolved, nil
}

// command is a git command on this repository and no other.
func (r Repo) command(args ...string) command {
	return command{dir: r.Root, args: args, env: []string{
		"GIT_DIR=" + r.GitDir, "GIT_WORK_TREE=" + r.Root, "GIT_COMMON_DIR=" + r.CommonDir,
	}}
}

// with returns the command with more environment.
func (c command) with(env []string) command {
	c.env = append(slices.Clip(c.env), env...)
	return c
}

func (r Repo) needGit() error {
	if r.HasGit() {
		return nil
	}
	return models.Invalid("workspace", "%s has no Git repository", r.Root).Hint("git -C %s init", r.Root)
}
