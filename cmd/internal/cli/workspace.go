package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) workspaceCommand() *urfave.Command {
	return a.group("workspace", "register repositories and see them",
		leaf{
			name: "add", usage: "register a repository", argument: "[PATH]",
			about:   "Registers the repository that contains PATH, the current folder when left out.\nDoing it again changes only what is named.",
			example: "cox workspace add --id site ~/src/site",
			options: []*option{
				{name: "id", kind: identKind, usage: "the workspace's `ID`; default: made from the folder's name"},
				{name: "name", usage: "`NAME` for people; default: the folder's name"},
				nodeOption(),
				{name: "max-runs", kind: wholeKind, usage: "at most `N` runs at a time; without it no limit, or what is stored"},
			},
			run: workspaceAdd,
		},
		leaf{
			name: "list", usage: "list workspaces", about: "Archived ones are listed with --status archived only.", example: "cox workspace list --status active --sort updated_at --reverse",
			options: workspaceListing().options(), run: workspaceList,
		},
		leaf{
			name: "show", usage: "show one workspace", argument: "[ID]", example: "cox workspace show site",
			about: "Without ID: the workspace that contains the current folder.", options: []*option{workspaceOption()}, run: workspaceShow,
		},
		workspaceSetLeaf(),
		leaf{
			name: "archive", usage: "hide a workspace and turn its loops off", argument: "ID", example: "cox workspace archive site",
			about: "Nothing is deleted; it is refused while runs are open. cox workspace restore ID brings it back.", run: workspaceArchive,
		},
		leaf{
			name: "restore", usage: "bring an archived workspace back", argument: "ID", example: "cox workspace restore site",
			about: "The loops of its teams stay off until cox loop turns them on.", run: workspaceRestore,
		},
	)
}

func workspaceAdd(ctx context.Context, in *call) error {
	path := in.argument
	if path == "" {
		path = "."
	}
	repo, branch, err := in.locate(ctx, path)
	if err != nil {
		return err
	}
	l, err := in.newLedger(ctx)
	if err != nil {
		return err
	}
	request, err := in.newWorkspace(ctx, l, repo, branch)
	if err != nil {
		return err
	}
	c := in.request()
	w, err := l.RegisterWorkspace(ctx, c, request)
	if err != nil {
		return err
	}
	return in.answer(fields{"workspace": w, "replayed": c.Replayed}, func(p *printer) {
		p.line("Workspace %s is %s", w.ID, w.RepoRoot)
		if w.GitCommonDir == "" {
			p.line("It is no Git repository: runs and hand-offs will name no commit.")
		}
		p.line("next: cox team create --workspace %s TEAM", w.ID)
	})
}

// locate finds the repository that contains a path, and its default branch.
func (in *call) locate(ctx context.Context, path string) (repo gitscope.Repo, branch string, err error) {
	repo, err = gitscope.Discover(ctx, path)
	if refusal, ok := errors.AsType[*models.Error](err); ok && refusal.Next == "" {
		return repo, "", refusal.Hint("name a folder that exists: cox workspace add PATH")
	}
	if err != nil {
		return repo, "", err
	}
	if err := in.checkRoot(repo.Root); err != nil {
		return repo, "", err
	}
	branch, err = repo.DefaultBranch(ctx)
	return repo, branch, err
}

// newWorkspace fills in what was not named: a registered root keeps its id.
func (in *call) newWorkspace(ctx context.Context, l *ledger.Ledger, repo gitscope.Repo, branch string) (ledger.NewWorkspace, error) {
	request := ledger.NewWorkspace{
		ID: in.text("id"), Name: in.text("name"), RepoRoot: repo.Root, GitCommonDir: repo.CommonDir,
		DefaultBranch: branch, MaxRuns: in.whole("max-runs"),
	}
	known, found, err := l.WorkspaceAt(ctx, repo.Root)
	if err != nil {
		return request, err
	}
	if request.ID == "" && found {
		request.ID = known.ID
	}
	if !found {
		if err := archivedBefore(ctx, l, request); err != nil {
			return request, err
		}
	}
	if request.NodeID, err = in.node(); err != nil {
		return request, err
	}
	folder := filepath.Base(repo.Root)
	if request.ID == "" {
		if request.ID = idFrom(folder); request.ID == "" {
			return request, models.Invalid("id", "the folder %q gives no id", folder).Hint("add --id ID")
		}
	}
	if request.Name == "" && !found {
		request.Name = folder
	}
	return request, nil
}

func workspaceList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	all, err := l.Workspaces(ctx)
	if err != nil {
		return err
	}
	if len(in.list("status")) == 0 { // archived ones are shown when asked for
		all = slices.DeleteFunc(all, func(w ledger.WorkspaceView) bool { return w.Status == models.StatusArchived })
	}
	return workspaceListing().answer(ctx, in, l, all)
}

func workspaceListing() listing[ledger.WorkspaceView] {
	return listing[ledger.WorkspaceView]{
		key: "workspaces", when: "changed",
		id:       func(w ledger.WorkspaceView) string { return w.ID },
		at:       func(w ledger.WorkspaceView) time.Time { return w.UpdatedAt },
		status:   func(w ledger.WorkspaceView) string { return w.Status },
		statuses: []string{models.StatusActive, models.StatusArchived},
		text:     func(w ledger.WorkspaceView) []string { return []string{w.ID, w.Name, w.RepoRoot} },
		table:    (*printer).workspaces,
	}
}

func (p *printer) workspaces(all []ledger.WorkspaceView) {
	rows := make([][]any, 0, len(all))
	for _, w := range all {
		rows = append(rows, []any{w.ID, w.Status, w.TeamCount, w.AssignmentTotal, w.RepoRoot})
	}
	p.table("No workspace matches: cox workspace add", []string{"ID", "STATUS", "TEAMS", "ASSIGNMENTS", "ROOT"}, rows)
}

func workspaceShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	w, err := in.workspaceNamed(ctx, l)
	if err != nil {
		return err
	}
	teams, err := l.Teams(ctx, w.ID)
	if err != nil {
		return err
	}
	return in.answer(fields{"workspace": w, "teams": teams}, func(p *printer) {
		p.facts("workspace", w.ID, "name", w.Name, "status", w.Status, "root", w.RepoRoot, "git", w.GitCommonDir,
			"default branch", w.DefaultBranch, "node", w.NodeID, "max runs", limit(w.MaxRuns), "updated", w.UpdatedAt)
		p.heading("Settings")
		p.workspaceSettings(w.Settings)
		p.heading("Teams")
		p.teams(teams)
	})
}

// workspaceNamed is the workspace of the argument, else the usual default.
func (in *call) workspaceNamed(ctx context.Context, l *ledger.Ledger) (models.Workspace, error) {
	if in.argument != "" {
		return l.Workspace(ctx, in.argument)
	}
	return in.workspace(ctx, l)
}

func workspaceArchive(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	w, err := l.ArchiveWorkspace(ctx, c, in.argument)
	if err != nil {
		return err
	}
	waiting, err := unfinished(ctx, l, w.ID)
	if err != nil {
		return err
	}
	return in.answer(fields{"workspace": w, "unfinished": waiting, "replayed": c.Replayed}, func(p *printer) {
		p.line("Workspace %s is archived", w.ID)
		if waiting > 0 {
			p.line("%s left in it; nothing of it starts until cox workspace restore %s", counted(waiting, "unfinished assignment is", "unfinished assignments are"), w.ID)
		}
	})
}

// unfinished counts the assignments of a workspace that have not ended.
func unfinished(ctx context.Context, l *ledger.Ledger, workspaceID string) (int, error) {
	all, err := l.Assignments(ctx, ledger.AssignmentFilter{WorkspaceID: workspaceID})
	n := 0
	for _, a := range all {
		if !a.Status.Terminal() {
			n++
		}
	}
	return n, err
}

func workspaceRestore(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	w, err := l.RestoreWorkspace(ctx, c, in.argument)
	if err != nil {
		return err
	}
	return in.answer(fields{"workspace": w, "replayed": c.Replayed}, func(p *printer) {
		p.line("Workspace %s is %s: %s", w.ID, w.Status, w.RepoRoot)
	})
}

// archivedBefore refuses to register what is archived: doing so would not bring it
// back, and a second id for its folder has to be asked for.
func archivedBefore(ctx context.Context, l *ledger.Ledger, n ledger.NewWorkspace) error {
	all, err := l.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.ID == n.ID || n.ID == "" && w.RepoRoot == n.RepoRoot {
			if err := w.InUse(); err != nil {
				return err
			}
		}
	}
	return nil
}

// limit shows a cap of which 0 means none.
func limit(n int) string {
	if n == 0 {
		return "no limit"
	}
	return show(n)
}

// orDash keeps a column visible where the value is empty.
func orDash(s string) string {
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}
