package models_test

import (
	"slices"
	"testing"
	"time"

	"coxswain/models"
)

// working is a run whose thread has an active turn.
func working() models.LiveRun {
	return models.LiveRun{
		RunID: "r", AssignmentID: "a", Revision: 2, ActorID: "x", Status: models.RunRunning, HasThread: true, TurnActive: true,
		LastTurn: &models.Turn{ID: "tu", Status: models.TurnActive},
	}
}

// after is a run whose last turn ended in a way.
func after(status models.TurnStatus) models.LiveRun {
	r := working()
	r.TurnActive, r.LastTurn = false, &models.Turn{ID: "tu", Status: status}
	return r
}

func with(r models.LiveRun, change func(*models.LiveRun)) models.LiveRun {
	change(&r)
	return r
}

func TestARunIsResumedAskedAboutOrLeftAlone(t *testing.T) {
	failed := func(kind string, n int) models.LiveRun {
		return with(after(models.TurnFailed), func(r *models.LiveRun) { r.LastTurn.ErrorKind, r.LastTurn.Error, r.FailedInRow = kind, "boom", n })
	}
	lost := func(n int) models.LiveRun {
		return with(after(models.TurnLost), func(r *models.LiveRun) { r.LostInRow = n })
	}
	for name, c := range map[string]struct {
		run    models.LiveRun
		resume string // cause and reason
		wait   time.Duration
		ask    string
	}{
		"works":                             {run: working()},
		"works and its claim expired":       {run: with(working(), func(r *models.LiveRun) { r.LeaseExpired = true })},
		"works without progress, expired":   {run: with(working(), func(r *models.LiveRun) { r.StaleEventID = "e" }), ask: "run_stale"},
		"stale, and a person is asked":      {run: with(working(), func(r *models.LiveRun) { r.StaleEventID, r.Status = "e", models.RunAwaitingHuman })},
		"answered while the turn is active": {run: with(working(), func(r *models.LiveRun) { r.AnswerEventID = "e" })},
		"ended without a handoff":           {run: after(models.TurnCompleted), resume: "tu no_handoff"},
		"ended again without a handoff":     {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.HandoffNudges = models.MaxHandoffNudges }), ask: "no_handoff"},
		"lost once":                         {run: lost(1), resume: "tu turn_lost"},
		"lost as often as allowed":          {run: lost(models.MaxLostTurns), resume: "tu turn_lost"},
		"lost too often":                    {run: lost(models.MaxLostTurns + 1), ask: "turn_lost"},
		"interrupted without a cancel":      {run: after(models.TurnInterrupted), resume: "tu turn_lost"},
		"failed once":                       {run: failed("server", 1), resume: "tu turn_failed", wait: 10 * time.Second},
		"failed on a rate limit, third":     {run: failed("rate_limit", 3), resume: "tu turn_failed", wait: 40 * time.Second},
		"failed too often":                  {run: failed("server", models.MaxFailedTurns), ask: "turn_failed"},
		"failed on its login":               {run: failed("auth", 1), ask: "turn_failed"},
		"failed on a full context":          {run: failed("context", 1), ask: "turn_failed"},
		"answered":                          {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.AnswerEventID, r.HandoffNudges = "e7", 9 }), resume: "e7 answered"},
		"answered before its first turn":    {run: with(working(), func(r *models.LiveRun) { r.TurnActive, r.LastTurn, r.AnswerEventID = false, nil, "e7" }), resume: "e7 answered"},
		"answered in part":                  {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.AnswerEventID, r.Status = "e7", models.RunAwaitingHuman })},
		"waits for a person":                {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.Status = models.RunAwaitingHuman })},
		"waits for an approval":             {run: with(after(models.TurnLost), func(r *models.LiveRun) { r.Status = models.RunAwaitingApproval })},
		"has words in its turn":             {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.Steered = true })},
		"stale with words in its turn":      {run: with(working(), func(r *models.LiveRun) { r.StaleEventID, r.Steered = "e", true }), ask: "run_stale"},
		"stopped and busy":                  {run: with(working(), func(r *models.LiveRun) { r.StopEventID, r.Busy = "e9", true })},
		"has a message under way":           {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.Busy = true })},
		"is starting":                       {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.Status = models.RunStarting })},
		"has no thread":                     {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.HasThread = false })},
		"had no turn yet":                   {run: with(working(), func(r *models.LiveRun) { r.TurnActive, r.LastTurn = false, nil })},
		"was handed off":                    {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.Status = models.RunCompletedGatePassed })},
		"was cancelled, without its event":  {run: with(after(models.TurnCompleted), func(r *models.LiveRun) { r.Status = models.RunCancelled })},
	} {
		t.Run(name, func(t *testing.T) {
			in := calm()
			in.Runs = []models.LiveRun{c.run}
			p := models.Plan(in)
			if c.resume == "" {
				wantCommands(t, p)
			} else {
				wantCommands(t, p, "resume_assignment r "+c.resume)
				wantResume(t, p.Commands[0], c.wait)
			}
			var asks []string
			if c.ask != "" {
				asks = []string{c.ask}
			}
			if got := askKinds(p); !slices.Equal(got, asks) {
				t.Errorf("asked %v, want %v", got, asks)
			}
			for _, a := range p.Asks {
				if a.RunID != "r" || a.AssignmentID != "a" || a.Prompt == "" {
					t.Errorf("ask %+v", a)
				}
			}
		})
	}
}

func wantResume(t *testing.T, cmd models.Command, wait time.Duration) {
	t.Helper()
	if cmd.PromptKind != models.PromptResume || cmd.RunID != "r" || cmd.AssignmentID != "a" || cmd.AssignmentRevision != 2 || cmd.TargetActorID != "x" {
		t.Errorf("resume %+v", cmd)
	}
	switch {
	case wait == 0 && cmd.NotBefore != nil:
		t.Errorf("resume waits until %s", cmd.NotBefore)
	case wait > 0 && (cmd.NotBefore == nil || !cmd.NotBefore.Equal(planNow.Add(wait))):
		t.Errorf("resume not before %v, want %s from now", cmd.NotBefore, wait)
	}
}

func TestACancelledRunIsInterruptedEvenWithoutAnAdapter(t *testing.T) {
	cancelled := with(working(), func(r *models.LiveRun) { r.CancelEventID, r.Status = "e9", models.RunCancelled })
	in := calm()
	in.Probe.Status, in.Probe.ProbedAt = models.StatusUnavailable, in.Now
	in.Runs = []models.LiveRun{with(after(models.TurnCompleted), func(r *models.LiveRun) { r.RunID = "other" }), cancelled}
	p := models.Plan(in)
	wantCommands(t, p, "interrupt_run r e9 cancelled")
	if cmd := p.Commands[0]; cmd.RunID != "r" || cmd.AssignmentID != "a" || cmd.NotBefore != nil {
		t.Errorf("interrupt %+v", cmd)
	}
	in.Runs[1].Busy = true
	wantCommands(t, models.Plan(in))
	in.Runs[1].Busy, in.Probe = false, ableProbe()
	wantCommands(t, models.Plan(in), "interrupt_run r e9 cancelled", "resume_assignment other tu no_handoff")
}

func TestLiveRunsGoOnWhileTheLoopIsOff(t *testing.T) {
	in := calm()
	in.OnlyLive, in.Loop.Enabled = true, false
	in.Runs = []models.LiveRun{after(models.TurnCompleted)}
	in.Starts = []models.StartCandidate{candidate("b")}
	p := models.Plan(in)
	wantCommands(t, p, "resume_assignment r tu no_handoff")
	if len(p.LeftOut) != 1 || p.LeftOut[0].Code != "loop_off" || p.LeftOut[0].AssignmentID != "b" {
		t.Errorf("left out %+v", p.LeftOut)
	}
}

// A person's stop interrupts the run that it lets wait, and nothing else is done
// about that run before.
func TestAStoppedRunIsInterruptedBeforeItGoesOn(t *testing.T) {
	in := calm()
	stopped := with(working(), func(r *models.LiveRun) { r.StopEventID, r.Status = "e9", models.RunAwaitingHuman })
	in.Runs = []models.LiveRun{stopped}
	wantCommands(t, models.Plan(in), "interrupt_run r e9 stopped")
	in.Runs[0].Status, in.Runs[0].AnswerEventID = models.RunRunning, "e10"
	wantCommands(t, models.Plan(in), "interrupt_run r e9 stopped")
	in.Runs[0].CancelEventID = "e11"
	wantCommands(t, models.Plan(in), "interrupt_run r e11 cancelled")
}
