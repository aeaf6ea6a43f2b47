package ledger

import (
	"context"
	"errors"
	"path/filepath"

	"coxswain/models"
)

// NewWorkspace is what RegisterWorkspace records. Blank fields keep what is
// stored; MaxRuns 0 and nil Metadata count as blank.
type NewWorkspace struct {
	ID            string
	Name          string // the id when blank at first registration
	RepoRoot      string // absolute, symlinks resolved by the caller
	GitCommonDir  string
	DefaultBranch string
	NodeID        string
	MaxRuns       int
	Metadata      map[string]any
}

func (n NewWorkspace) args() args {
	return args{
		"workspace_id": n.ID, "name": n.Name, "repo_root": n.RepoRoot, "git_common_dir": n.GitCommonDir,
		"default_branch": n.DefaultBranch, "node_id": n.NodeID, "max_runs": n.MaxRuns, "metadata": n.Metadata,
	}
}

// WorkspaceView is a workspace with the counts of its teams and assignments.
type WorkspaceView struct {
	models.Workspace
	TeamCount        int            `json:"team_count"`
	Teams            []models.Team  `json:"teams"`
	AssignmentCounts map[string]int `json:"assignment_counts"` // by status
	AssignmentTotal  int            `json:"assignment_total"`
}

// RegisterWorkspace adds a workspace or updates the fields that are given. It
// never brings an archived one back, and refuses a second id for one root.
// Errors: FORBIDDEN, INVALID_ARGUMENT, SECRET_DETECTED.
func (l *Ledger) RegisterWorkspace(ctx context.Context, c *Call, n NewWorkspace) (models.Workspace, error) {
	return write(ctx, l, c, "register_workspace", n.args(), func(tx *Tx) (models.Workspace, error) { return tx.registerWorkspace(n) })
}

func (tx *Tx) registerWorkspace(n NewWorkspace) (models.Workspace, error) {
	var w models.Workspace
	if err := tx.needUnbound("register workspace", models.RoleAgent, models.RoleIntegrator, models.RoleHuman, models.RoleNode); err != nil {
		return w, err
	}
	if err := n.check(); err != nil {
		return w, err
	}
	old, found, err := find[models.Workspace](tx.db, "id = ?", n.ID)
	if err != nil {
		return w, err
	}
	if w, err = n.over(old); err != nil {
		return w, err
	}
	if err := tx.sparesLedger(w.RepoRoot); err != nil {
		return w, err
	}
	if err := tx.rootIsFree(w); err != nil {
		return w, err
	}
	if found {
		return tx.updateWorkspace(old, w)
	}
	w.Status, w.Settings, w.Version, w.CreatedAt, w.UpdatedAt = models.StatusActive, models.DefaultWorkspaceSettings(), 1, tx.Now, tx.Now
	if err := tx.insert(&w); err != nil {
		return w, err
	}
	return w, tx.noteWorkspace(w, models.EventWorkspaceRegistered)
}

func (n NewWorkspace) check() error {
	if err := models.CheckID("workspace_id", n.ID); err != nil {
		return err
	}
	if err := checkRoot(n.RepoRoot); err != nil {
		return err
	}
	if n.MaxRuns < 0 {
		return models.Invalid("max_runs", "must not be negative")
	}
	return nil
}

// checkRoot refuses a root that is not one clear place. Blank keeps what is
// stored; a slash at the end is forgiven.
func checkRoot(root string) error {
	switch {
	case root == "":
		return nil
	case !filepath.IsAbs(root):
		return models.Invalid("repo_root", "%q must be an absolute path", root)
	case filepath.Clean(root) == filepath.Dir(filepath.Clean(root)):
		return models.Invalid("repo_root", "%q is the whole file system; name one folder", root)
	case filepath.Clean(root) != root && filepath.Clean(root)+string(filepath.Separator) != root:
		return models.Invalid("repo_root", "%q must be written without \".\", \"..\" and double slashes", root)
	}
	return nil
}

// sparesLedger refuses a root above the ledger's file, in which agents may not
// write.
func (tx *Tx) sparesLedger(root string) error {
	if root == "" || !tx.l.store.holds(root) {
		return nil
	}
	return models.Invalid("repo_root", "%s contains the ledger %s, which agents must not write", root, tx.l.store.name()).
		Hint("keep the ledger elsewhere: --db, --state-dir or COX_STATE_DIR")
}

// over lays the given fields over a stored workspace.
func (n NewWorkspace) over(w models.Workspace) (models.Workspace, error) {
	w.ID, w.Name = n.ID, first(n.Name, w.Name, n.ID)
	if n.RepoRoot != "" {
		w.RepoRoot = filepath.Clean(n.RepoRoot)
	}
	w.GitCommonDir, w.DefaultBranch, w.NodeID = first(n.GitCommonDir, w.GitCommonDir), first(n.DefaultBranch, w.DefaultBranch), first(n.NodeID, w.NodeID)
	if n.MaxRuns > 0 {
		w.MaxRuns = n.MaxRuns
	}
	if n.Metadata == nil && w.Metadata != nil {
		return w, nil
	}
	m, err := object("metadata", n.Metadata)
	w.Metadata = m
	return w, err
}

func (tx *Tx) rootIsFree(w models.Workspace) error {
	if w.RepoRoot == "" || w.Status == models.StatusArchived {
		return nil
	}
	other, found, err := find[models.Workspace](tx.db, "node_id = ? AND repo_root = ? AND status = 'active' AND id <> ?", w.NodeID, w.RepoRoot, w.ID)
	if err == nil && found {
		err = models.Invalid("repo_root", "%s is already registered as workspace %q", w.RepoRoot, other.ID).
			With("workspace_id", other.ID).Hint("cox workspace show %s", other.ID)
	}
	return err
}

func (tx *Tx) updateWorkspace(old, w models.Workspace) (models.Workspace, error) {
	before, err := jsonText(old)
	if err != nil {
		return w, err
	}
	after, err := jsonText(w)
	if err != nil || before == after {
		return old, err
	}
	metadata, err := jsonText(w.Metadata)
	if err != nil {
		return w, err
	}
	w.Version, w.UpdatedAt = old.Version+1, tx.Now
	_, err = tx.swap(&models.Workspace{}, map[string]any{
		"name": w.Name, "repo_root": w.RepoRoot, "git_common_dir": w.GitCommonDir, "default_branch": w.DefaultBranch,
		"node_id": w.NodeID, "max_runs": w.MaxRuns, "metadata": metadata, "version": w.Version, "updated_at": tx.ms(),
	}, "id = ?", w.ID)
	if err != nil {
		return w, err
	}
	return w, tx.noteWorkspace(w, models.EventWorkspaceRegistered)
}

func (tx *Tx) noteWorkspace(w models.Workspace, kind string) error {
	_, err := tx.append(models.Event{WorkspaceID: w.ID, Type: kind, Payload: map[string]any{
		"name": w.Name, "repo_root": w.RepoRoot, "version": w.Version,
	}})
	return err
}

// ArchiveWorkspace hides a workspace and turns its teams' loops off. What has not
// started is left as it is; archiving twice changes nothing. Errors: FORBIDDEN,
// NOT_FOUND, INVALID_ARGUMENT while runs are open.
func (l *Ledger) ArchiveWorkspace(ctx context.Context, c *Call, id string) (models.Workspace, error) {
	return write(ctx, l, c, "archive_workspace", args{"workspace_id": id}, func(tx *Tx) (models.Workspace, error) { return tx.archiveWorkspace(id) })
}

func (tx *Tx) archiveWorkspace(id string) (models.Workspace, error) {
	if err := tx.needUnbound("archive workspace", models.RoleIntegrator, models.RoleHuman); err != nil {
		return models.Workspace{}, err
	}
	w, err := get[models.Workspace](tx.db, "workspace", id)
	if err != nil || w.Status == models.StatusArchived {
		return w, err
	}
	open, busy, err := find[models.Run](tx.db, "workspace_id = ? AND ended_at IS NULL", id)
	if err != nil {
		return w, err
	}
	if busy {
		return w, models.Invalid("workspace_id", "workspace %q has open runs, such as that of %s", id, open.AssignmentID).
			With("run_id", open.ID).Hint("cox run list --open --workspace %s; end them: cox assignment cancel --reason \"…\" %s", id, open.AssignmentID)
	}
	if w, err = tx.setWorkspaceStatus(w, models.StatusArchived); err != nil {
		return w, err
	}
	return w, errors.Join(tx.stopLoops(id), tx.noteWorkspace(w, models.EventWorkspaceArchived))
}

// RestoreWorkspace brings an archived workspace back; its loops stay off. Restoring
// twice changes nothing. Errors: FORBIDDEN, NOT_FOUND, INVALID_ARGUMENT when another
// workspace has its root now.
func (l *Ledger) RestoreWorkspace(ctx context.Context, c *Call, id string) (models.Workspace, error) {
	return write(ctx, l, c, "restore_workspace", args{"workspace_id": id}, func(tx *Tx) (models.Workspace, error) { return tx.restoreWorkspace(id) })
}

func (tx *Tx) restoreWorkspace(id string) (models.Workspace, error) {
	if err := tx.needUnbound("restore workspace", models.RoleIntegrator, models.RoleHuman); err != nil {
		return models.Workspace{}, err
	}
	w, err := get[models.Workspace](tx.db, "workspace", id)
	if err != nil || w.Status == models.StatusActive {
		return w, err
	}
	w.Status = models.StatusActive
	if err := tx.rootIsFree(w); err != nil {
		return w, err
	}
	if w, err = tx.setWorkspaceStatus(w, models.StatusActive); err != nil {
		return w, err
	}
	return w, tx.noteWorkspace(w, models.EventWorkspaceRestored)
}

func (tx *Tx) setWorkspaceStatus(w models.Workspace, status string) (models.Workspace, error) {
	w.Status, w.Version, w.UpdatedAt = status, w.Version+1, tx.Now
	_, err := tx.swap(&models.Workspace{}, map[string]any{"status": w.Status, "version": w.Version, "updated_at": tx.ms()}, "id = ?", w.ID)
	return w, err
}

// stopLoops turns off the loops of a workspace's teams.
func (tx *Tx) stopLoops(workspaceID string) error {
	var teams []models.Team
	if err := tx.db.Where("workspace_id = ?", workspaceID).Order("id").Find(&teams).Error; err != nil {
		return err
	}
	for _, t := range teams {
		if !t.Loop.Enabled {
			continue
		}
		settings := t.Loop
		settings.Enabled, settings.SetBy = false, tx.By.ActorID
		if _, err := tx.setLoop(t, settings); err != nil {
			return err
		}
	}
	return nil
}

// Workspace returns one workspace or NOT_FOUND.
func (l *Ledger) Workspace(ctx context.Context, id string) (models.Workspace, error) {
	return get[models.Workspace](l.read(ctx), "workspace", id)
}

// WorkspaceAt finds the active workspace with a canonical root.
func (l *Ledger) WorkspaceAt(ctx context.Context, root string) (models.Workspace, bool, error) {
	return find[models.Workspace](l.read(ctx), "repo_root = ? AND status = 'active'", filepath.Clean(root))
}

// Workspaces lists all workspaces by id, archived ones included, with counts.
func (l *Ledger) Workspaces(ctx context.Context) ([]WorkspaceView, error) {
	var spaces []models.Workspace
	if err := l.read(ctx).Order("id").Find(&spaces).Error; err != nil {
		return nil, err
	}
	views, at := make([]WorkspaceView, len(spaces)), map[string]*WorkspaceView{}
	for i, w := range spaces {
		views[i] = WorkspaceView{Workspace: w, Teams: []models.Team{}, AssignmentCounts: map[string]int{}}
		at[w.ID] = &views[i]
	}
	return views, l.countInto(ctx, at)
}

func (l *Ledger) countInto(ctx context.Context, at map[string]*WorkspaceView) error {
	teams, err := l.Teams(ctx, "")
	if err != nil {
		return err
	}
	for _, t := range teams {
		if v := at[t.WorkspaceID]; v != nil { // nil: registered since the list was read
			v.Teams, v.TeamCount = append(v.Teams, t), v.TeamCount+1
		}
	}
	var rows []struct {
		WorkspaceID, Status string
		N                   int
	}
	if err := l.read(ctx).Raw("SELECT workspace_id, status, count(*) AS n FROM assignments GROUP BY workspace_id, status").Scan(&rows).Error; err != nil {
		return err
	}
	for _, r := range rows {
		if v := at[r.WorkspaceID]; v != nil {
			v.AssignmentCounts[r.Status] = r.N
			v.AssignmentTotal += r.N
		}
	}
	return nil
}

// Roots lists the folders of the active workspaces.
func (l *Ledger) Roots(ctx context.Context) ([]string, error) {
	var out []string
	return out, l.read(ctx).Table("workspaces").Where("status = 'active' AND repo_root <> ''").Order("repo_root").Pluck("repo_root", &out).Error
}
