package ledger_test

import (
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func TestATurnWithoutHandoffGetsOneReminderThenAPerson(t *testing.T) {
	onBoth(t, aTurnWithoutHandoffGetsOneReminderThenAPerson)
}

func aTurnWithoutHandoffGetsOneReminderThenAPerson(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	resume := c.only(models.CommandResume)
	if resume.Cause != "tu-1" || resume.Reason != "no_handoff" {
		t.Fatalf("resume %+v", resume)
	}
	c.resumed(resume, "th-1", "tu-2")
	c.pass(time.Second)
	c.endTurn("th-1", "tu-2", models.TurnCompleted)
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("a second reminder: %v", got)
	}
	c.wantStatus("a", models.AssignmentAwaitingHuman)
	asked, err := c.l.Interventions(t.Context(), ledger.InterventionFilter{RunID: run.ID, Status: "open"})
	c.ok(err)
	if len(asked) != 1 || asked[0].Kind != "no_handoff" {
		t.Fatalf("questions %+v", asked)
	}
	c.pass(time.Minute)
	_, err = c.l.RespondIntervention(t.Context(), ledger.As(person), asked[0].ID, "finish it")
	c.ok(err)
	open, err := c.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	c.ok(err)
	if len(open) != 1 || open[0].Reason != "answered" {
		t.Fatalf("after the answer: %+v", open)
	}
	c.resumed(open[0], "th-1", "tu-3")
	c.pass(time.Second)
	c.endTurn("th-1", "tu-3", models.TurnCompleted)
	if got := c.only(models.CommandResume); got.Reason != "no_handoff" {
		t.Fatalf("the answer did not restore the reminder: %+v", got)
	}
}

func TestLostTurnsAreResumedThreeTimesThenAPersonIsAsked(t *testing.T) {
	onBoth(t, lostTurnsAreResumedThreeTimesThenAPersonIsAsked)
}

func lostTurnsAreResumedThreeTimesThenAPersonIsAsked(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-0")
	for i, turn := range []string{"tu-1", "tu-2", "tu-3"} {
		c.ok(c.l.LoseTurn(t.Context(), "th-1", "tu-"+string(rune('0'+i))))
		c.resumed(c.only(models.CommandResume), "th-1", turn)
	}
	c.ok(c.l.LoseTurn(t.Context(), "th-1", "tu-3"))
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("a fourth resume: %v", got)
	}
	c.wantStatus("a", models.AssignmentAwaitingHuman)
}

func TestAnAttemptThatLostItsCommandChangesNothing(t *testing.T) {
	onBoth(t, anAttemptThatLostItsCommandChangesNothing)
}

func anAttemptThatLostItsCommandChangesNothing(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	cmd := c.only(models.CommandStart)
	_, _, err := c.l.BeginCommand(t.Context(), cmd.ID, "first")
	c.ok(err)
	w, _, err := c.l.BeginCommand(t.Context(), cmd.ID, "second")
	c.ok(err)
	if !w.Again {
		t.Fatal("the second attempt does not know of the first")
	}
	kept, err := c.l.RecordThread(t.Context(), cmd.ID, "first", "th-late")
	c.ok(err)
	if kept {
		t.Fatal("a late attempt recorded its thread")
	}
}

func TestAReviewThatNobodyTakesReachesAPerson(t *testing.T) {
	onBoth(t, aReviewThatNobodyTakesReachesAPerson)
}

func aReviewThatNobodyTakesReachesAPerson(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	c.handOff(run)
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	for i := range 3 {
		nudge := c.only(models.CommandNudge)
		if nudge.Attempt != i+1 || nudge.PromptKind != models.PromptReview {
			t.Fatalf("nudge %d: %+v", i, nudge)
		}
		turn := "nu-" + nudge.ID
		c.nudged(nudge, "th-int", turn)
		c.endTurn("th-int", turn, models.TurnCompleted)
		if early := c.plan(); len(early) != 0 {
			t.Fatalf("a nudge before its interval: %v", early)
		}
		c.pass(time.Minute)
		c.ok(c.l.RecordProbe(t.Context(), "n", c.probe()))
	}
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("a fourth nudge before a person was asked: %v", got)
	}
	asked, err := c.l.Interventions(t.Context(), ledger.InterventionFilter{TeamID: "t", Status: "open"})
	c.ok(err)
	if len(asked) != 1 || asked[0].Kind != "review_ignored" {
		t.Fatalf("questions %+v", asked)
	}
	c.wantStatus("a", models.AssignmentAwaitingReview)
	reviews, err := c.l.PendingReviews(t.Context(), ledger.ReviewFilter{Escalated: true})
	c.ok(err)
	if len(reviews) != 1 || reviews[0].Nudges != 3 || reviews[0].LastNudgeAt == nil || reviews[0].EscalationID != asked[0].ID || reviews[0].PendingSeconds < 180 {
		t.Fatalf("the pending review tells nothing of nudges and escalation: %+v", reviews)
	}
	board, err := c.l.AttentionBoard(t.Context(), "t", models.TargetHuman, false)
	c.ok(err)
	if board.Counts.Red != 1 || board.Items[0].EventID != asked[0].ID {
		t.Fatalf("an escalation is no red item: %+v", board)
	}
	last := c.only(models.CommandNudge)
	if last.PromptKind != models.PromptEscalation {
		t.Fatalf("the last nudge is %s", last.PromptKind)
	}
	c.nudged(last, "th-int", "nu-last")
	c.endTurn("th-int", "nu-last", models.TurnCompleted)
	c.pass(time.Hour)
	c.startNode()
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("nudged on: %v", got)
	}
}

func TestFailedStartsBackOffAndReachAPerson(t *testing.T) {
	onBoth(t, failedStartsBackOffAndReachAPerson)
}

func failedStartsBackOffAndReachAPerson(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	for i := range models.MaxStartAttempts {
		cmd := c.only(models.CommandStart)
		if cmd.Attempt != i+1 {
			t.Fatalf("attempt %d, want %d", cmd.Attempt, i+1)
		}
		_, _, err := c.l.BeginCommand(t.Context(), cmd.ID, "x")
		c.ok(err)
		c.ok(c.l.FailCommand(t.Context(), cmd.ID, "x", "no such model"))
		if got := c.plan(); len(got) != 0 && i < models.MaxStartAttempts-1 {
			t.Fatalf("no back-off after failure %d: %v", i+1, got)
		}
		c.pass(models.BackOff(i + 1))
		c.ok(c.l.RecordProbe(t.Context(), "n", c.probe()))
	}
	c.plan()
	asked, err := c.l.Interventions(t.Context(), ledger.InterventionFilter{TeamID: "t", Status: "open"})
	c.ok(err)
	if len(asked) != 1 || asked[0].Kind != "start_failed" {
		t.Fatalf("questions %+v", asked)
	}
	preview, err := c.l.PreviewTeam(t.Context(), "t")
	c.ok(err)
	if !preview.Empty() {
		t.Fatalf("the poll would wake for ever: %+v", preview)
	}
}

func TestExpiredClaimsAreNoticedOnce(t *testing.T) { onBoth(t, expiredClaimsAreNoticedOnce) }

func expiredClaimsAreNoticedOnce(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	_, err := c.l.ConfigureWorkspace(t.Context(), ledger.As(person), "w", ledger.WorkspaceChange{
		Settings: map[string]string{"stall_timeout": "0", "turn_silence_timeout": "0", "turn_total_timeout": "0"},
	})
	c.ok(err)
	next, err := c.l.NextDeadline(t.Context())
	c.ok(err)
	if next == nil || !next.Equal(run.LeaseExpiresAt) {
		t.Fatalf("deadline %v, want %v", next, run.LeaseExpiresAt)
	}
	c.pass(2 * time.Hour)
	first, err := c.l.Reconcile(t.Context())
	c.ok(err)
	again, err := c.l.Reconcile(t.Context())
	c.ok(err)
	if first.Stale != 1 || first.Vanished != 1 || again.Stale+again.Vanished != 0 {
		t.Fatalf("first %+v, again %+v", first, again)
	}
	c.startProbeOnly()
	c.plan()
	c.wantStatus("a", models.AssignmentAwaitingHuman)
}
