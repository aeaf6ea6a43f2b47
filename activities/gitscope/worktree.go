package gitscope

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coxswain/models"
)

// checkoutTimeout is the longest that a checkout of a whole commit may take.
const checkoutTimeout = 5 * time.Minute

// Worktree is a linked working tree that Coxswain makes for itself. All of it
// comes from the ledger.
type Worktree struct {
	Root   string // the folder above all worktrees; it is never removed
	Path   string // below Root, absolute
	Branch string // without refs/heads/
	Base   string // the commit that the branch begins at
	Mark   string // the words of its lock: by them it is known as ours
}

// WorktreeState is what Git and the disk say of a Worktree.
type WorktreeState struct {
	Entry   string // the administrative folder that has our mark, "" for none
	Foreign string // that of somebody else's worktree at the same path, "" for none
	Moved   string // where a person moved our worktree, "" for nowhere
	OnDisk  bool   // something is at the path
	Whole   bool   // entry and files belong together and the checkout has ended
	Tip     string // the commit of the branch, "" when there is no such branch
}

// Untouched tells whether nothing of the worktree exists.
func (s WorktreeState) Untouched() bool {
	return s.Entry == "" && s.Foreign == "" && !s.OnDisk && s.Tip == ""
}

// LookAtWorktree reads what exists of a worktree. Without Git it is
// INVALID_ARGUMENT, and so is a path that does not lie below its root once
// symbolic links are resolved.
func (r Repo) LookAtWorktree(ctx context.Context, w Worktree) (WorktreeState, error) {
	var s WorktreeState
	if err := r.needGit(); err != nil {
		return s, err
	}
	if err := w.contained(); err != nil {
		return s, err
	}
	if _, err := os.Lstat(w.Path); err == nil {
		s.OnDisk = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return s, unreadable(w.Path, err)
	}
	if err := r.findEntries(w, &s); err != nil {
		return s, err
	}
	s.Whole = s.Entry != "" && s.OnDisk && pointsTo(filepath.Join(w.Path, ".git"), s.Entry) && checkedOut(s.Entry)
	var err error
	s.Tip, err = r.optional(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.Branch+"^{commit}")
	return s, err
}

// contained refuses a path that is not below the root. The path itself may not be
// a link: what is made or removed there would lie elsewhere.
func (w Worktree) contained() error {
	root, err := canonicalDir(w.Root)
	if err != nil {
		return err
	}
	parent, err := resolveExisting(filepath.Dir(w.Path))
	if err != nil {
		return unreadable(w.Path, err)
	}
	real := filepath.Join(parent, filepath.Base(w.Path))
	if rel, err := filepath.Rel(root, real); err != nil || rel == "." || !filepath.IsLocal(rel) {
		return models.Invalid("worktree", "%s does not lie below %s", w.Path, w.Root)
	}
	if info, err := os.Lstat(w.Path); err == nil && !info.IsDir() {
		return models.Invalid("worktree", "%s is in the way and is no folder", w.Path).Hint("move %s away", w.Path)
	}
	return nil
}

// resolveExisting follows the links of a path as far as it exists.
func resolveExisting(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return real, err
	}
	above, err := resolveExisting(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), err
}

// findEntries looks through the repository's list of worktrees for the mark and
// for the path.
func (r Repo) findEntries(w Worktree, s *WorktreeState) error {
	folder := filepath.Join(r.CommonDir, "worktrees")
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(folder, err)
	}
	for _, e := range entries {
		entry := filepath.Join(folder, e.Name())
		lock, err := os.ReadFile(filepath.Join(entry, "locked"))
		ours := err == nil && strings.TrimSpace(string(lock)) == w.Mark
		link, err := os.ReadFile(filepath.Join(entry, "gitdir"))
		tree := filepath.Dir(strings.TrimSpace(string(link)))
		here := err == nil && sameFile(tree, w.Path)
		switch {
		case ours:
			s.Entry = entry
			if err == nil && !here && exists(tree) {
				s.Moved = tree
			}
		case here:
			s.Foreign = entry
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path) //nolint:gosec // nothing is read; callers have checked that it lies below their root
	return err == nil
}

// sameFile compares two paths of which the second may be gone.
func sameFile(a, b string) bool {
	realA, errA := resolveExisting(a)
	realB, errB := resolveExisting(b)
	return errA == nil && errB == nil && realA == realB
}

// pointsTo tells whether a .git file names the administrative folder.
func pointsTo(file, entry string) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return false
	}
	text, err := os.ReadFile(file)
	target, found := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !found {
		return false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	return sameFile(target, entry)
}

// checkedOut tells whether Git's first checkout ended: it writes the index last,
// by renaming its lock.
func checkedOut(entry string) bool {
	_, indexErr := os.Stat(filepath.Join(entry, "index"))
	_, lockErr := os.Stat(filepath.Join(entry, "index.lock"))
	return indexErr == nil && errors.Is(lockErr, fs.ErrNotExist)
}

// AddWorktree makes the worktree and locks it with its mark, so that no prune takes
// it for abandoned. A branch that exists is checked out as it is, else it begins at
// the base. What an earlier attempt left half-made is taken away first; never call
// it for a worktree that an agent has worked in. held is kept open by git until
// it ends, so that a lock on it outlives this process; nil for none.
//
// Errors besides those of LookAtWorktree: INVALID_ARGUMENT when the path or the
// branch is somebody else's, or the branch is checked out elsewhere.
func (r Repo) AddWorktree(ctx context.Context, w Worktree, held *os.File) error {
	s, err := r.LookAtWorktree(ctx, w)
	if err != nil {
		return err
	}
	if err := s.usable(w); err != nil {
		return err
	}
	if s.Entry != "" {
		if err := w.undo(s.Entry); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(w.Path), 0o700); err != nil {
		return models.Errorf(models.CodeInternal, "%s cannot be made", filepath.Dir(w.Path)).Because(err)
	}
	args := []string{"worktree", "add", "--quiet", "--lock", "--reason", w.Mark}
	if s.Tip == "" {
		args = append(args, "-b", w.Branch, w.Path, w.Base)
	} else {
		args = append(args, w.Path, w.Branch)
	}
	disarmed, err := r.disarm(ctx)
	if err != nil {
		return err
	}
	add := r.command(args...).with(disarmed)
	add.timeout, add.held = checkoutTimeout, held
	if _, err := add.output(ctx); err != nil {
		return r.whyNotAdded(w, err)
	}
	s, err = r.LookAtWorktree(ctx, w)
	if err == nil && !s.Whole {
		err = models.Errorf(models.CodeInternal, "the worktree %s is not whole after git made it", w.Path)
	}
	return err
}

// usable refuses what is somebody else's, or was moved away.
func (s WorktreeState) usable(w Worktree) error {
	if s.Moved != "" {
		return models.Invalid("worktree", "%s was moved to %s", w.Path, s.Moved).With("path", s.Moved).
			Hint("git worktree move --force --force %s %s brings it back", s.Moved, w.Path)
	}
	if s.Foreign == "" && (!s.OnDisk || s.Entry != "") {
		return nil
	}
	return models.Invalid("worktree", "%s exists already and is not a worktree of this assignment", w.Path).
		With("path", w.Path).Hint("look into %s, then move it away; the next attempt makes it anew", w.Path)
}

// undo takes away what an attempt that was cut off left. The entry, by which it is
// known, goes last.
func (w Worktree) undo(entry string) error {
	if err := w.removeFiles(); err != nil {
		return err
	}
	if err := os.RemoveAll(entry); err != nil {
		return models.Errorf(models.CodeInternal, "%s cannot be removed", entry).Because(err)
	}
	return nil
}

// whyNotAdded tells the refusals that a person can do something about from the
// others.
func (r Repo) whyNotAdded(w Worktree, cause error) error {
	text := cause.Error()
	if git, ok := errors.AsType[*exit](cause); ok {
		text = git.stderr
	}
	switch {
	case strings.Contains(text, "already checked out") || strings.Contains(text, "already used by worktree"):
		return models.Invalid("worktree", "branch %s is checked out elsewhere", w.Branch).With("branch", w.Branch).
			Hint("git -C %s worktree list shows where; check another branch out there", r.Root).Because(cause)
	case strings.Contains(text, "cannot lock ref"):
		return models.Invalid("worktree", "branch %s cannot be made beside the other branches", w.Branch).With("branch", w.Branch).
			Hint("cox workspace set branch_prefix=…; it names another prefix").Because(cause)
	}
	return cause
}

func unreadable(path string, err error) error {
	return models.Errorf(models.CodeInternal, "%s cannot be read", path).Because(err)
}
