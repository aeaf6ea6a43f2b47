package gitscope

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"coxswain/models"
)

const (
	// maxUntracked is the most untracked files that a diff takes in; a scope with
	// more of them has an ignore rule missing.
	maxUntracked = 2_000
	// maxArgs is how many bytes of file names one command line may hold.
	maxArgs = 64 << 10
)

// FileStat is how one file differs from the base.
type FileStat struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`   // lines; 0 for a binary file
	Deleted int    `json:"deleted"` // lines; 0 for a binary file
	Binary  bool   `json:"binary,omitempty"`
}

// Stat is how a scope differs from the base. Added and Deleted count every
// file, also those that More stands for.
type Stat struct {
	Files   []FileStat `json:"files"`
	More    int        `json:"more"` // files left out after MaxNames
	Added   int        `json:"added"`
	Deleted int        `json:"deleted"`
}

// Patch is a difference as text.
type Patch struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"` // the text ends at a line, not at the end
}

// DiffStat compares the working tree with a commit, untracked files included
// and ignored ones not, as far as the patterns cover them. The base "" stands
// for the empty tree. A nested repository is not entered. Without Git it is
// INVALID_ARGUMENT, for a commit that is not there NOT_FOUND.
func (r Repo) DiffStat(ctx context.Context, base string, patterns []string) (Stat, error) {
	stat := Stat{}
	err := r.comparison(ctx, base, patterns, func(c comparison) error {
		return c.files(ctx, func(f FileStat) error {
			stat.Added, stat.Deleted = stat.Added+f.Added, stat.Deleted+f.Deleted
			if len(stat.Files) == MaxNames {
				stat.More++
			} else {
				stat.Files = append(stat.Files, f)
			}
			return nil
		})
	})
	return stat, err
}

// Diff returns the difference that DiffStat counts as a unified diff of at most
// limitBytes, cut at a line. Bytes that are not UTF-8 are replaced. For errors
// see DiffStat; a limit below 1 is INVALID_ARGUMENT.
func (r Repo) Diff(ctx context.Context, base string, patterns []string, limitBytes int) (Patch, error) {
	if limitBytes < 1 {
		return Patch{}, models.Invalid("limit_bytes", "must be at least 1")
	}
	var patch Patch
	err := r.comparison(ctx, base, patterns, func(c comparison) error {
		text, err := c.patch(ctx, limitBytes)
		patch = cutPatch(text, limitBytes)
		return err
	})
	return patch, err
}

// cutPatch makes a text of at most limit bytes that ends with a line.
func cutPatch(text string, limit int) Patch {
	valid := strings.ToValidUTF8(text, "\uFFFD")
	if len(valid) <= limit {
		return Patch{Text: valid}
	}
	return Patch{Text: valid[:strings.LastIndexByte(valid[:limit], '\n')+1], Truncated: true}
}

// comparison is one look at a working tree through a private index that also
// has the untracked files.
type comparison struct {
	diff   command // git diff, without output format and paths
	tree   string
	within scope
}

func (r Repo) comparison(ctx context.Context, base string, patterns []string, use func(comparison) error) (err error) {
	within, err := r.scope(patterns)
	if err != nil {
		return err
	}
	tree, err := r.base(ctx, base)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cox-index-")
	if err != nil {
		return models.Errorf(models.CodeInternal, "no temporary folder can be made").Because(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	disarmed, err := r.disarm(ctx)
	if err != nil {
		return err
	}
	env := append(disarmed, "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	if err := r.fillIndex(ctx, filepath.Join(dir, "index"), env, within, len(tree)); err != nil {
		return err
	}
	diff := r.command(
		"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", ignoreSubmodules,
	)
	return use(comparison{diff: diff.with(env), tree: tree, within: within})
}

// fillIndex copies the repository's index and adds the untracked files of the
// scope as empty ones, so that git itself compares them with the working tree.
func (r Repo) fillIndex(ctx context.Context, index string, env []string, within scope, hashLen int) error {
	if err := copyIndex(filepath.Join(r.GitDir, "index"), index); err != nil {
		return err
	}
	var entries strings.Builder
	count := 0
	listing := r.command("ls-files", "--others", "--exclude-standard", "-z").with(env)
	err := listing.records(ctx, func(name string) error {
		if strings.HasSuffix(name, "/") || !within.covers(name) { // a nested repository, or not ours
			return nil
		}
		if count++; count > maxUntracked {
			return models.Invalid("allowed_paths", "more than %d untracked files are in the scope", maxUntracked).
				Hint("add what is generated to .gitignore")
		}
		entries.WriteString("100644 " + emptyBlob[hashLen] + "\t" + name + "\x00")
		return nil
	})
	if err != nil || count == 0 {
		return err
	}
	update := r.command("update-index", "-z", "--index-info").with(env)
	update.input = strings.NewReader(entries.String())
	_, err = update.output(ctx)
	return err
}

// copyIndex copies an index with its time. A file of the same size that was
// changed in the very moment of the index is told by that time alone; with a
// later one git would take it for unchanged.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) { // nothing was ever added
		return nil
	}
	if err != nil {
		return models.Errorf(models.CodeInternal, "%s cannot be read", from).Because(err)
	}
	if err := copyFile(from, to); err != nil {
		return models.Errorf(models.CodeInternal, "%s cannot be copied", from).Because(err)
	}
	if err := os.Chtimes(to, info.ModTime(), info.ModTime()); err != nil {
		return models.Errorf(models.CodeInternal, "%s cannot be given its time", to).Because(err)
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// command returns the diff command with more arguments.
func (c comparison) command(args ...string) command {
	out := c.diff
	out.args = append(slices.Clip(out.args), args...)
	return out
}

// files visits the changed files of the scope in git's order.
func (c comparison) files(ctx context.Context, visit func(FileStat) error) error {
	return c.command("--numstat", "-z", c.tree, "--").records(ctx, func(record string) error {
		parts := strings.SplitN(record, "\t", 3)
		if len(parts) != 3 || !c.within.covers(parts[2]) {
			return nil
		}
		added, addErr := strconv.Atoi(parts[0])
		deleted, deleteErr := strconv.Atoi(parts[1])
		binary := addErr != nil || deleteErr != nil // git prints "-" for both
		return visit(FileStat{Path: parts[2], Added: added, Deleted: deleted, Binary: binary})
	})
}

// patch returns more than limit bytes when there are more.
func (c comparison) patch(ctx context.Context, limit int) (string, error) {
	names, err := c.batches(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, batch := range names {
		part := c.command(append([]string{"--patch", c.tree, "--"}, batch...)...)
		if err := part.upTo(ctx, &text, limit+1); err != nil || text.Len() > limit {
			return text.String(), err
		}
	}
	return text.String(), nil
}

// batches returns the names of the changed files in groups that fit on a
// command line: the scope's patterns are not git's, so files are named.
func (c comparison) batches(ctx context.Context) ([][]string, error) {
	var out [][]string
	room := 0
	err := c.files(ctx, func(f FileStat) error {
		if room -= len(f.Path) + 1; len(out) == 0 || room < 0 {
			out, room = append(out, nil), maxArgs
		}
		out[len(out)-1] = append(out[len(out)-1], f.Path)
		return nil
	})
	return out, err
}

// upTo appends the command's output until the text has the given length.
func (c command) upTo(ctx context.Context, text *strings.Builder, length int) error {
	return c.stream(ctx, func(r io.Reader) error {
		_, err := io.CopyN(text, r, int64(length-text.Len()))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return models.Errorf(models.CodeInternal, "the output of git %s cannot be read", c.args[0]).Because(err)
		}
		return errEnough
	})
}
