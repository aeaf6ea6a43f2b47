package ledger

import (
	"context"
	"strings"
	"time"

	"coxswain/models"
)

// ClaimRequest asks for an assignment. The session fields describe the new run; a
// renewal ignores them.
type ClaimRequest struct {
	AssignmentID   string
	Base           *int
	TTL            time.Duration // the team's run_lease_ttl when 0
	SessionKind    string
	SessionRef     string
	InteractiveURL string
	WorktreePath   string
	Branch         string
	BaseCommit     string
	ResumeOfRunID  string // a former run of the same assignment
}

func (r ClaimRequest) args() args {
	return args{
		"assignment_id": r.AssignmentID, "base_revision": r.Base, "lease_ttl_ms": r.TTL.Milliseconds(), "session_kind": r.SessionKind,
		"session_ref": r.SessionRef, "interactive_url": r.InteractiveURL, "worktree_path": r.WorktreePath, "branch": r.Branch,
		"base_commit": r.BaseCommit, "resume_of_run_id": r.ResumeOfRunID,
	}
}

// Claimed is an assignment with the run that holds it.
type Claimed struct {
	Assignment models.Assignment `json:"assignment"`
	Run        models.Run        `json:"run"`
}

// ClaimAssignment takes an assignment for the caller, or renews the caller's own
// live claim: same run, new expiry. An expired claim of a run that nobody manages
// is taken over; a managed run has to be seen to end first. Errors, in the order
// of their checks: FORBIDDEN, NOT_FOUND, STALE_REVISION, INVALID_ARGUMENT,
// LEASE_CONFLICT, DEPENDENCY_BLOCKED; SECRET_DETECTED before all of them.
func (l *Ledger) ClaimAssignment(ctx context.Context, c *Call, r ClaimRequest) (Claimed, error) {
	return write(ctx, l, c, "claim_assignment", r.args(), func(tx *Tx) (Claimed, error) { return tx.claim(r) })
}

func (tx *Tx) claim(r ClaimRequest) (Claimed, error) {
	if err := tx.need("claim assignment", models.RoleAgent, models.RoleIntegrator, models.RoleHuman); err != nil {
		return Claimed{}, err
	}
	a, err := tx.reach(r.AssignmentID, r.Base)
	if err != nil {
		return Claimed{}, err
	}
	if err := claimable(a); err != nil {
		return Claimed{}, err
	}
	if r.TTL, err = tx.claimTTL(a, r.TTL); err != nil {
		return Claimed{}, err
	}
	held, found, err := tx.openRun(a.ID)
	if err != nil {
		return Claimed{}, err
	}
	if found && tx.holds(held, a) {
		return tx.renewClaim(a, held, r.TTL)
	}
	if tx.By.BindingID != "" {
		return Claimed{}, models.Forbidden("the runs of a bound thread are started by the loop; it only renews its own claim")
	}
	if found {
		err = tx.takeOver(a, held)
	} else {
		err = tx.replaceEnded(a)
	}
	if err != nil {
		return Claimed{}, err
	}
	if err := tx.needDependencies(a.ID); err != nil {
		return Claimed{}, err
	}
	return tx.newClaim(a, r)
}

// claimable refuses the statuses in which nobody may claim.
func claimable(a models.Assignment) error {
	switch a.Status {
	case models.AssignmentReady, models.AssignmentNeedsFix, models.AssignmentClaimed, models.AssignmentRunning,
		models.AssignmentAwaitingHuman, models.AssignmentAwaitingApproval:
		return nil
	case models.AssignmentAwaitingReview:
		return models.Invalid("assignment_id", "assignment %q awaits the review of handoff %s", a.ID, a.HandoffEventID).
			With("status", string(a.Status)).Hint("cox review list")
	default:
		return models.Invalid("assignment_id", "assignment %q is %s and cannot be claimed", a.ID, a.Status).With("status", string(a.Status))
	}
}

func (tx *Tx) claimTTL(a models.Assignment, ttl time.Duration) (time.Duration, error) {
	if ttl == 0 {
		return tx.teamTTL(a.TeamID)
	}
	if ttl < MinClaimTTL || ttl > MaxClaimTTL {
		return 0, models.Invalid("lease_ttl", "%s is not between %s and %s", ttl, MinClaimTTL, MaxClaimTTL)
	}
	return ttl, nil
}

// holds tells whether the run is the caller's own, live claim.
func (tx *Tx) holds(r models.Run, a models.Assignment) bool {
	return r.ID == a.ActiveRunID && tx.owns(r) == nil && liveRun(r) == nil && !expired(&r.LeaseExpiresAt, tx.Now)
}

// renewClaim keeps the run and whatever status it has.
func (tx *Tx) renewClaim(a models.Assignment, r models.Run, ttl time.Duration) (Claimed, error) {
	until := tx.Now.Add(ttl)
	if err := tx.expireAt(r.ID, a.ID, until); err != nil {
		return Claimed{}, err
	}
	return tx.claimed(a, r.ID, ttl, true, map[string]any{"claimed_by": r.ActorID, "lease_expires_at": until.UnixMilli()})
}

// takeOver ends an expired claim of a run that nobody manages. Every other open
// run is a conflict.
func (tx *Tx) takeOver(a models.Assignment, r models.Run) error {
	if managed(r) {
		why := "is held by run %q of %q, whose turn has not been seen to end"
		if r.Status == models.RunStarting {
			why = "is being started by the loop as run %q of %q"
		}
		return leaseConflict(a, r, why)
	}
	if !expired(&r.LeaseExpiresAt, tx.Now) && !r.Status.Terminal() {
		return leaseConflict(a, r, "is held by run %q of %q")
	}
	if err := tx.closeInterventions(a.ID); err != nil {
		return err
	}
	return tx.endRun(r.ID, models.RunSuperseded, "claim expired and was taken over")
}

// replaceEnded settles a run whose end is proven but whose claim was left.
func (tx *Tx) replaceEnded(a models.Assignment) error {
	if a.Status.Startable() {
		return nil
	}
	_, err := tx.swap(&models.Run{}, map[string]any{"status": models.RunSuperseded, "updated_at": tx.ms()},
		"id = ? AND status IN ('starting','claimed','running','awaiting_human','awaiting_approval','stalled')", a.ActiveRunID)
	if err != nil {
		return err
	}
	return tx.closeInterventions(a.ID)
}

func leaseConflict(a models.Assignment, r models.Run, why string) error {
	return models.Errorf(models.CodeLeaseConflict, "assignment %q "+why, a.ID, r.ID, r.ActorID).
		With("holder", r.ActorID).With("run_id", r.ID).With("expires_at", r.LeaseExpiresAt.Format(time.RFC3339Nano)).
		Hint("cox run show %s", r.ID)
}

// newClaim writes a new run with its task.
func (tx *Tx) newClaim(a models.Assignment, r ClaimRequest) (Claimed, error) {
	if err := tx.checkResume(a, r.ResumeOfRunID); err != nil {
		return Claimed{}, err
	}
	if err := checkLink(r.InteractiveURL); err != nil {
		return Claimed{}, err
	}
	attempt, _, err := tx.nextAttempt(a.ID)
	if err != nil {
		return Claimed{}, err
	}
	run := models.Run{
		ID: newID("run"), AssignmentID: a.ID, WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, ActorID: tx.By.ActorID, Attempt: attempt,
		Status: models.RunClaimed, LeaseExpiresAt: tx.Now.Add(r.TTL), StartedAt: tx.Now, UpdatedAt: tx.Now, SessionKind: r.SessionKind,
		SessionRef: r.SessionRef, InteractiveURL: r.InteractiveURL, WorktreePath: r.WorktreePath, Branch: r.Branch,
		BaseCommit: r.BaseCommit, ResumeOfRunID: r.ResumeOfRunID, Metadata: map[string]any{},
	}
	if err := tx.insert(&run); err != nil {
		return Claimed{}, err
	}
	if err := tx.insert(tx.newTask(run)); err != nil {
		return Claimed{}, err
	}
	return tx.claimed(a, run.ID, r.TTL, false, map[string]any{
		"status": models.AssignmentClaimed, "active_run_id": run.ID, "claimed_by": run.ActorID,
		"lease_expires_at": run.LeaseExpiresAt.UnixMilli(), "deferred_reason": "",
	})
}

// checkLink refuses a link that a person should not click: one that would run
// something or open a file.
func checkLink(link string) error {
	for _, scheme := range []string{"codex://", "https://", "http://"} {
		if link == "" || strings.HasPrefix(link, scheme) {
			return nil
		}
	}
	return models.Invalid("interactive_url", "must begin with codex://, https:// or http://")
}

func (tx *Tx) checkResume(a models.Assignment, runID string) error {
	if runID == "" {
		return nil
	}
	former, err := get[models.Run](tx.db, "run", runID)
	if err == nil && former.AssignmentID != a.ID {
		err = models.Invalid("resume_of_run_id", "run %q belongs to assignment %q", runID, former.AssignmentID)
	}
	return err
}

// claimed raises the revision, records the claim and wakes the clock for its
// expiry.
func (tx *Tx) claimed(a models.Assignment, runID string, ttl time.Duration, renewal bool, columns map[string]any) (Claimed, error) {
	a, err := tx.advance(a, columns)
	if err != nil {
		return Claimed{}, err
	}
	run, err := get[models.Run](tx.db, "run", runID)
	if err != nil {
		return Claimed{}, err
	}
	e := assignmentEvent(a, models.EventRunClaimed)
	e.RunID = run.ID
	e.Payload = map[string]any{"lease_ttl_seconds": int(ttl.Seconds()), "attempt": run.Attempt, "renewal": renewal}
	if _, err := tx.append(e); err != nil {
		return Claimed{}, err
	}
	return Claimed{Assignment: a, Run: run}, tx.wakeClock()
}
