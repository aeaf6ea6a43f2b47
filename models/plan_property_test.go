package models_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"coxswain/models"
)

// drawPlan draws any input that a ledger could hold, and many that it could not.
func drawPlan(t *rapid.T) models.PlanInput {
	in := calm()
	in.OnlyLive = rapid.Bool().Draw(t, "onlyLive")
	in.Loop.Enabled = rapid.Bool().Draw(t, "enabled")
	in.Loop.ReviewMaxNudges = rapid.IntRange(0, 3).Draw(t, "maxNudges")
	in.OpenRefresh = rapid.Bool().Draw(t, "openRefresh")
	in.OpenNudge = rapid.Bool().Draw(t, "openNudge")
	in.ReviewIdle = rapid.Bool().Draw(t, "reviewIdle")
	in.NodeIncarnation = rapid.IntRange(1, 3).Draw(t, "incarnation")
	switch rapid.IntRange(0, 3).Draw(t, "probe") {
	case 0:
		in.Probe = nil
	case 1:
		in.Probe.Status = models.StatusUnavailable
	case 2:
		in.Probe.ProbedAt = planNow.Add(-time.Hour)
	}
	in.Capacity = rapid.SliceOfN(rapid.Custom(drawCapacity), 0, 3).Draw(t, "capacity")
	in.Starts = named(rapid.SliceOfN(rapid.Custom(drawCandidate), 0, 6).Draw(t, "starts"), func(c *models.StartCandidate, i int) { c.ID = fmt.Sprintf("a%d", i) })
	in.Holds = named(rapid.SliceOfN(rapid.Custom(drawHold), 0, 3).Draw(t, "holds"), func(h *models.Hold, i int) { h.AssignmentID = fmt.Sprintf("h%d", i) })
	in.Runs = named(rapid.SliceOfN(rapid.Custom(drawRun), 0, 5).Draw(t, "runs"), func(r *models.LiveRun, i int) { r.RunID = fmt.Sprintf("r%d", i) })
	in.Reviews = named(rapid.SliceOfN(rapid.Custom(drawReview), 0, 4).Draw(t, "reviews"), func(r *models.ReviewDue, i int) { r.EventID = fmt.Sprintf("e%d", i) })
	return in
}

func named[T any](rows []T, name func(*T, int)) []T {
	for i := range rows {
		name(&rows[i], i)
	}
	return rows
}

func drawCapacity(t *rapid.T) models.Capacity {
	return models.Capacity{Name: "limit", Limit: rapid.IntRange(0, 4).Draw(t, "limit"), Open: rapid.IntRange(0, 5).Draw(t, "open")}
}

func drawPaths(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a/b", "a/**", "b", "b/*.go", "c/d", "**/*.md"}), 0, 2).Draw(t, "paths")
}

func drawHold(t *rapid.T) models.Hold { return models.Hold{AllowedPaths: drawPaths(t)} }

func drawCandidate(t *rapid.T) models.StartCandidate {
	return models.StartCandidate{
		Revision: rapid.IntRange(1, 9).Draw(t, "revision"), Status: rapid.SampledFrom([]models.AssignmentStatus{models.AssignmentReady, models.AssignmentNeedsFix}).Draw(t, "status"),
		Target: "x", AllowedPaths: drawPaths(t), Blockers: rapid.SliceOfN(rapid.Just(models.Blocker{ID: "dep", Status: models.AssignmentReady}), 0, 1).Draw(t, "blockers"),
		RunOpen: rapid.IntRange(0, 3).Draw(t, "runOpen") == 0, FailedStarts: rapid.IntRange(0, 6).Draw(t, "failed"),
		LastFailure: planNow.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, "ago")) * time.Second), Asked: rapid.Bool().Draw(t, "asked"), OnThread: rapid.Bool().Draw(t, "onThread"),
	}
}

func drawRun(t *rapid.T) models.LiveRun {
	r := models.LiveRun{
		AssignmentID: "a", Revision: 1, HasThread: rapid.Bool().Draw(t, "thread"), Busy: rapid.Bool().Draw(t, "busy"),
		Status: rapid.SampledFrom([]models.RunStatus{
			models.RunStarting, models.RunClaimed, models.RunRunning, models.RunAwaitingHuman, models.RunAwaitingApproval,
			models.RunCompletedGatePassed, models.RunFailed, models.RunCancelled, models.RunSuperseded,
		}).Draw(t, "status"),
		LostInRow: rapid.IntRange(0, 5).Draw(t, "lost"), FailedInRow: rapid.IntRange(0, 6).Draw(t, "failed"), HandoffNudges: rapid.IntRange(0, 2).Draw(t, "nudges"),
		CancelEventID: rapid.SampledFrom([]string{"", "", "c1"}).Draw(t, "cancel"), AnswerEventID: rapid.SampledFrom([]string{"", "", "an1"}).Draw(t, "answer"),
		StaleEventID: rapid.SampledFrom([]string{"", "s1"}).Draw(t, "stale"),
	}
	if rapid.Bool().Draw(t, "turn") {
		r.LastTurn = &models.Turn{
			ID: "tu", ErrorKind: rapid.SampledFrom([]string{"server", "auth", "context", "rate_limit"}).Draw(t, "kind"),
			Status: rapid.SampledFrom([]models.TurnStatus{models.TurnActive, models.TurnCompleted, models.TurnFailed, models.TurnLost, models.TurnInterrupted}).Draw(t, "turnStatus"),
		}
		r.TurnActive = r.LastTurn.Status == models.TurnActive
	}
	return r
}

func drawReview(t *rapid.T) models.ReviewDue {
	return models.ReviewDue{
		AssignmentID: "a", RunID: "r", Managed: rapid.Bool().Draw(t, "managed"), TurnEnded: rapid.Bool().Draw(t, "ended"),
		Nudges: rapid.IntRange(0, 5).Draw(t, "nudges"), LastNudgeAt: planNow.Add(-time.Duration(rapid.IntRange(0, 120).Draw(t, "ago")) * time.Second), Asked: rapid.Bool().Draw(t, "asked"),
	}
}

// ofType are the commands of one type in order.
func ofType(p models.Planned, want models.CommandType) []models.Command {
	var out []models.Command
	for _, c := range p.Commands {
		if c.Type == want {
			out = append(out, c)
		}
	}
	return out
}

func TestPlanIsDeterministicAndChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlan(t)
		starts, runs, reviews, holds := slices.Clone(in.Starts), slices.Clone(in.Runs), slices.Clone(in.Reviews), slices.Clone(in.Holds)
		first := models.Plan(in)
		if second := models.Plan(in); !reflect.DeepEqual(first, second) {
			t.Fatalf("two passes over one input differ:\n%+v\n%+v", first, second)
		}
		if !reflect.DeepEqual(starts, in.Starts) || !reflect.DeepEqual(runs, in.Runs) || !reflect.DeepEqual(reviews, in.Reviews) || !reflect.DeepEqual(holds, in.Holds) {
			t.Fatal("the pass changed its input")
		}
	})
}

func TestCommandsOfAPassAreUniqueAndInOrder(t *testing.T) {
	rank := map[models.CommandType]int{models.CommandRefresh: 0, models.CommandInterrupt: 1, models.CommandResume: 2, models.CommandNudge: 3, models.CommandStart: 4}
	rapid.Check(t, func(t *rapid.T) {
		p := models.Plan(drawPlan(t))
		seen := map[string]bool{}
		for i, c := range p.Commands {
			if seen[c.ID] || c.ID == "" || c.State != models.CommandIntended || c.Attempt < 1 || c.Target == "" || c.Cause == "" {
				t.Fatalf("command %d: %+v", i, c)
			}
			seen[c.ID] = true
			if i > 0 && rank[p.Commands[i-1].Type] > rank[c.Type] {
				t.Fatalf("%s stands before %s", p.Commands[i-1].Type, c.Type)
			}
		}
	})
}

func TestEveryCandidateStartsOrHasAReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlan(t)
		p := models.Plan(in)
		var started, left []string
		for _, c := range ofType(p, models.CommandStart) {
			started = append(started, c.AssignmentID)
		}
		for _, lo := range p.LeftOut {
			left = append(left, lo.AssignmentID)
			if lo.Code == "" || lo.Reason == "" {
				t.Fatalf("left out without a reason: %+v", lo)
			}
		}
		if len(started)+len(left) != len(in.Starts) || !slices.IsSorted(started) || !slices.IsSorted(left) {
			t.Fatalf("started %v, left out %v of %d in order", started, left, len(in.Starts))
		}
		for _, c := range in.Starts {
			if slices.Contains(started, c.ID) == slices.Contains(left, c.ID) {
				t.Fatalf("%s is started and left out, or neither", c.ID)
			}
		}
	})
}

func TestStartsKeepEveryRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlan(t)
		starts := ofType(models.Plan(in), models.CommandStart)
		if len(starts) > 0 && (in.OnlyLive || in.Probe == nil || in.Probe.Status != models.StatusActive || in.Probe.Incarnation != in.NodeIncarnation) {
			t.Fatal("started with the loop off or without an adapter")
		}
		for _, c := range in.Capacity {
			if c.Limit > 0 && len(starts) > max(c.Limit-c.Open, 0) {
				t.Fatalf("%d starts over %+v", len(starts), c)
			}
		}
		holds := slices.Clone(in.Holds)
		for _, cmd := range starts {
			c := in.Starts[slices.IndexFunc(in.Starts, func(c models.StartCandidate) bool { return c.ID == cmd.AssignmentID })]
			if len(c.Blockers) > 0 || c.RunOpen || c.FailedStarts >= models.MaxStartAttempts || c.FailedStarts > 0 && in.Now.Before(c.LastFailure.Add(models.BackOff(c.FailedStarts))) {
				t.Fatalf("started %+v", c)
			}
			for _, h := range holds {
				if models.PathsMeet(h.AllowedPaths, c.AllowedPaths) {
					t.Fatalf("%s was started on paths %v of %s (%v)", c.ID, c.AllowedPaths, h.AssignmentID, h.AllowedPaths)
				}
			}
			holds = append(holds, models.Hold{AssignmentID: c.ID, AllowedPaths: c.AllowedPaths})
		}
	})
}

func TestAFreeSlotIsNotLeftEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlan(t)
		p := models.Plan(in)
		starts := len(ofType(p, models.CommandStart))
		for _, lo := range p.LeftOut {
			if lo.Code != "capacity" {
				continue
			}
			full := slices.ContainsFunc(in.Capacity, func(c models.Capacity) bool { return c.Limit > 0 && starts >= c.Limit-c.Open })
			if !full {
				t.Fatalf("%s lacks a slot, but %d starts fill none of %+v", lo.AssignmentID, starts, in.Capacity)
			}
		}
	})
}

func TestRunsAreResumedOnlyWhenNothingElseGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlan(t)
		p := models.Plan(in)
		for _, r := range in.Runs {
			var resumes, interrupts, asks int
			for _, c := range p.Commands {
				if c.RunID == r.RunID && c.Type == models.CommandResume {
					resumes++
				}
				if c.RunID == r.RunID && c.Type == models.CommandInterrupt {
					interrupts++
				}
			}
			for _, a := range p.Asks {
				if a.RunID == r.RunID {
					asks++
				}
			}
			rest := r.Busy || r.Status.Waiting() || r.Status.Terminal() || r.Status == models.RunStarting || !r.HasThread
			if (rest || r.CancelEventID != "") && resumes+asks > 0 || r.TurnActive && resumes > 0 || resumes+asks > 1 {
				t.Fatalf("%d resumes and %d questions for %+v", resumes, asks, r)
			}
			if want := r.CancelEventID != "" && !r.Busy; want != (interrupts == 1) || interrupts > 1 {
				t.Fatalf("%d interrupts for %+v", interrupts, r)
			}
		}
	})
}

func TestNudgesNameOnlyWhatIsDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlan(t)
		nudges := ofType(models.Plan(in), models.CommandNudge)
		if len(nudges) == 0 {
			return
		}
		if len(nudges) > 1 || in.OpenNudge || !in.ReviewIdle {
			t.Fatalf("%d nudges, one is open: %t, idle: %t", len(nudges), in.OpenNudge, in.ReviewIdle)
		}
		for _, id := range nudges[0].EventIDs {
			r := in.Reviews[slices.IndexFunc(in.Reviews, func(r models.ReviewDue) bool { return r.EventID == id })]
			tooSoon := r.Nudges > 0 && in.Now.Before(r.LastNudgeAt.Add(in.Loop.ReviewNudgeInterval()))
			if !r.TurnEnded || tooSoon || r.Nudges > in.Loop.ReviewMaxNudges || !r.Managed && !in.Loop.Enabled {
				t.Fatalf("nudged %+v", r)
			}
		}
		if nudges[0].Cause != nudges[0].EventIDs[0] {
			t.Fatalf("the cause %s is not the oldest of %v", nudges[0].Cause, nudges[0].EventIDs)
		}
	})
}

func TestBackOffIsBoundedAndNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int().Draw(t, "failures")
		d := models.BackOff(n)
		if d < 10*time.Second || d > 5*time.Minute {
			t.Fatalf("after %d failures %s", n, d)
		}
		if n < 1<<62 && models.BackOff(n+1) < d {
			t.Fatalf("after %d failures less than after %d", n+1, n)
		}
	})
}
