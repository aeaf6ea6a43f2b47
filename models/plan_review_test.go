package models_test

import (
	"slices"
	"testing"
	"time"

	"coxswain/models"
)

// handoff is an undecided handoff of a managed run whose turn has ended.
func handoff(id string) models.ReviewDue {
	return models.ReviewDue{EventID: id, AssignmentID: "a-" + id, RunID: "r-" + id, Managed: true, TurnEnded: true}
}

// nudgedAt is a handoff that was nudged n times, the last time a while ago.
func nudgedAt(id string, n int, ago time.Duration) models.ReviewDue {
	r := handoff(id)
	r.Nudges, r.LastNudgeAt = n, planNow.Add(-ago)
	return r
}

func TestOneNudgeNamesEveryDueHandoff(t *testing.T) {
	in := calm()
	early := handoff("e2")
	early.TurnEnded = false
	in.Reviews = []models.ReviewDue{handoff("e1"), early, nudgedAt("e3", 1, time.Second), nudgedAt("e4", 2, time.Minute)}
	p := models.Plan(in)
	wantCommands(t, p, "nudge_review t e1 undecided handoffs")
	cmd := p.Commands[0]
	if want := []string{"e1", "e4"}; !slices.Equal(cmd.EventIDs, want) || cmd.PromptKind != models.PromptReview || cmd.Attempt != 1 {
		t.Errorf("nudge %+v, want it to name %v", cmd, want)
	}
}

func TestWhatAPersonWasAskedAboutIsToldApart(t *testing.T) {
	in := calm()
	given := nudgedAt("e1", in.Loop.ReviewMaxNudges, time.Hour)
	given.Asked = true
	in.Reviews = []models.ReviewDue{given, handoff("e2")}
	p := models.Plan(in)
	if len(p.Commands) != 1 || p.Commands[0].PromptKind != models.PromptReview || !slices.Equal(p.Commands[0].EventIDs, []string{"e2"}) {
		t.Fatalf("first %+v", p.Commands)
	}
	in.Reviews[1] = nudgedAt("e2", 1, 0)
	p = models.Plan(in)
	if len(p.Commands) != 1 || p.Commands[0].PromptKind != models.PromptEscalation || !slices.Equal(p.Commands[0].EventIDs, []string{"e1"}) {
		t.Fatalf("then %+v", p.Commands)
	}
}

func TestANudgeIsDueAtItsInterval(t *testing.T) {
	for ago, want := range map[time.Duration]bool{59999 * time.Millisecond: false, time.Minute: true, time.Hour: true} {
		in := calm()
		in.Reviews = []models.ReviewDue{nudgedAt("e", 1, ago)}
		p := models.Plan(in)
		if got := len(p.Commands) == 1; got != want {
			t.Errorf("%s after the first nudge: nudged %t, want %t", ago, got, want)
		}
		if want && p.Commands[0].Attempt != 2 {
			t.Errorf("attempt %d, want 2", p.Commands[0].Attempt)
		}
	}
}

func TestAfterTheLastNudgeAPersonIsAskedAndTheIntegratorToldOnce(t *testing.T) {
	in := calm()
	in.Reviews = []models.ReviewDue{nudgedAt("e", in.Loop.ReviewMaxNudges, time.Hour)}
	p := models.Plan(in)
	wantCommands(t, p)
	if len(p.Asks) != 1 || p.Asks[0].Kind != "review_ignored" || p.Asks[0].RunID != "r-e" || p.Asks[0].AssignmentID != "a-e" {
		t.Fatalf("asked %+v", p.Asks)
	}
	in.Reviews[0].Asked = true
	p = models.Plan(in)
	wantCommands(t, p, "nudge_review t e undecided handoffs")
	if len(p.Asks) != 0 || p.Commands[0].PromptKind != models.PromptEscalation {
		t.Errorf("after the question: %+v, asks %v", p.Commands[0], p.Asks)
	}
	in.Reviews[0].Nudges++
	if p = models.Plan(in); !p.Empty() {
		t.Errorf("after the escalation: %+v", p)
	}
}

func TestWhoIsNotNudged(t *testing.T) {
	for name, change := range map[string]func(*models.PlanInput){
		"a nudge is under way":           func(in *models.PlanInput) { in.OpenNudge = true },
		"the reviewer asked a person":    func(in *models.PlanInput) { in.Reviews[0].Waiting = true },
		"the integrator reads":           func(in *models.PlanInput) { in.ReviewIdle = false },
		"a person reviews":               func(in *models.PlanInput) { in.ReviewedBy = models.RoleHuman },
		"the pass is for one assignment": func(in *models.PlanInput) { in.OneAssignment, in.OnlyLive = "a", true },
		"the adapter is unavailable":     func(in *models.PlanInput) { in.Probe.Status, in.Probe.ProbedAt = models.StatusUnavailable, in.Now },
		"somebody outside, loop off": func(in *models.PlanInput) {
			in.Loop.Enabled, in.OnlyLive, in.Reviews[0].Managed = false, true, false
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := calm()
			in.Reviews = []models.ReviewDue{handoff("e")}
			wantCommands(t, models.Plan(in), "nudge_review t e undecided handoffs")
			change(&in)
			wantCommands(t, models.Plan(in))
		})
	}
}

func TestNudgesGoOnForManagedRunsWhileTheLoopIsOff(t *testing.T) {
	in := calm()
	in.Loop.Enabled, in.OnlyLive = false, true
	in.Reviews = []models.ReviewDue{handoff("e")}
	wantCommands(t, models.Plan(in), "nudge_review t e undecided handoffs")
}
