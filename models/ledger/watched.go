package ledger

import (
	"context"

	"coxswain/models"
)

// Watched is a thread that a node has to observe.
type Watched struct {
	Binding models.Binding
	Run     models.Run // zero for an integrator
	Turns   []models.Turn
	Pending int // messages that are not delivered
}

// WatchedThreads lists the active bindings of a node that have a thread and
// something under way: an open run, an active turn, or an undelivered message.
func (l *Ledger) WatchedThreads(ctx context.Context, nodeID, adapterKind string) ([]Watched, error) {
	db := l.read(ctx)
	var bindings []models.Binding
	err := db.Where(`node_id = ? AND adapter_kind = ? AND status = 'active' AND thread_id <> '' AND (
	    EXISTS (SELECT 1 FROM runs r WHERE r.binding_id = bindings.id AND r.ended_at IS NULL)
	 OR EXISTS (SELECT 1 FROM turns t WHERE t.binding_id = bindings.id AND t.status = 'active')
	 OR EXISTS (SELECT 1 FROM outbox o WHERE o.binding_id = bindings.id AND o.state IN ('pending','sending')))`, nodeID, adapterKind).
		Order("created_at, id").Find(&bindings).Error
	if err != nil {
		return nil, err
	}
	out := make([]Watched, 0, len(bindings))
	for _, b := range bindings {
		w := Watched{Binding: b}
		if b.Kind == models.BindingWorker {
			if w.Run, _, err = find[models.Run](db, "binding_id = ? AND ended_at IS NULL", b.ID); err != nil {
				return nil, err
			}
		}
		if err := db.Where("binding_id = ?", b.ID).Order("started_at, id").Find(&w.Turns).Error; err != nil {
			return nil, err
		}
		var n int64
		if err := db.Model(&models.OutboxItem{}).Where("binding_id = ? AND state IN ('pending','sending')", b.ID).Count(&n).Error; err != nil {
			return nil, err
		}
		w.Pending = int(n)
		out = append(out, w)
	}
	return out, nil
}

// Spec is what a thread's configuration is built from.
type Spec struct {
	Binding   models.Binding
	Workspace models.Workspace
	Team      models.Team
	Worktree  models.Worktree // zero when the binding's assignment has none
	Token     string
}

// Folder is where the thread works: the assignment's worktree, else the workspace's
// root.
func (s Spec) Folder() string {
	if s.Worktree.State.Exists() {
		return s.Worktree.Path
	}
	return s.Workspace.RepoRoot
}

// ThreadSpec loads what the configuration of a binding's thread is built from.
func (l *Ledger) ThreadSpec(ctx context.Context, bindingID string) (Spec, error) {
	db := l.read(ctx)
	b, err := get[models.Binding](db, "binding", bindingID)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Binding: b, Token: l.BindingToken(b.ID, b.Generation)}
	if s.Workspace, err = get[models.Workspace](db, "workspace", b.WorkspaceID); err != nil {
		return s, err
	}
	if b.AssignmentID != "" {
		if s.Worktree, _, err = findWorktree(db, b.AssignmentID); err != nil {
			return s, err
		}
	}
	s.Team, err = get[models.Team](db, "team", b.TeamID)
	return s, err
}
