package cli

import "coxswain/models"

// worktreeOptions choose where an assignment's runs work.
func worktreeOptions() []*option {
	return []*option{
		{name: "worktree", kind: truthKind, usage: "let its runs work in a Git worktree of their own"},
		{name: "no-worktree", kind: truthKind, usage: "let its runs work in the repository's main tree, whatever the workspace says"},
	}
}

// worktreeChoice is what the flags say, nil when they say nothing.
func (in *call) worktreeChoice() (*bool, error) {
	with, without := in.on("worktree"), in.on("no-worktree")
	switch {
	case with && without:
		return nil, models.Invalid("no-worktree", "contradicts --worktree; name one of them")
	case with:
		return new(true), nil
	case without:
		return new(false), nil
	}
	return nil, nil
}
