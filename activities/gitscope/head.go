package gitscope

import (
	"context"
	"regexp"
	"strings"

	"coxswain/models"
)

// Head returns the checked-out commit and branch. The commit is "" on a branch
// without a commit, the branch is "" when the head is detached, and both are ""
// in a folder without Git.
func (r Repo) Head(ctx context.Context) (commit, branch string, err error) {
	if !r.HasGit() {
		return "", "", nil
	}
	if branch, err = r.optional(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil {
		return "", "", err
	}
	commit, err = r.optional(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return commit, strings.TrimPrefix(branch, "refs/heads/"), err
}

// DefaultBranch returns the branch that the remote origin calls its head, else
// main or master where there is one, else the checked-out branch; "" in a
// folder without Git or with a detached head and none of these.
func (r Repo) DefaultBranch(ctx context.Context) (string, error) {
	if !r.HasGit() {
		return "", nil
	}
	const prefix = "refs/remotes/origin/"
	remote, err := r.optional(ctx, "symbolic-ref", "--quiet", prefix+"HEAD")
	if err != nil || strings.HasPrefix(remote, prefix) {
		return strings.TrimPrefix(remote, prefix), err
	}
	found, err := r.command("for-each-ref", "--format=%(refname)", "refs/heads/main", "refs/heads/master").output(ctx)
	if err != nil {
		return "", err
	}
	for ref := range strings.FieldsSeq(found) { // sorted, so main comes first
		if name := strings.TrimPrefix(ref, "refs/heads/"); name == "main" || name == "master" {
			return name, nil
		}
	}
	_, branch, err := r.Head(ctx)
	return branch, err
}

// optional runs a command that exits with 1 and prints nothing when there is no
// answer.
func (r Repo) optional(ctx context.Context, args ...string) (string, error) {
	out, err := r.command(args...).output(ctx)
	if exited(err, 1) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

var hexName = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// The names of the tree and the file without content, by the length of the
// repository's object names (SHA-1, SHA-256).
var (
	emptyTree = map[int]string{
		40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
	}
	emptyBlob = map[int]string{
		40: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
		64: "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
	}
)

// base returns the full object name of a commit, or of the empty tree when the
// commit is "": what a branch without a commit is compared with.
func (r Repo) base(ctx context.Context, commit string) (string, error) {
	if commit == "" {
		format, err := r.command("rev-parse", "--show-object-format").output(ctx)
		if strings.TrimSpace(format) == "sha256" {
			return emptyTree[64], err
		}
		return emptyTree[40], err
	}
	if !hexName.MatchString(commit) {
		return "", models.Invalid("base_commit", "%q is not a commit's hexadecimal name", commit)
	}
	full, err := r.optional(ctx, "rev-parse", "--verify", "--quiet", commit+"^{commit}")
	if err == nil && full == "" {
		err = models.Errorf(models.CodeNotFound, "base_commit: %s is not in the repository at %s", commit, r.Root).With("commit", commit)
	}
	return full, err
}
