package ledger_test

import (
	"sync"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// crew is a ledger with one team whose node has probed the fake, and a clock that
// the test moves.
type crew struct {
	*testing.T
	l   *ledger.Ledger
	mu  sync.Mutex
	now time.Time
}

var person = models.Principal{ActorID: "human:ann", Role: models.RoleHuman}

func newCrew(t *testing.T, at place, settings func(*models.LoopSettings)) *crew {
	t.Helper()
	c := &crew{T: t, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	o := at(t)
	o.Clock = c.clock
	c.l = open(t, o)
	_, err := c.l.RegisterWorkspace(t.Context(), ledger.As(person), ledger.NewWorkspace{ID: "w", RepoRoot: "/srv/w", NodeID: "n"})
	c.ok(err)
	team, err := c.l.CreateTeam(t.Context(), ledger.As(person), ledger.NewTeam{ID: "t", WorkspaceID: "w"})
	c.ok(err)
	s := team.Loop
	s.Enabled, s.AdapterKind, s.MaxConcurrentRuns = true, models.AdapterKindFake, 2
	if settings != nil {
		settings(&s)
	}
	_, _, err = c.l.ConfigureLoop(t.Context(), ledger.As(person), "t", s)
	c.ok(err)
	c.startNode()
	return c
}

func (c *crew) clock() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *crew) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *crew) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *crew) startNode() {
	c.Helper()
	_, err := c.l.StartNode(c.Context(), "n", "host", 0)
	c.ok(err)
	caps := map[string]bool{}
	for _, name := range models.RequiredCapabilities() {
		caps[name] = true
	}
	c.ok(c.l.RecordProbe(c.Context(), "n", models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusActive, Capabilities: caps}))
}

func (c *crew) create(id string, change ...func(*models.NewAssignment)) {
	c.Helper()
	a := models.NewAssignment{ID: id, WorkspaceID: "w", TeamID: "t", Title: "Do " + id, AllowedPaths: []string{id}}
	for _, f := range change {
		f(&a)
	}
	_, err := c.l.CreateAssignment(c.Context(), ledger.As(person), a, nil)
	c.ok(err)
}

// plan runs one pass and returns the commands it created.
func (c *crew) plan() []models.Command {
	c.Helper()
	r, err := c.l.PlanTeam(c.Context(), "t")
	c.ok(err)
	return r.Commands
}

// only runs one pass that has to create exactly one command of a type.
func (c *crew) only(t models.CommandType) models.Command {
	c.Helper()
	got := c.plan()
	if len(got) != 1 || got[0].Type != t {
		c.Fatalf("the pass made %v, want one %s", got, t)
	}
	return got[0]
}

// claimed carries a start command out as a node would.
func (c *crew) claimed(cmd models.Command, thread string) models.Run {
	c.Helper()
	_, open, err := c.l.BeginCommand(c.Context(), cmd.ID, "attempt")
	c.ok(err)
	kept, err := c.l.RecordThread(c.Context(), cmd.ID, "attempt", thread)
	c.ok(err)
	if !open || !kept {
		c.Fatalf("command open %t, thread kept %t", open, kept)
	}
	c.ok(c.l.ClaimRun(c.Context(), cmd.ID, "attempt", ledger.Claim{Branch: "main", Prompt: "do it"}))
	return c.run(cmd.RunID)
}

func (c *crew) run(id string) models.Run {
	c.Helper()
	r, err := c.l.Run(c.Context(), id)
	c.ok(err)
	return r
}

func (c *crew) assignment(id string) models.Assignment {
	c.Helper()
	a, err := c.l.Assignment(c.Context(), id)
	c.ok(err)
	return a
}

// delivered sends the thread's oldest message in a turn.
func (c *crew) delivered(thread, turn string) *ledger.Message {
	c.Helper()
	m, err := c.l.BeginMessage(c.Context(), thread, "sender")
	c.ok(err)
	if m == nil {
		c.Fatalf("nothing to send into %s", thread)
	}
	c.ok(c.l.Delivered(c.Context(), m.Item.ID, "sender", turn, false))
	return m
}

func (c *crew) endTurn(thread, turn string, status models.TurnStatus) {
	c.Helper()
	c.ok(c.l.EndTurn(c.Context(), ledger.TurnReport{ThreadID: thread, TurnID: turn, Status: status, Tokens: models.TokenUsage{Input: 3, Output: 4, Total: 7}}))
}

// worker is the principal that the run's binding proves.
func (c *crew) worker(r models.Run) models.Principal {
	c.Helper()
	spec, err := c.l.ThreadSpec(c.Context(), r.BindingID)
	c.ok(err)
	_, p, err := c.l.Bound(c.Context(), spec.Token)
	c.ok(err)
	return p
}

func (c *crew) handOff(r models.Run) models.Event {
	c.Helper()
	e, err := c.l.SubmitHandoff(c.Context(), ledger.As(c.worker(r)), ledger.HandoffRequest{AssignmentID: r.AssignmentID, Payload: map[string]any{"summary": "done"}})
	c.ok(err)
	return e
}

// nudged carries a nudge command out and delivers it.
func (c *crew) nudged(cmd models.Command, thread, turn string) {
	c.Helper()
	_, _, err := c.l.BeginCommand(c.Context(), cmd.ID, "nudger")
	c.ok(err)
	_, err = c.l.RecordThread(c.Context(), cmd.ID, "nudger", thread)
	c.ok(err)
	c.ok(c.l.QueueMessage(c.Context(), cmd.ID, "nudger", "please decide"))
	c.delivered(thread, turn)
}

func (c *crew) wantStatus(id string, want models.AssignmentStatus) {
	c.Helper()
	if got := c.assignment(id).Status; got != want {
		c.Fatalf("assignment %s is %s, want %s", id, got, want)
	}
}

func TestAnAssignmentGoesFromReadyToReviewed(t *testing.T) {
	onBoth(t, anAssignmentGoesFromReadyToReviewed)
}

func anAssignmentGoesFromReadyToReviewed(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	start := c.only(models.CommandStart)
	if again := c.plan(); len(again) != 0 {
		t.Fatalf("the same pass twice made %v", again)
	}
	run := c.claimed(start, "th-1")
	a := c.assignment("a")
	if a.Status != models.AssignmentClaimed || a.Revision != 2 || a.ClaimedBy != "codex-worker-a" || run.SessionRef != "th-1" || run.SessionKind != models.SessionKindCodexThread {
		t.Fatalf("claim: %+v %+v", a, run)
	}
	m := c.delivered("th-1", "tu-1")
	if m.Text != "do it" || m.Item.ID != models.MessageID(start.ID) {
		t.Fatalf("message %+v", m)
	}
	event := c.handOff(run)
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("a nudge before the handoff's turn ended: %v", got)
	}
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	if r := c.run(run.ID); r.EndedAt == nil || r.Tokens.Total != 7 {
		t.Fatalf("the run did not end with its turn: %+v", r)
	}
	nudge := c.only(models.CommandNudge)
	if len(nudge.EventIDs) != 1 || nudge.EventIDs[0] != event.ID {
		t.Fatalf("nudge %+v", nudge)
	}
	c.nudged(nudge, "th-int", "tu-9")
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("a second nudge while the first is read: %v", got)
	}
	_, err := c.l.Decide(t.Context(), ledger.As(person), ledger.DecideRequest{EventID: event.ID, Decision: models.DecisionAccept})
	c.ok(err)
	c.wantStatus("a", models.AssignmentAccepted)
	step, err := c.l.NextAssignmentStep(t.Context(), "a")
	if err != nil || !step.Dirty {
		t.Fatalf("step %+v, %v", step, err)
	}
	c.ok(c.l.RecordDirt(t.Context(), "a", []string{"a/file"}, 0))
	if step, err = c.l.NextAssignmentStep(t.Context(), "a"); err != nil || !step.Done {
		t.Fatalf("step %+v, %v", step, err)
	}
	detail, err := c.l.RunDetail(t.Context(), run.ID)
	c.ok(err)
	cursor, _ := detail.Metadata["communication_cursor"].(map[string]any)
	for key, want := range map[string]any{"last_command_id": start.ID, "last_client_user_message_id": m.Item.ID, "last_seen_turn_id": "tu-1", "last_completed_turn_id": "tu-1"} {
		if cursor[key] != want {
			t.Errorf("cursor %s is %v, want %v", key, cursor[key], want)
		}
	}
}

func TestSharedPathsWaitFromStartToEnd(t *testing.T) { onBoth(t, sharedPathsWaitFromStartToEnd) }

func sharedPathsWaitFromStartToEnd(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a", func(a *models.NewAssignment) { a.AllowedPaths = []string{"src/**"}; a.Priority = 2 })
	c.create("b", func(a *models.NewAssignment) { a.AllowedPaths = []string{"src/main.go"} })
	start := c.only(models.CommandStart)
	if start.AssignmentID != "a" {
		t.Fatalf("started %s first", start.AssignmentID)
	}
	if reason := c.assignment("b").DeferredReason; reason != "deferred: path:src/main.go held by a until it ends" {
		t.Fatalf("reason %q", reason)
	}
	run := c.claimed(start, "th-1")
	c.delivered("th-1", "tu-1")
	event := c.handOff(run)
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	if got := c.only(models.CommandNudge); got.AssignmentID != "" {
		t.Fatal("the held path was given away before the end")
	}
	_, err := c.l.Decide(t.Context(), ledger.As(person), ledger.DecideRequest{EventID: event.ID, Decision: models.DecisionAccept})
	c.ok(err)
	if got := c.only(models.CommandStart); got.AssignmentID != "b" {
		t.Fatalf("after the end %s was started", got.AssignmentID)
	}
}

func TestCapacityCountsRunsWithoutAnEnd(t *testing.T) { onBoth(t, capacityCountsRunsWithoutAnEnd) }

func capacityCountsRunsWithoutAnEnd(t *testing.T, at place) {
	c := newCrew(t, at, func(s *models.LoopSettings) { s.MaxConcurrentRuns = 1 })
	c.create("a")
	c.create("b")
	c.claimed(c.only(models.CommandStart), "th-1")
	r, err := c.l.PlanTeam(t.Context(), "t")
	c.ok(err)
	if len(r.Commands) != 0 || len(r.LeftOut) != 1 || r.LeftOut[0].Code != "capacity" {
		t.Fatalf("pass %+v", r)
	}
}

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

// resumed carries a resume command out and delivers it in a turn.
func (c *crew) resumed(cmd models.Command, thread, turn string) {
	c.Helper()
	_, open, err := c.l.BeginCommand(c.Context(), cmd.ID, "resumer")
	c.ok(err)
	if !open {
		c.Fatalf("command %s is closed", cmd.ID)
	}
	c.pass(time.Second)
	c.ok(c.l.QueueMessage(c.Context(), cmd.ID, "resumer", "go on"))
	c.delivered(thread, turn)
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

func TestCancelInterruptsUntilTheTurnEnded(t *testing.T) {
	onBoth(t, cancelInterruptsUntilTheTurnEnded)
}

func cancelInterruptsUntilTheTurnEnded(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	_, err := c.l.CancelAssignment(t.Context(), ledger.As(person), "a", nil, "not needed")
	c.ok(err)
	open, err := c.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	c.ok(err)
	if len(open) != 1 || open[0].Type != models.CommandInterrupt {
		t.Fatalf("commands %+v", open)
	}
	c.create("b", func(a *models.NewAssignment) { a.AllowedPaths = []string{"a"} })
	if got := c.plan(); len(got) != 0 {
		t.Fatalf("the paths of a running turn were given away: %v", got)
	}
	c.endTurn("th-1", "tu-1", models.TurnInterrupted)
	c.ok(c.l.EndRun(t.Context(), run.ID, "interrupted"))
	c.ok(c.finish(open[0].ID))
	if got := c.only(models.CommandStart); got.AssignmentID != "b" {
		t.Fatalf("started %s", got.AssignmentID)
	}
}

func (c *crew) finish(id string) error {
	if _, _, err := c.l.BeginCommand(c.Context(), id, "x"); err != nil {
		return err
	}
	return c.l.FinishCommand(c.Context(), id, "x", "done")
}

func TestACancelledStartIsNotClaimed(t *testing.T) { onBoth(t, aCancelledStartIsNotClaimed) }

func aCancelledStartIsNotClaimed(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	cmd := c.only(models.CommandStart)
	_, _, err := c.l.BeginCommand(t.Context(), cmd.ID, "attempt")
	c.ok(err)
	_, err = c.l.CancelAssignment(t.Context(), ledger.As(person), "a", nil, "changed my mind")
	c.ok(err)
	_, err = c.l.RecordThread(t.Context(), cmd.ID, "attempt", "th-1")
	c.ok(err)
	if err := c.l.ClaimRun(t.Context(), cmd.ID, "attempt", ledger.Claim{Prompt: "x"}); err == nil {
		t.Fatal("a cancelled assignment was claimed")
	}
	c.ok(c.l.FailCommand(t.Context(), cmd.ID, "attempt", "cancelled"))
	if r := c.run(cmd.RunID); r.EndedAt == nil {
		t.Fatal("the run of a cancelled start has no end")
	}
	c.wantStatus("a", models.AssignmentCancelled)
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

func (c *crew) probe() models.Probe {
	c.Helper()
	n, err := c.l.Node(c.Context(), "n")
	c.ok(err)
	return n.Probes[models.AdapterKindFake]
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

// startProbeOnly refreshes the probe without a new incarnation, which would renew
// the claims.
func (c *crew) startProbeOnly() {
	c.Helper()
	c.ok(c.l.RecordProbe(c.Context(), "n", c.probe()))
}

func TestWakeupsAreRepeatedUntilTheReadIsRecorded(t *testing.T) {
	onBoth(t, wakeupsAreRepeatedUntilTheReadIsRecorded)
}

func wakeupsAreRepeatedUntilTheReadIsRecorded(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	c.only(models.CommandStart)
	wf := ledger.AssignmentWorkflow("a")
	if !c.due(wf) {
		t.Fatal("the start woke nothing")
	}
	g, err := c.l.Acknowledge(t.Context(), wf)
	c.ok(err)
	if c.due(wf) {
		t.Fatal("an acknowledged wake-up is still due")
	}
	ok, err := c.l.Rest(t.Context(), wf, g)
	c.ok(err)
	if !ok {
		t.Fatal("rest refused although nothing was raised")
	}
	_, err = c.l.CancelAssignment(t.Context(), ledger.As(person), "a", nil, "stop")
	c.ok(err)
	if ok, err = c.l.Rest(t.Context(), wf, g); err != nil || ok {
		t.Fatalf("rest was granted over a newer wake-up: %t, %v", ok, err)
	}
}

func (c *crew) due(workflow string) bool {
	c.Helper()
	all, err := c.l.DueWakeups(c.Context(), 100)
	c.ok(err)
	for _, d := range all {
		if d.WorkflowID == workflow {
			return true
		}
	}
	return false
}

func TestManagedActorsCarryTheLastProbe(t *testing.T) { onBoth(t, managedActorsCarryTheLastProbe) }

func managedActorsCarryTheLastProbe(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	c.handOff(run)
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	c.only(models.CommandNudge)
	for id, role := range map[string]models.Role{"codex-worker-a": models.RoleAgent, "codex-integrator-t": models.RoleIntegrator, "n": models.RoleNode} {
		actor, err := c.l.Actor(t.Context(), id)
		c.ok(err)
		if actor.Role != role || actor.Capabilities["adapter_kind"] != models.AdapterKindFake || actor.Capabilities["can_start_thread"] != true {
			t.Errorf("actor %+v", actor)
		}
	}
}
