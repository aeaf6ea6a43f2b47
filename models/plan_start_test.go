package models_test

import (
	"slices"
	"testing"
	"time"

	"coxswain/models"
)

func TestWhyACandidateIsLeftOut(t *testing.T) {
	failed := func(n int, ago time.Duration) func(*models.StartCandidate) {
		return func(c *models.StartCandidate) {
			c.FailedStarts, c.LastFailure, c.FailureReason = n, planNow.Add(-ago), "no thread"
		}
	}
	for name, c := range map[string]struct {
		change func(*models.StartCandidate)
		code   string // "" when it starts
		reason string
	}{
		"ready":            {change: func(*models.StartCandidate) {}},
		"waits for others": {change: waiting(models.AssignmentReady, models.AssignmentRunning), code: "dependency", reason: "dependency: waits for x, y"},
		"waits in vain": {
			change: waiting(models.AssignmentReady, models.AssignmentCancelled), code: "dependency",
			reason: "dependency: waits for x, y (cancelled), which will not be accepted; next: cox assignment edit --remove-depends-on y0 a; or cox assignment cancel --reason \"…\" a",
		},
		"has a run":            {change: func(c *models.StartCandidate) { c.RunOpen = true }, code: "run_open", reason: "run: an earlier run or command of it has not ended"},
		"failed just now":      {change: failed(2, 5*time.Second), code: "back_off", reason: "start: failed, tried again at 12:00:15Z: no thread"},
		"failed, and is due":   {change: failed(2, 20*time.Second)},
		"failed too often":     {change: failed(models.MaxStartAttempts, time.Hour), code: "start_failed", reason: "start: failed 5 times: no thread"},
		"meets a holder":       {change: func(c *models.StartCandidate) { c.AllowedPaths = []string{"held/file.go"} }, code: "path", reason: "deferred: path:held/file.go held by holder until it ends"},
		"needs the whole tree": {change: func(c *models.StartCandidate) { c.AllowedPaths = nil }, code: "path", reason: "deferred: path:. held by holder until it ends"},
		"holds its own paths":  {change: func(c *models.StartCandidate) { c.ID, c.AllowedPaths = "holder", []string{"held/x"} }},
	} {
		t.Run(name, func(t *testing.T) {
			in := calm()
			in.Holds = []models.Hold{{AssignmentID: "holder", AllowedPaths: []string{"held/**"}}}
			in.Starts = []models.StartCandidate{candidate("a")}
			c.change(&in.Starts[0])
			p := models.Plan(in)
			if c.code == "" {
				if len(p.Commands) != 1 || len(p.LeftOut) != 0 {
					t.Fatalf("not started: %+v", p)
				}
				return
			}
			want := models.LeftOut{AssignmentID: "a", Code: c.code, Reason: c.reason}
			if len(p.Commands) != 0 || !slices.Equal(p.LeftOut, []models.LeftOut{want}) {
				t.Errorf("made %v, left out %+v, want %+v", commandText(p), p.LeftOut, want)
			}
		})
	}
}

// waiting makes a candidate wait for x and y in these statuses.
func waiting(x, y models.AssignmentStatus) func(*models.StartCandidate) {
	return func(c *models.StartCandidate) {
		c.Blockers = []models.Blocker{{ID: "x", Status: x, DependsOn: "x"}, {ID: "y", Status: y, DependsOn: "y0"}}
	}
}

func TestAPersonIsAskedOnceAboutAStartThatKeepsFailing(t *testing.T) {
	in := calm()
	in.Starts = []models.StartCandidate{candidate("a")}
	in.Starts[0].FailedStarts, in.Starts[0].FailureReason = models.MaxStartAttempts, "no thread"
	p := models.Plan(in)
	if len(p.Asks) != 1 || p.Asks[0].Kind != "start_failed" || p.Asks[0].AssignmentID != "a" || p.Asks[0].RunID != "" {
		t.Fatalf("asked %+v", p.Asks)
	}
	in.Starts[0].Asked = true
	if p := models.Plan(in); len(p.Asks) != 0 {
		t.Errorf("asked again: %+v", p.Asks)
	}
	in.Starts[0].Asked, in.OnlyLive = false, true
	if p := models.Plan(in); len(p.Asks) != 0 {
		t.Errorf("asked although the loop is off: %+v", p.Asks)
	}
}

func TestTheTightestLimitIsNamed(t *testing.T) {
	in := calm()
	in.Capacity = []models.Capacity{{Name: "node", Limit: 0, Open: 50}, {Name: "workspace", Limit: 4, Open: 3}, {Name: "team", Limit: 3, Open: 1}}
	in.Starts = []models.StartCandidate{candidate("a"), candidate("b")}
	p := models.Plan(in)
	wantCommands(t, p, "start_assignment a rev1 ready")
	want := []models.LeftOut{{AssignmentID: "b", Code: "capacity", Reason: "capacity: all 4 runs of the workspace are taken"}}
	if !slices.Equal(p.LeftOut, want) {
		t.Errorf("left out %+v, want %+v", p.LeftOut, want)
	}
	in.Capacity[1].Open = 9 // a limit that was lowered under running work
	if p := models.Plan(in); len(p.Commands) != 0 {
		t.Errorf("started over a limit: %v", commandText(p))
	}
	in.Capacity = in.Capacity[:1]
	if p := models.Plan(in); len(p.Commands) != 2 {
		t.Errorf("a limit of 0 held back: %+v", p.LeftOut)
	}
}

func TestAStartHoldsItsPathsAgainstLaterCandidates(t *testing.T) {
	in := calm()
	in.Starts = []models.StartCandidate{candidate("a"), candidate("b"), candidate("c")}
	in.Starts[1].AllowedPaths = []string{"a/below"}
	p := models.Plan(in)
	wantCommands(t, p, "start_assignment a rev1 ready", "start_assignment c rev1 ready")
	if len(p.LeftOut) != 1 || p.LeftOut[0].Code != "path" || p.LeftOut[0].Reason != "deferred: path:a/below held by a until it ends" {
		t.Errorf("left out %+v", p.LeftOut)
	}
}

func TestAFixContinuesOnItsThread(t *testing.T) {
	for name, c := range map[string]struct {
		status   models.AssignmentStatus
		onThread bool
		want     models.PromptKind
		reason   string
	}{
		"first start":         {models.AssignmentReady, false, models.PromptWorker, "ready"},
		"ready with a thread": {models.AssignmentReady, true, models.PromptWorker, "ready"},
		"fix on its thread":   {models.AssignmentNeedsFix, true, models.PromptFix, "needs_fix"},
		"fix on a new thread": {models.AssignmentNeedsFix, false, models.PromptWorker, "needs_fix"},
	} {
		in := calm()
		in.Starts = []models.StartCandidate{candidate("a")}
		in.Starts[0].Status, in.Starts[0].OnThread = c.status, c.onThread
		if cmd := models.Plan(in).Commands[0]; cmd.PromptKind != c.want || cmd.Reason != c.reason {
			t.Errorf("%s: prompt %s, reason %s", name, cmd.PromptKind, cmd.Reason)
		}
	}
}
