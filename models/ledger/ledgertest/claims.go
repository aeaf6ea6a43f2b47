package ledgertest

import (
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func claimTests() map[string]func(*env) {
	return map[string]func(*env){
		"claim/session_fields":                       claimFields,
		"claim/live_claim_is_a_conflict":             claimConflict,
		"claim/own_live_claim_is_renewed":            claimRenewed,
		"claim/renewal_keeps_awaiting_human":         renewalKeepsWaiting,
		"claim/expired_claim_is_taken_over":          claimTakenOver,
		"claim/own_expired_claim_is_a_new_run":       claimAfterOwnExpiry,
		"claim/ttl_bounds":                           claimBounds,
		"claim/check_order":                          claimOrder,
		"claim/awaiting_review_is_not_for_claiming":  claimAwaitingReview,
		"claim/resume_of_a_run_of_the_assignment":    claimResume,
		"claim/wakes_the_clock":                      claimWakes,
		"claim/questions_close_with_the_former_run":  claimClosesQuestions,
		"claim/team_ttl_is_the_default":              claimTeamTTL,
		"claim/human_and_integrator_may_claim_a_run": claimRoles,
		"claim/session_fields_are_checked":           claimFieldsChecked,
	}
}

func claimFields(e *env) {
	e.create("one")
	c, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA), ledger.ClaimRequest{
		AssignmentID: "one", Base: new(1), TTL: time.Hour, SessionKind: models.SessionKindCodexThread,
		SessionRef: "019f2093-3b06-7310-bc1f-08ccc3e4f917", InteractiveURL: "codex://threads/019f2093-3b06-7310-bc1f-08ccc3e4f917",
		WorktreePath: "/repo/example", Branch: "dev", BaseCommit: "a63a2bd3dbb3787b52b3cc644449d76979191f63",
	})
	e.ok(err)
	same(e, "assignment", c.Assignment.Status, models.AssignmentClaimed)
	same(e, "revision", c.Assignment.Revision, 2)
	same(e, "holder", c.Assignment.ClaimedBy, agentA.ActorID)
	r := e.run(c.Run.ID)
	same(e, "run", r.Status, models.RunClaimed)
	same(e, "attempt", r.Attempt, 1)
	same(e, "session", r.SessionRef, "019f2093-3b06-7310-bc1f-08ccc3e4f917")
	same(e, "link", r.InteractiveURL, "codex://threads/019f2093-3b06-7310-bc1f-08ccc3e4f917")
	same(e, "branch", r.Branch, "dev")
	same(e, "base commit", r.BaseCommit, "a63a2bd3dbb3787b52b3cc644449d76979191f63")
	same(e, "worktree", r.WorktreePath, "/repo/example")
	same(e, "expiry", r.LeaseExpiresAt.Equal(start.Add(time.Hour)), true)
	same(e, "task is live", r.Task != nil && r.Task.Status == "live" && r.Task.ExpiresAt.Equal(r.LeaseExpiresAt), true)
	same(e, "event", r.Events[0].Type, models.EventRunClaimed)
}

func claimConflict(e *env) {
	e.create("one")
	held := e.claim(agentA, "one")
	refusal := e.unchanged("one", models.CodeLeaseConflict, func() error { _, err := e.tryClaim(agentB, "one"); return err })
	same(e, "holder", refusal.Details["holder"], any(agentA.ActorID))
	same(e, "expiry", refusal.Details["expires_at"], any(held.Run.LeaseExpiresAt.Format(time.RFC3339Nano)))
}

func claimRenewed(e *env) {
	e.create("one")
	held := e.claim(agentA, "one")
	_, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), held.Run.ID, "working")
	e.ok(err)
	c, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA), ledger.ClaimRequest{AssignmentID: "one", TTL: 2 * time.Hour, Branch: "ignored"})
	e.ok(err)
	same(e, "run", c.Run.ID, held.Run.ID)
	same(e, "revision", c.Assignment.Revision, 3)
	same(e, "status is kept", c.Assignment.Status, models.AssignmentRunning)
	same(e, "branch is kept", c.Run.Branch, "")
	same(e, "expiry of the run", c.Run.LeaseExpiresAt.Equal(start.Add(2*time.Hour)), true)
	same(e, "expiry of the claim", c.Assignment.LeaseExpiresAt.Equal(start.Add(2*time.Hour)), true)
	same(e, "expiry of the task", e.run(held.Run.ID).Task.ExpiresAt.Equal(start.Add(2*time.Hour)), true)
	runs, err := e.l.Runs(e.ctx, ledger.RunFilter{AssignmentID: "one"})
	e.ok(err)
	same(e, "runs", len(runs), 1)
}

func renewalKeepsWaiting(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, "which?", "", nil)
	e.ok(err)
	c = e.claim(agentA, "one")
	same(e, "assignment", c.Assignment.Status, models.AssignmentAwaitingHuman)
	same(e, "run", c.Run.Status, models.RunAwaitingHuman)
}

func claimTakenOver(e *env) {
	e.create("one")
	old := e.claim(agentA, "one")
	e.clock.advance(time.Hour)
	c := e.claim(agentB, "one")
	same(e, "attempt", c.Run.Attempt, 2)
	same(e, "holder", c.Assignment.ClaimedBy, agentB.ActorID)
	former := e.run(old.Run.ID)
	same(e, "former run", former.Status, models.RunSuperseded)
	same(e, "former end", former.EndedAt != nil && former.EndedAt.Equal(e.clock.Now()), true)
	same(e, "former task", former.Task.Status, "completed")
	e.unchanged("one", models.CodeInvalidArgument, func() error {
		_, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), old.Run.ID, "still here")
		return err
	})
	e.unchanged("one", models.CodeForbidden, func() error { _, err := e.appendEvent(agentA, "one", "progress"); return err })
}

func claimAfterOwnExpiry(e *env) {
	e.create("one")
	old := e.claim(agentA, "one")
	e.clock.advance(time.Hour - time.Millisecond)
	same(e, "just before expiry", e.claim(agentA, "one").Run.ID, old.Run.ID)
	e.clock.advance(time.Hour)
	c := e.claim(agentA, "one")
	same(e, "a new run", c.Run.ID != old.Run.ID, true)
	same(e, "attempt", c.Run.Attempt, 2)
}

func claimBounds(e *env) {
	e.create("one")
	for _, ttl := range []time.Duration{-time.Second, time.Millisecond, 24*time.Hour + 1} {
		e.unchanged("one", models.CodeInvalidArgument, func() error {
			_, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA), ledger.ClaimRequest{AssignmentID: "one", TTL: ttl})
			return err
		})
	}
	for _, ttl := range []time.Duration{time.Second, 24 * time.Hour} {
		c, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA), ledger.ClaimRequest{AssignmentID: "one", TTL: ttl})
		e.ok(err)
		same(e, "expiry", c.Run.LeaseExpiresAt.Equal(e.clock.Now().Add(ttl)), true)
	}
}

func claimOrder(e *env) {
	try := func(by models.Principal, id string, base *int) error {
		_, err := e.l.ClaimAssignment(e.ctx, ledger.As(by), ledger.ClaimRequest{AssignmentID: id, Base: base})
		return err
	}
	node := models.Principal{ActorID: "node-1", Role: models.RoleNode}
	e.refused(models.CodeForbidden, try(node, "nowhere", nil))
	e.refused(models.CodeNotFound, try(agentA, "nowhere", new(1)))
	e.create("one")
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, "no")
	e.ok(err)
	e.refused(models.CodeStaleRevision, try(agentA, "one", new(1)))
	e.refused(models.CodeInvalidArgument, try(agentA, "one", new(2)))
	e.create("two")
	e.claim(agentA, "two")
	e.refused(models.CodeStaleRevision, try(agentB, "two", new(1)))
	e.refused(models.CodeLeaseConflict, try(agentB, "two", new(2)))
}

func claimAwaitingReview(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	e.handOff(agentA, "one")
	for _, by := range []models.Principal{agentA, agentB, ann} {
		e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.tryClaim(by, "one"); return err })
		e.clock.advance(2 * time.Hour)
	}
	same(e, "pending", len(e.pending()), 1)
}

func claimResume(e *env) {
	e.create("one")
	e.create("two")
	one, two := e.claim(agentA, "one"), e.claim(agentA, "two")
	e.clock.advance(2 * time.Hour)
	try := func(of string) (ledger.Claimed, error) {
		return e.l.ClaimAssignment(e.ctx, ledger.As(agentB), ledger.ClaimRequest{AssignmentID: "one", ResumeOfRunID: of})
	}
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := try(two.Run.ID); return err })
	e.unchanged("one", models.CodeNotFound, func() error { _, err := try("run_none"); return err })
	c, err := try(one.Run.ID)
	e.ok(err)
	same(e, "resume of", c.Run.ResumeOfRunID, one.Run.ID)
}

func claimWakes(e *env) {
	e.create("one")
	e.woken()
	e.claim(agentA, "one")
	same(e, "clock woken", e.woken()[ledger.ClockWorkflow()], true)
}

func claimClosesQuestions(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	ev, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, "which?", "", nil)
	e.ok(err)
	e.clock.advance(time.Hour)
	same(e, "status", e.claim(agentB, "one").Assignment.Status, models.AssignmentClaimed)
	_, err = e.l.RespondIntervention(e.ctx, ledger.As(ann), ev.ID, "this")
	e.refused(models.CodeInvalidArgument, err)
}

func claimTeamTTL(e *env) {
	_, _, err := e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{RunLeaseTTLSeconds: 60})
	e.ok(err)
	e.create("one")
	same(e, "expiry", e.claim(agentA, "one").Run.LeaseExpiresAt.Equal(start.Add(time.Minute)), true)
}

func claimRoles(e *env) {
	for id, by := range map[string]models.Principal{"one": ann, "two": boss} {
		e.create(id)
		same(e, "holder", e.claim(by, id).Assignment.ClaimedBy, by.ActorID)
	}
}

// Session fields stand in lists and behind links.
func claimFieldsChecked(e *env) {
	e.create("one")
	for field, change := range map[string]func(*ledger.ClaimRequest){
		"interactive_url": func(r *ledger.ClaimRequest) { r.InteractiveURL = "javascript:alert(1)" },
		"session_ref":     func(r *ledger.ClaimRequest) { r.SessionRef = "a\x1b[2Jb" },
		"branch":          func(r *ledger.ClaimRequest) { r.Branch = strings.Repeat("b", ledger.MaxTitle+1) },
		"worktree_path":   func(r *ledger.ClaimRequest) { r.WorktreePath = "/" + strings.Repeat("p", ledger.MaxPlace) },
	} {
		request := ledger.ClaimRequest{AssignmentID: "one"}
		change(&request)
		refusal := e.unchanged("one", models.CodeInvalidArgument, func() error {
			_, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA), request)
			return err
		})
		same(e, "field", refusal.Details["field"], any(field))
	}
}
