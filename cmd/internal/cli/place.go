package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
)

// workspace is the one that --workspace names, else the registered one that
// contains the current folder. A linked worktree belongs to the workspace with
// the same Git directory.
func (in *call) workspace(ctx context.Context, l *ledger.Ledger) (models.Workspace, error) {
	if id := in.text("workspace"); id != "" {
		return l.Workspace(ctx, id)
	}
	here, err := currentFolder()
	if err != nil {
		return models.Workspace{}, err
	}
	all, err := l.Workspaces(ctx)
	if err != nil {
		return models.Workspace{}, err
	}
	if w, found := enclosing(all, here, models.StatusActive); found {
		return w, nil
	}
	repo, err := gitscope.Discover(ctx, here)
	if err == nil && repo.CommonDir != "" {
		for _, w := range all {
			if w.Status == models.StatusActive && w.GitCommonDir == repo.CommonDir {
				return w.Workspace, nil
			}
		}
	}
	if w, found := enclosing(all, here, models.StatusArchived); found {
		return models.Workspace{}, w.InUse()
	}
	return models.Workspace{}, models.Invalid("workspace", "no registered workspace contains %s", here).
		Hint("cox workspace add %s", shellWord(here)).Because(err)
}

// enclosing finds the workspace of a status with the deepest root above the folder.
func enclosing(all []ledger.WorkspaceView, folder, status string) (models.Workspace, bool) {
	var best models.Workspace
	for _, w := range all {
		inside := folder == w.RepoRoot || strings.HasPrefix(folder, strings.TrimSuffix(w.RepoRoot, "/")+"/")
		if w.Status == status && w.RepoRoot != "" && inside && len(w.RepoRoot) > len(best.RepoRoot) {
			best = w.Workspace
		}
	}
	return best, best.ID != ""
}

// team is the one that --team names, else the only active one of the workspace.
func (in *call) team(ctx context.Context, l *ledger.Ledger) (models.Team, error) {
	if id := in.text("team"); id != "" {
		return l.Team(ctx, id)
	}
	w, err := in.workspace(ctx, l)
	if err != nil {
		return models.Team{}, err
	}
	return in.onlyTeam(ctx, l, w.ID)
}

func (in *call) onlyTeam(ctx context.Context, l *ledger.Ledger, workspaceID string) (models.Team, error) {
	all, err := l.Teams(ctx, workspaceID)
	if err != nil {
		return models.Team{}, err
	}
	var active []models.Team
	var ids []string
	for _, t := range all {
		if t.Status == models.StatusActive {
			active, ids = append(active, t), append(ids, t.ID)
		}
	}
	switch len(active) {
	case 1:
		return active[0], nil
	case 0:
		return models.Team{}, models.Invalid("team", "workspace %s has no team", workspaceID).
			Hint("cox team create --workspace %s TEAM", workspaceID)
	}
	return models.Team{}, models.Invalid("team", "workspace %s has several teams: %s", workspaceID, strings.Join(ids, ", ")).
		Hint("add --team %s", ids[0]).With("teams", ids)
}

// currentFolder is the working folder with symlinks resolved, as roots are kept.
func currentFolder() (string, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", models.Invalid("workspace", "the current folder cannot be read").Hint("add --workspace ID").Because(err)
	}
	return dir, nil
}

// shellWord quotes a word for a command line that a person copies.
func shellWord(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+=:@%", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
