package ledger

import (
	"context"

	"coxswain/models"
)

// WorkspaceChange is what ConfigureWorkspace changes.
type WorkspaceChange struct {
	Settings        map[string]string // key to text, as models.WorkspaceSettingKeys name them; a blank text is the default
	ExpectedVersion *int              // nil is no check
}

// WorkspaceConfigured is what ConfigureWorkspace answers.
type WorkspaceConfigured struct {
	Workspace models.Workspace       `json:"workspace"`
	Changed   []models.SettingChange `json:"changed"` // empty when every key had that value already
}

// ConfigureWorkspace changes settings of a workspace and wakes what goes by them: the
// clock and the loops of its teams. Only a person may: settings are the owner's
// recorded approvals. Errors, in the order of their checks: FORBIDDEN, NOT_FOUND,
// VERSION_CONFLICT, INVALID_ARGUMENT; SECRET_DETECTED before all of them.
func (l *Ledger) ConfigureWorkspace(ctx context.Context, c *Call, id string, change WorkspaceChange) (WorkspaceConfigured, error) {
	in := args{"workspace_id": id, "settings": change.Settings, "expected_version": change.ExpectedVersion}
	return write(ctx, l, c, "configure_workspace", in, func(tx *Tx) (WorkspaceConfigured, error) {
		return tx.configureWorkspace(id, change)
	})
}

func (tx *Tx) configureWorkspace(id string, change WorkspaceChange) (WorkspaceConfigured, error) {
	out := WorkspaceConfigured{Changed: []models.SettingChange{}}
	if err := tx.needUnbound("configure workspace", models.RoleHuman); err != nil {
		return out, err
	}
	w, err := get[models.Workspace](tx.db, "workspace", id)
	if err != nil {
		return out, err
	}
	out.Workspace = w
	if want := change.ExpectedVersion; want != nil && *want != w.Version {
		return out, models.Errorf(models.CodeVersionConflict, "workspace %q is at version %d, not %d", id, w.Version, *want).
			With("version", w.Version).Hint("cox workspace show %s", id)
	}
	settings, err := w.Settings.With(change.Settings)
	if _, set := change.Settings["worktree_root"]; err == nil && set {
		err = settings.Spares(w)
	}
	if err != nil {
		return out, err
	}
	if out.Changed = models.ChangedSettings(w.Settings, settings); len(out.Changed) == 0 {
		return out, nil
	}
	w.Settings = settings
	out.Workspace, err = tx.setSettings(w, out.Changed)
	return out, err
}

// setSettings stores changed settings, says so, and wakes what goes by them.
func (tx *Tx) setSettings(w models.Workspace, changed []models.SettingChange) (models.Workspace, error) {
	text, err := jsonText(w.Settings)
	if err != nil {
		return w, err
	}
	w.Version, w.UpdatedAt = w.Version+1, tx.Now
	if _, err := tx.swap(&models.Workspace{}, map[string]any{"settings": text, "version": w.Version, "updated_at": tx.ms()}, "id = ?", w.ID); err != nil {
		return w, err
	}
	payload, err := object("changed", args{"changed": changed, "version": w.Version})
	if err != nil {
		return w, err
	}
	if _, err := tx.append(models.Event{WorkspaceID: w.ID, Type: models.EventWorkspaceConfigured, Payload: payload}); err != nil {
		return w, err
	}
	if err := tx.releaseCaps(w); err != nil {
		return w, err
	}
	return w, tx.wakeWorkspace(w.ID)
}

// wakeWorkspace wakes the clock and the loops of a workspace's teams.
func (tx *Tx) wakeWorkspace(id string) error {
	var teams []string
	if err := tx.db.Model(&models.Team{}).Where("workspace_id = ?", id).Order("id").Pluck("id", &teams).Error; err != nil {
		return err
	}
	for _, team := range teams {
		if err := tx.wakeLoop(id, team); err != nil {
			return err
		}
	}
	return tx.wakeClock()
}
