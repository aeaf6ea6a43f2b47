package gitscope

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"coxswain/models"
)

// Leftover is what removing a worktree would lose.
type Leftover struct {
	Files  []string // changed or untracked, at most MaxNames
	More   int      // files left out
	Reason string   // what else stands against it, "" for nothing
	Hash   string   // of all of it, 12 hex; "" when nothing would be lost
}

// Clean tells whether nothing would be lost.
func (l Leftover) Clean() bool { return len(l.Files)+l.More == 0 && l.Reason == "" }

// Leftover looks for what exists in this working tree alone: files that differ from
// the head or are untracked (ignored ones are not looked at), commits that no branch
// or tag has, and repositories inside it, whose own work Git does not show here.
func (r Repo) Leftover(ctx context.Context) (Leftover, error) {
	var out Leftover
	var err error
	if out.Files, out.More, err = r.Dirty(ctx, nil); err != nil {
		return out, err
	}
	if out.Reason, err = r.unreachable(ctx); err != nil {
		return out, err
	}
	if nested, err := r.nested(ctx); err != nil {
		return out, err
	} else if nested != "" {
		out.Reason = "it holds the repository " + nested
	}
	if !out.Clean() {
		out.Hash = r.fingerprint(out)
	}
	return out, nil
}

// unreachable tells of a detached head that would be lost with the worktree.
func (r Repo) unreachable(ctx context.Context) (string, error) {
	commit, branch, err := r.Head(ctx)
	if err != nil || branch != "" || commit == "" {
		return "", err
	}
	refs, err := r.command("for-each-ref", "--count=1", "--contains", commit, "--format=%(refname)").output(ctx)
	if err != nil || strings.TrimSpace(refs) != "" {
		return "", err
	}
	return "its commit " + commit[:12] + " is on no branch", nil
}

// nested finds a submodule of the index that somebody filled.
func (r Repo) nested(ctx context.Context) (string, error) {
	links, err := r.gitlinks(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return "", err
	}
	for _, name := range links {
		if entries, err := os.ReadDir(filepath.Join(r.Root, name)); err == nil && len(entries) > 0 {
			return name, nil
		}
	}
	return "", nil
}

// gitlinks lists the submodules that a command shows as "160000 … TAB name".
func (r Repo) gitlinks(ctx context.Context, args ...string) ([]string, error) {
	var out []string
	err := r.command(args...).records(ctx, func(record string) error {
		if _, name, found := strings.Cut(record, "\t"); found && strings.HasPrefix(record, "160000 ") {
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

// Submodules lists the submodules of a commit that the patterns reach: a scope may
// lie inside one, and one inside a scope. No pattern reaches all.
func (r Repo) Submodules(ctx context.Context, commit string, patterns []string) ([]string, error) {
	within, err := r.scope(patterns)
	if err != nil {
		return nil, err
	}
	all, err := r.gitlinks(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	var out []string
	for _, name := range all {
		if models.PathsMeet(within, []string{name}) {
			out = append(out, name)
		}
	}
	return out, err
}

// fingerprint changes when another file appears or one that is listed is written
// again.
func (r Repo) fingerprint(l Leftover) string {
	h := sha256.New()
	for _, name := range l.Files {
		state := "gone"
		if info, err := os.Lstat(filepath.Join(r.Root, name)); err == nil {
			state = info.ModTime().UTC().String() + " " + strconv.FormatInt(info.Size(), 10)
		}
		fmt.Fprintf(h, "%q %s\n", name, state)
	}
	fmt.Fprintln(h, l.More, l.Reason)
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// RemoveWorktree removes the files of a worktree and what the repository knows of
// it, whatever is in it; ask Leftover before. The branch stays. It is done when
// both are gone, also when somebody else removed them. Errors: INVALID_ARGUMENT for
// a path that is not this worktree's any more, INTERNAL with the reason when
// something is left; the entry then still stands, so that it can be tried again.
func (r Repo) RemoveWorktree(ctx context.Context, w Worktree) error {
	s, err := r.LookAtWorktree(ctx, w)
	if err != nil {
		return err
	}
	if err := s.usable(w); err != nil {
		return err
	}
	if s.OnDisk {
		if err := w.removeFiles(); err != nil {
			return err
		}
	}
	if s.Entry != "" {
		if err := os.RemoveAll(s.Entry); err != nil {
			return models.Errorf(models.CodeInternal, "%s cannot be removed", s.Entry).Because(err)
		}
	}
	if s, err = r.LookAtWorktree(ctx, w); err == nil && (s.OnDisk || s.Entry != "") {
		err = models.Errorf(models.CodeInternal, "the worktree %s is still there", w.Path)
	}
	return err
}

// removeFiles removes the folder of the worktree through its root, so that no link
// on the way leads elsewhere. Folders that were made read-only are opened first.
func (w Worktree) removeFiles() error {
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return unreadable(w.Root, err)
	}
	defer func() { _ = root.Close() }() // a handle of a folder: nothing to lose
	rel, err := filepath.Rel(w.Root, w.Path)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return models.Invalid("worktree", "%s does not lie below %s", w.Path, w.Root)
	}
	err = root.RemoveAll(rel)
	if errors.Is(err, fs.ErrPermission) {
		openFolders(root, rel)
		err = root.RemoveAll(rel)
	}
	if err != nil {
		return models.Errorf(models.CodeInternal, "%s cannot be removed", w.Path).Because(err).
			With("path", w.Path).Hint("see who owns what is in it, then cox worktree remove again")
	}
	return nil
}

// openFolders lets the owner change every folder of a tree. What cannot be
// changed is told by the removal that follows.
func openFolders(root *os.Root, name string) {
	_ = root.Chmod(name, 0o700) // a folder has to be open before it is read
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
}

// DropBranch deletes the branch of a removed worktree when it holds nothing of its
// own: it is where it began, or the checked-out or the default branch has all of it.
// It tells whether the branch is gone.
func (r Repo) DropBranch(ctx context.Context, w Worktree) (bool, error) {
	tip, err := r.optional(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.Branch+"^{commit}")
	if err != nil || tip == "" {
		return err == nil, err
	}
	merged, err := r.merged(ctx, w, tip)
	if err != nil || !merged {
		return false, err
	}
	// With the old value, so that a commit made meanwhile is kept.
	_, err = r.command("update-ref", "-d", "refs/heads/"+w.Branch, tip).output(ctx)
	return err == nil, err
}

func (r Repo) merged(ctx context.Context, w Worktree, tip string) (bool, error) {
	if tip == w.Base {
		return true, nil
	}
	head, branch, err := r.Head(ctx)
	if err != nil || branch == w.Branch {
		return false, err
	}
	standard, err := r.DefaultBranch(ctx)
	if err != nil {
		return false, err
	}
	into := []string{head}
	if standard != "" && standard != w.Branch {
		into = append(into, "refs/heads/"+standard)
	}
	for _, commit := range into {
		if commit == "" {
			continue
		}
		_, err := r.command("merge-base", "--is-ancestor", tip, commit).output(ctx)
		switch {
		case err == nil:
			return true, nil
		case !exited(err, 1) && !exited(err, 128): // 128: no such branch here
			return false, err
		}
	}
	return false, nil
}
