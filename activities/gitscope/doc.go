// Package gitscope is the git that Coxswain runs itself, outside every sandbox,
// in working trees that agents write to.
//
//	a person's path ──Discover──▶ Repo ──▶ the ledger (root, common directory)
//	the ledger      ──Open──────▶ Repo ──▶ Head, DefaultBranch, Dirty, DiffStat, Diff
//	                                └────▶ LookAtWorktree, AddWorktree, Leftover, RemoveWorktree, DropBranch
//
// Invariants:
//
//   - No repository is ever discovered from an agent's path. GIT_DIR,
//     GIT_WORK_TREE and GIT_COMMON_DIR are set for every command, from values
//     that a person's Discover put into the ledger. A repository that an agent
//     creates below the root is at most an untracked entry; git never enters it.
//   - Git starts no other program: no file-system monitor, hook, pager, external
//     diff, text conversion, clean or smudge filter, credential helper or remote
//     helper, whatever the repository's configuration says.
//   - Git sees a fixed environment and, besides the repository's own, no
//     configuration: neither the user's nor the system's, and no token.
//   - Looking writes nothing into a repository: no lock, no index refresh, no
//     object. Untracked files are compared through a private copy of the index.
//     AddWorktree, RemoveWorktree and DropBranch write the worktree and branch that
//     they are about, and nothing else.
//   - Time, output and memory are bounded; what was left out is counted.
//
// Errors are models.Error: INVALID_ARGUMENT for a path, pattern or commit that
// cannot be meant, NOT_FOUND for a commit that is not there,
// ADAPTER_UNAVAILABLE without git, INTERRUPTED when the caller gave up, and
// INTERNAL with git's own words for the rest.
package gitscope
