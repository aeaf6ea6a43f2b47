package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/activities"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// byHand is a kind of workflow that somebody terminates and cancels in the Web UI.
type byHand struct {
	kind  string
	stage func(s *scene) string // brings work under way and returns the workflow's id
	after func(s *scene)        // what a user notices of it, to the end of the work
}

func kindsByHand() []byHand {
	return []byHand{
		{"loop", worksUnderALoop, loopIsOff},
		{"nudge", reviewIsIgnored, reviewIsDecided},
		{"delivery", wordsWait, wordsArriveOnce},
		{"clock", stallIsNear, stallIsNoticed},
	}
}

// TestWhatIsCancelledOrTerminatedByHandLosesNothing ends a workflow of each kind twice
// while work is under way: Terminate is healed, and Cancel means what the ledger says,
// the loop's end for a loop and nothing elsewhere. An assignment's own workflow has its
// tests beside this one.
func TestWhatIsCancelledOrTerminatedByHandLosesNothing(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	for _, k := range kindsByHand() {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			s := &scene{home: newHome(t), e: e, front: workflows.Front{Client: dial(t, e)}}
			s.site()
			stop := s.crew(e, "--review-nudge-interval", "1h")
			s.l = s.ledger(s.state())
			s.front.Prefix = s.l.Prefix()
			s.id = k.stage(s)
			s.endByHand()
			k.after(s)
			s.oneThread(s.l, theWork, 1)
			s.toldOnce(s.l)
			stop()
		})
	}
}

const theWork = "work" // the assignment that is under way

// scene is a stack whose worker runs a command until a gate opens.
type scene struct {
	*home
	l     *ledger.Ledger
	e     engine
	front workflows.Front
	id    string // of the workflow
}

// endByHand terminates the workflow, then cancels what took its place, and each time
// waits until another run of it lives.
func (s *scene) endByHand() {
	s.t.Helper()
	s.allRead() // so that nothing but the look for what is missing brings it back
	terminate := func(ctx context.Context, id, run string) error {
		return s.front.Client.TerminateWorkflow(ctx, id, run, "by hand")
	}
	for n, end := range []func(ctx context.Context, id, run string) error{terminate, s.front.Client.CancelWorkflow} {
		before, err := s.front.Describe(s.t.Context(), s.id)
		if err == nil {
			err = end(s.t.Context(), before.WorkflowID, before.RunID)
		}
		if err != nil || !before.Running() {
			s.t.Fatalf("%s is %s: %v", s.id, before.Status, err)
		}
		within(s.t, 2*time.Minute, s.id+" lives after it was "+[]string{"terminated", "cancelled"}[n], func() bool {
			now, err := s.front.Describe(s.t.Context(), s.id)
			return err == nil && now.Running() && now.RunID != before.RunID
		})
	}
}

// gate is the file for which a command waits.
func (s *scene) gate() string { return filepath.Join(s.dir, "gate") }

// holds starts the work, whose turn runs a command until the gate opens.
func (s *scene) holds() models.Run {
	s.t.Helper()
	line := "until test -e " + s.gate()
	s.assign(theWork, "command:"+line+"; do sleep 0.1; done")
	within(s.t, time.Minute, "the command of its turn runs", func() bool { return strings.Contains(fmt.Sprint(s.processes()), line) })
	return s.hangs(s.l, theWork)
}

// opens lets the command end, and waits for the acceptance of its work, to which one
// nudge led.
func (s *scene) opens() {
	s.t.Helper()
	s.write("gate", "", 0o600)
	s.becomes(theWork, models.AssignmentAccepted)
	s.wantTurns(s.l, theWork, models.TurnCompleted)
	s.oneNudge()
}

func (s *scene) oneNudge() {
	s.t.Helper()
	if n := s.nudges(s.l, theWork); n != 1 {
		s.t.Errorf("%d nudges, want 1", n)
	}
}

func worksUnderALoop(s *scene) string {
	s.holds()
	return ledger.LoopWorkflow(theSite, theTeam)
}

// loopIsOff finishes what is under way and starts nothing more until a person turns
// the loop on again.
func loopIsOff(s *scene) {
	team, err := s.l.Team(s.t.Context(), theTeam)
	if err != nil || team.Loop.Enabled || team.Loop.SetBy != activities.WebUI || team.Loop.AdapterKind != models.AdapterKindFake {
		s.t.Errorf("the loop is %+v, %v", team.Loop, err)
	}
	s.assign("later", "")
	s.opens()
	var doc struct{ Status ledger.Status }
	s.ok(&doc, "status")
	if still := doc.Status.Still; len(still) != 1 || still[0].AssignmentID != "later" || still[0].Code != models.StillLoopOff || still[0].Next == "" {
		s.t.Errorf("not moving: %+v", still)
	}
	again := s.start("loop", "--adapter", "fake", "--address", s.e.Address)
	s.becomes("later", models.AssignmentAccepted)
	s.oneThread(s.l, "later", 1)
	again.interrupt()
}

// reviewIsIgnored leaves a nudge that waits for a decision.
func reviewIsIgnored(s *scene) string {
	s.assign(theWork, "ignore")
	s.seen(s.l, models.EventTurnEnded, 2) // the worker's and the integrator's
	all, err := s.l.Commands(s.t.Context(), ledger.CommandFilter{TeamID: theTeam})
	at := slices.IndexFunc(all, func(c models.Command) bool { return c.Type == models.CommandNudge })
	if err != nil || at < 0 {
		s.t.Fatalf("no nudge in %+v, %v", all, err)
	}
	return ledger.NudgeWorkflow(all[at].ID)
}

func reviewIsDecided(s *scene) {
	s.oneNudge()
	s.ok(&struct{}{}, "review", "accept", "--note", "good", s.shown(theWork).HandoffEventID)
	within(s.t, time.Minute, "the nudge ends with the decision", func() bool {
		d, err := s.front.Describe(s.t.Context(), s.id)
		return err == nil && !d.Running()
	})
	s.oneNudge()
}

// wordsWait puts a person's words into a turn that does not read them before its
// command ends.
func wordsWait(s *scene) string {
	run := s.holds()
	s.ok(&struct{}{}, "run", "steer", "--message", "take the small one", run.ID)
	within(s.t, time.Minute, "its words are on their way", func() bool {
		d, err := s.l.RunDetail(s.t.Context(), run.ID)
		return err == nil && len(d.Messages) == 2 && d.Messages[1].State == models.OutboxSending && d.Messages[1].TurnID != ""
	})
	return ledger.DeliveryWorkflow(run.SessionRef)
}

func wordsArriveOnce(s *scene) {
	s.opens()
	s.workerWasTold(s.l, theWork, []string{"Your assignment is"}, []string{"take the small one"})
}

// stallIsNear leaves a turn whose clock runs out while the ledger's clock is gone, or
// soon after.
func stallIsNear(s *scene) string {
	s.ok(&struct{}{}, "workspace", "set", "--workspace", theSite, "stall_timeout=20s")
	s.holds()
	return ledger.ClockWorkflow()
}

func stallIsNoticed(s *scene) {
	asked := s.question(theWork).Kind
	s.opens()
	if stale := events(s.t, s.l, ledger.EventFilter{AssignmentID: theWork, Types: []string{models.EventRunStale}}); len(stale) != 1 || asked != models.AskStale {
		s.t.Errorf("asked as %s, noticed as %+v", asked, stale)
	}
}
