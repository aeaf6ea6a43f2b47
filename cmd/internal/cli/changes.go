package cli

import (
	"context"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"

	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
)

// changes are what a run's working tree holds against the run's base, within the
// assignment's allowed paths.
type changes struct {
	BaseCommit string          `json:"base_commit"`
	Paths      []string        `json:"allowed_paths"`
	Stat       *gitscope.Stat  `json:"stat,omitempty"`
	Diff       *gitscope.Patch `json:"diff,omitempty"`
	Note       string          `json:"note,omitempty"` // why something is not shown, or what it is compared with
}

// compare looks at the files of a run, without a diff when limit is 0. What cannot
// be compared is said in the note: a reviewer still has the rest.
func compare(ctx context.Context, l *ledger.Ledger, a models.Assignment, r models.Run, limit int) (changes, error) {
	out := changes{BaseCommit: r.BaseCommit, Paths: a.AllowedPaths}
	w, err := l.Workspace(ctx, a.WorkspaceID)
	if err != nil {
		return out, err
	}
	tree, _, err := l.Worktree(ctx, a.ID)
	if err != nil {
		return out, err
	}
	if tree.State == models.WorktreeRemoved {
		out.Note = "its worktree was removed, so there is no diff"
		if tree.BranchKept {
			out.Note += "; look at branch " + tree.Branch
		}
		return out, nil
	}
	if tree.State.Exists() {
		w.RepoRoot = tree.Path
	}
	err = out.read(ctx, w, limit)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.Note = "the changes cannot be shown: " + err.Error()
	}
	return out, nil
}

func (c *changes) read(ctx context.Context, w models.Workspace, limit int) error {
	if w.GitCommonDir == "" {
		c.Note = "workspace " + w.ID + " has no Git repository, so there is no diff; look at " + w.RepoRoot
		return nil
	}
	repo, err := gitscope.Open(w.RepoRoot, w.GitCommonDir)
	if err != nil {
		return err
	}
	if c.BaseCommit == "" {
		if c.BaseCommit, _, err = repo.Head(ctx); err != nil {
			return err
		}
		c.Note = "the run recorded no base commit; this is what differs from the last commit"
	}
	stat, err := repo.DiffStat(ctx, c.BaseCommit, c.Paths)
	if models.IsCode(err, models.CodeNotFound) {
		c.Note = "the base commit " + short(c.BaseCommit) + " is not in the repository any more, so there is no diff; look at " + w.RepoRoot
		return nil
	}
	if err != nil {
		return err
	}
	c.Stat = &stat
	if limit == 0 || len(stat.Files) == 0 {
		return nil
	}
	patch, err := repo.Diff(ctx, c.BaseCommit, c.Paths, limit)
	c.Diff = &patch
	return err
}

// size says how large the changes are in a few words.
func (c *changes) size() string {
	if c.Stat == nil {
		return "?"
	}
	files := len(c.Stat.Files) + c.Stat.More
	return counted(files, "file", "files") + " +" + show(c.Stat.Added) + " -" + show(c.Stat.Deleted)
}

// changes writes the size, the files and the diff.
func (p *printer) changes(c changes) {
	p.heading("Changes since " + orDash(short(c.BaseCommit)))
	if c.Note != "" {
		p.line("%s", c.Note)
	}
	if c.Stat == nil {
		return
	}
	rows := make([][]any, 0, len(c.Stat.Files))
	for _, f := range c.Stat.Files {
		size := "+" + show(f.Added) + " -" + show(f.Deleted)
		if f.Binary {
			size = "binary"
		}
		rows = append(rows, []any{f.Path, size})
	}
	p.table("Nothing differs within the allowed paths.", []string{"FILE", "LINES"}, rows)
	if c.Stat.More > 0 {
		p.line("and %s", counted(c.Stat.More, "more file", "more files"))
	}
	if c.Diff == nil {
		return
	}
	p.heading("Diff")
	p.diff(c.Diff.Text)
	if c.Diff.Truncated {
		p.line("(cut: --max-bytes shows more, --stat only the files)")
	}
}

// diff writes a patch line by line; characters that could steer the terminal are
// replaced, tabs stay.
func (p *printer) diff(patch string) {
	for line := range strings.Lines(patch) {
		line = strings.Map(func(r rune) rune {
			if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				return ' '
			}
			return r
		}, strings.TrimRight(line, "\r\n"))
		p.write(p.tinted(line) + "\n")
	}
}

func (p *printer) tinted(line string) string {
	if !p.colour || line == "" {
		return line
	}
	switch line[0] {
	case '+':
		return text.FgGreen.Sprint(line)
	case '-':
		return text.FgRed.Sprint(line)
	case '@':
		return text.FgCyan.Sprint(line)
	}
	return line
}
