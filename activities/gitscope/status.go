package gitscope

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"coxswain/models"
)

// MaxNames is the most file names that Dirty and DiffStat return; the others
// are counted.
const MaxNames = 200

// ignoreSubmodules makes git compare a submodule's checked-out commit only. To
// look further it would start another git inside it, under a configuration that
// an agent may have written.
const ignoreSubmodules = "--ignore-submodules=dirty"

// maxName is the longest path that git may print, in bytes.
const maxName = 64 << 10

// Dirty lists the files that differ from the head, staged or not, untracked
// ones included and ignored ones not, as far as the patterns cover them; no
// pattern covers all. It returns at most MaxNames of them in git's order and
// how many more there are. A nested repository is one entry that ends with "/".
// Without Git it is INVALID_ARGUMENT.
func (r Repo) Dirty(ctx context.Context, patterns []string) (files []string, more int, err error) {
	within, err := r.scope(patterns)
	if err != nil {
		return nil, 0, err
	}
	disarmed, err := r.disarm(ctx)
	if err != nil {
		return nil, 0, err
	}
	status := r.command("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--no-branch", ignoreSubmodules)
	err = status.with(disarmed).records(ctx, func(record string) error {
		const lead = len("XY ")
		if len(record) <= lead || !within.covers(record[lead:]) {
			return nil
		}
		if len(files) == MaxNames {
			more++
			return nil
		}
		files = append(files, record[lead:])
		return nil
	})
	return files, more, err
}

func (r Repo) scope(patterns []string) (scope, error) {
	if err := r.needGit(); err != nil {
		return nil, err
	}
	return newScope(patterns)
}

// records runs the command and calls visit with each NUL-terminated record.
func (c command) records(ctx context.Context, visit func(string) error) error {
	return c.stream(ctx, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxName)
		lines.Split(splitNUL)
		for lines.Scan() {
			if err := visit(lines.Text()); err != nil {
				return err
			}
		}
		if err := lines.Err(); err != nil {
			return models.Errorf(models.CodeInternal, "the output of git %s cannot be read", c.args[0]).Because(err)
		}
		return nil
	})
}

func splitNUL(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
