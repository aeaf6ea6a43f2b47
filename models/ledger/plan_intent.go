package ledger

import (
	"strconv"

	"coxswain/models"
)

// intendRun writes what a start needs before anything happens outside: the
// worker's actor, the run, its task with a fence, and a binding.
func (tx *Tx) intendRun(in models.PlanInput, cmd *models.Command) error {
	if err := tx.manageActor(in, cmd.TargetActorID, models.RoleAgent); err != nil {
		return err
	}
	binding, err := tx.workerBinding(in, cmd)
	if err != nil {
		return err
	}
	if err := tx.releaseExpired(cmd.AssignmentID); err != nil {
		return err
	}
	attempt, previous, err := tx.nextAttempt(cmd.AssignmentID)
	if err != nil {
		return err
	}
	run := models.Run{
		ID: newID("run"), AssignmentID: cmd.AssignmentID, WorkspaceID: cmd.WorkspaceID, TeamID: cmd.TeamID,
		ActorID: cmd.TargetActorID, NodeID: cmd.NodeID, BindingID: binding.ID, Attempt: attempt, Status: models.RunStarting,
		LeaseExpiresAt: tx.Now.Add(in.Loop.RunLeaseTTL()), StartedAt: tx.Now, UpdatedAt: tx.Now,
		SessionKind: models.SessionKindCodexThread, ResumeOfRunID: previous, Metadata: map[string]any{},
	}
	cmd.RunID, cmd.BindingID = run.ID, binding.ID
	if err := tx.insert(&run); err != nil {
		return err
	}
	if err := tx.insert(tx.newTask(run)); err != nil {
		return err
	}
	if err := tx.oweStart(run); err != nil {
		return err
	}
	_, err = tx.swap(&models.Assignment{}, map[string]any{"active_run_id": run.ID, "deferred_reason": ""}, "id = ?", cmd.AssignmentID)
	return err
}

// releaseExpired ends the expired claim of somebody whom no node manages, and
// makes the assignment ready again.
func (tx *Tx) releaseExpired(assignmentID string) error {
	old, open, err := tx.openRun(assignmentID)
	if err != nil || !open {
		return err
	}
	if err := tx.finishRun(old.ID, models.RunSuperseded, "its claim expired"); err != nil {
		return err
	}
	_, err = tx.swap(&models.Assignment{}, map[string]any{"status": models.AssignmentReady, "claimed_by": "", "lease_expires_at": nil, "active_run_id": ""},
		"id = ? AND status IN ('claimed','running')", assignmentID)
	return err
}

// newTask makes the task of a run: live, with a fence derived from its first
// incarnation, expiring with the claim.
func (tx *Tx) newTask(run models.Run) *models.Task {
	t := models.Task{
		ID: newID("tsk"), RunID: run.ID, Incarnation: 1,
		Status: "live", ExpiresAt: run.LeaseExpiresAt, HeartbeatAt: tx.Now, Version: 1,
	}
	t.FenceHash = tx.fenceHash(t)
	return &t
}

// fenceHash is what is kept of a task's fence.
func (tx *Tx) fenceHash(t models.Task) string {
	return hashToken(tx.l.derive("fence", t.ID, strconv.Itoa(t.Incarnation), t.RunID))
}

// workerBinding reuses the assignment's thread of the same adapter and node, so
// that a fix continues where the work was done, and makes a binding without a
// thread otherwise.
func (tx *Tx) workerBinding(in models.PlanInput, cmd *models.Command) (models.Binding, error) {
	b, found, err := find[models.Binding](tx.db, "assignment_id = ? AND kind = 'worker' AND status = 'active'", cmd.AssignmentID)
	if err != nil {
		return b, err
	}
	if found && b.AdapterKind == cmd.AdapterKind && b.NodeID == cmd.NodeID && b.ActorID == cmd.TargetActorID {
		return b, nil
	}
	if found {
		if _, err := tx.swap(&models.Binding{}, map[string]any{"status": "closed", "updated_at": tx.ms()}, "id = ?", b.ID); err != nil {
			return b, err
		}
	}
	return tx.newBinding(models.Binding{
		Kind: models.BindingWorker, WorkspaceID: in.WorkspaceID, TeamID: in.TeamID,
		AssignmentID: cmd.AssignmentID, ActorID: cmd.TargetActorID, NodeID: cmd.NodeID, AdapterKind: cmd.AdapterKind,
	})
}

func (tx *Tx) newBinding(b models.Binding) (models.Binding, error) {
	b.ID, b.Generation, b.Status = newID("bnd"), 1, "active"
	b.TokenHash = hashToken(tx.l.BindingToken(b.ID, b.Generation))
	b.CreatedAt, b.UpdatedAt = tx.Now, tx.Now
	err := tx.insert(&b)
	return b, err
}

// nextAttempt is the number of the assignment's next run and the id of its last.
func (tx *Tx) nextAttempt(assignmentID string) (attempt int, previous string, err error) {
	var rows []models.Run
	err = tx.db.Select("id, attempt").Where("assignment_id = ?", assignmentID).Order("attempt DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return 1, "", err
	}
	return rows[0].Attempt + 1, rows[0].ID, nil
}

// intendNudge finds or makes the binding of the team's integrator.
func (tx *Tx) intendNudge(in models.PlanInput, cmd *models.Command) error {
	team, err := get[models.Team](tx.db, "team", cmd.TeamID)
	if err != nil {
		return err
	}
	cmd.TargetActorID = team.OwnerActorID
	if err := tx.manageActor(in, team.OwnerActorID, models.RoleIntegrator); err != nil {
		return err
	}
	b, found, err := find[models.Binding](tx.db, "team_id = ? AND kind = 'integrator' AND status = 'active'", cmd.TeamID)
	if err != nil {
		return err
	}
	if found && (b.AdapterKind != cmd.AdapterKind || b.NodeID != cmd.NodeID || b.ActorID != team.OwnerActorID) {
		if _, err := tx.swap(&models.Binding{}, map[string]any{"status": "closed", "updated_at": tx.ms()}, "id = ?", b.ID); err != nil {
			return err
		}
		found = false
	}
	if !found {
		b, err = tx.newBinding(models.Binding{
			Kind: models.BindingIntegrator, WorkspaceID: in.WorkspaceID, TeamID: in.TeamID,
			ActorID: team.OwnerActorID, NodeID: cmd.NodeID, AdapterKind: cmd.AdapterKind,
		})
	}
	cmd.BindingID = b.ID
	return err
}

// manageActor registers an actor that the loop manages, or notes that it was seen,
// with what the last probe says its adapter can do (seed 000, actor profile).
func (tx *Tx) manageActor(in models.PlanInput, id string, role models.Role) error {
	caps := map[string]any{}
	if in.Probe != nil {
		caps = profile(*in.Probe)
	}
	text, err := jsonText(caps)
	if err != nil {
		return err
	}
	seen, err := tx.swap(&models.Actor{}, map[string]any{"capabilities": text, "last_seen_at": tx.ms(), "updated_at": tx.ms()}, "id = ?", id)
	if err != nil || seen {
		return err
	}
	return tx.insert(tx.newActor(id, role, "codex", caps))
}

func (tx *Tx) newActor(id string, role models.Role, provider string, caps map[string]any) *models.Actor {
	kind := "ai"
	if role == models.RoleNode {
		kind = actorKind(role)
	}
	return &models.Actor{
		ID: id, Role: role, Kind: kind, DisplayName: id, Provider: provider, Status: models.StatusActive,
		Capabilities: caps, LastSeenAt: tx.Now, CreatedAt: tx.Now, UpdatedAt: tx.Now,
	}
}
