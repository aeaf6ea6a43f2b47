package models_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
)

var planNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func ableProbe() *models.Probe {
	p := &models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusActive, Capabilities: map[string]bool{}, Incarnation: 2, ProbedAt: planNow.Add(-time.Minute)}
	for _, name := range models.RequiredCapabilities() {
		p.Capabilities[name] = true
	}
	return p
}

// calm is a team whose loop is on, whose adapter answers, and that has nothing to
// do.
func calm() models.PlanInput {
	loop := models.DefaultLoop()
	loop.Enabled, loop.AdapterKind, loop.MaxConcurrentRuns = true, models.AdapterKindFake, 3
	return models.PlanInput{
		Now: planNow, WorkspaceID: "w", TeamID: "t", Loop: loop, ReviewedBy: models.RoleIntegrator, ReviewIdle: true,
		NodeID: "n", NodeIncarnation: 2, Probe: ableProbe(), Capacity: []models.Capacity{{Name: "team", Limit: 3}},
	}
}

// candidate is a ready assignment on paths of its own.
func candidate(id string) models.StartCandidate {
	return models.StartCandidate{ID: id, Revision: 1, Status: models.AssignmentReady, Target: "worker-" + id, AllowedPaths: []string{id}}
}

// commandText is a short form of a pass: "type target cause attempt prompt" a line.
func commandText(p models.Planned) []string {
	var out []string
	for _, c := range p.Commands {
		out = append(out, strings.Join([]string{string(c.Type), c.Target, c.Cause, c.Reason}, " "))
	}
	return out
}

func wantCommands(t *testing.T, p models.Planned, want ...string) {
	t.Helper()
	if got := commandText(p); !slices.Equal(got, want) {
		t.Errorf("commands\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func askKinds(p models.Planned) []string {
	var out []string
	for _, a := range p.Asks {
		out = append(out, a.Kind)
	}
	return out
}

func TestACalmTeamNeedsNothing(t *testing.T) {
	p := models.Plan(calm())
	if !p.Empty() || len(p.LeftOut) != 0 {
		t.Fatalf("a calm team made %+v", p)
	}
	for name, p := range map[string]models.Planned{"a command": {Commands: make([]models.Command, 1)}, "a question": {Asks: make([]models.Ask, 1)}} {
		if p.Empty() {
			t.Errorf("a pass with %s counts as empty", name)
		}
	}
	if p := (models.Planned{LeftOut: make([]models.LeftOut, 1)}); !p.Empty() {
		t.Error("reasons alone make a pass count as work")
	}
}

func TestTheProbeIsRenewedWhenItIsMissingOldOrOfAnEarlierStart(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*models.PlanInput)
		refresh string // target and cause of the refresh command, "" for none
		starts  bool
		reason  string // start of the reason of the candidate left out
	}{
		"fresh":   {change: func(*models.PlanInput) {}, starts: true},
		"missing": {change: func(in *models.PlanInput) { in.Probe = nil }, refresh: "n inc2-fake_codex", reason: "adapter: waiting for its probe"},
		"of an earlier incarnation": {
			change:  func(in *models.PlanInput) { in.NodeIncarnation = 3 },
			refresh: "n inc3-fake_codex", reason: "adapter: waiting for its probe",
		},
		"exactly as old as allowed": {change: func(in *models.PlanInput) { in.Probe.ProbedAt = in.Now.Add(-models.ProbeTTL) }, starts: true},
		"too old, and still the best knowledge": {
			change:  func(in *models.PlanInput) { in.Probe.ProbedAt = in.Now.Add(-models.ProbeTTL - time.Millisecond) },
			refresh: "n probe1796125799999-fake_codex", starts: true,
		},
		"under way": {change: func(in *models.PlanInput) { in.Probe, in.OpenRefresh = nil, true }, reason: "adapter: waiting for its probe"},
		"unavailable": {
			change: func(in *models.PlanInput) {
				in.Probe.Status, in.Probe.Reason = models.StatusUnavailable, "no such file"
				in.Probe.ProbedAt = in.Now.Add(-models.UnavailableTTL)
			},
			reason: "adapter: fake_codex is unavailable: no such file",
		},
		"unavailable for a while: it may be back": {
			change: func(in *models.PlanInput) {
				in.Probe.Status, in.Probe.Reason = models.StatusUnavailable, "its host was killed"
				in.Probe.ProbedAt = in.Now.Add(-models.UnavailableTTL - time.Millisecond)
			},
			refresh: "n probe1796126369999-fake_codex", reason: "adapter: fake_codex is unavailable: its host was killed",
		},
		"lacking two capabilities": {change: func(in *models.PlanInput) {
			delete(in.Probe.Capabilities, "can_steer_turn")
			in.Probe.Capabilities["can_start_turn"] = false
		}, reason: "adapter: fake_codex lacks [can_start_turn can_steer_turn]"},
		"without a node":           {change: func(in *models.PlanInput) { in.NodeID = "" }, reason: "adapter: no node serves this workspace"},
		"in a dry run":             {change: func(in *models.PlanInput) { in.AnyProbe, in.NodeIncarnation = true, 9 }, starts: true},
		"never made, in a dry run": {change: func(in *models.PlanInput) { in.AnyProbe, in.Probe = true, nil }, starts: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := calm()
			in.Starts = []models.StartCandidate{candidate("a")}
			c.change(&in)
			p := models.Plan(in)
			var want []string
			if c.refresh != "" {
				want = append(want, "refresh_capabilities "+c.refresh+" the last probe is missing or too old")
			}
			if c.starts {
				want = append(want, "start_assignment a rev1 ready")
			}
			wantCommands(t, p, want...)
			if c.starts != (len(p.LeftOut) == 0) || !c.starts && (p.LeftOut[0].Code != "adapter" || !strings.HasPrefix(p.LeftOut[0].Reason, c.reason)) {
				t.Errorf("left out %+v, want reason %q", p.LeftOut, c.reason)
			}
		})
	}
}

func TestCommandsCarryTheEnvelope(t *testing.T) {
	in := calm()
	in.Loop.Model = "m"
	in.Starts = []models.StartCandidate{candidate("task.alpha")}
	in.Starts[0].Revision, in.Starts[0].FailedStarts, in.Starts[0].LastFailure = 7, 1, planNow.Add(-time.Hour)
	got := models.Plan(in).Commands[0]
	want := models.Command{
		ID: "cmd_start_assignment_task_alpha_" + models.ShortHash("task.alpha", 8) + "_rev7_attempt2", Type: models.CommandStart, Target: "task.alpha", Cause: "rev7",
		Attempt: 2, State: models.CommandIntended, WorkspaceID: "w", TeamID: "t", NodeID: "n", AssignmentID: "task.alpha", AssignmentRevision: 7,
		TargetActorID: "worker-task.alpha", AdapterKind: models.AdapterKindFake, IdempotencyKey: "task.alpha:7:start:2", PromptKind: models.PromptWorker,
		Reason: "ready", CreatedAt: planNow,
	}
	if got.EventIDs != nil || !equalCommand(got, want) {
		t.Errorf("command\n%+v\nwant\n%+v", got, want)
	}
}

func equalCommand(a, b models.Command) bool {
	return a.ID == b.ID && a.Type == b.Type && a.Target == b.Target && a.Cause == b.Cause && a.Attempt == b.Attempt && a.State == b.State &&
		a.WorkspaceID == b.WorkspaceID && a.TeamID == b.TeamID && a.NodeID == b.NodeID && a.AssignmentID == b.AssignmentID &&
		a.AssignmentRevision == b.AssignmentRevision && a.TargetActorID == b.TargetActorID && a.AdapterKind == b.AdapterKind &&
		a.IdempotencyKey == b.IdempotencyKey && a.PromptKind == b.PromptKind && a.Reason == b.Reason && a.RunID == b.RunID && a.CreatedAt.Equal(b.CreatedAt)
}

func TestEveryTypeHasAVerbInItsIdempotencyKey(t *testing.T) {
	in := calm()
	in.Probe = nil
	in.AnyProbe = false
	in.Starts = nil
	if got := models.Plan(in).Commands[0].IdempotencyKey; got != "n:inc2-fake_codex:refresh:1" {
		t.Errorf("refresh key %q", got)
	}
	in = calm()
	in.Runs = []models.LiveRun{
		{RunID: "r", AssignmentID: "a", CancelEventID: "e1", Status: models.RunCancelled, HasThread: true},
		{RunID: "s", AssignmentID: "b", Status: models.RunRunning, HasThread: true, LastTurn: &models.Turn{ID: "tu", Status: models.TurnCompleted}},
	}
	in.Reviews = []models.ReviewDue{{EventID: "e2", TurnEnded: true, Managed: true}}
	var keys []string
	for _, c := range models.Plan(in).Commands {
		keys = append(keys, c.IdempotencyKey)
	}
	if want := []string{"r:e1:interrupt:1", "s:tu:resume:1", "t:e2:nudge:1"}; !slices.Equal(keys, want) {
		t.Errorf("keys %v, want %v", keys, want)
	}
}

func TestBackOffDoublesFromTenSecondsToFiveMinutes(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second, 4: 80 * time.Second, 5: 160 * time.Second,
		6: 5 * time.Minute, 7: 5 * time.Minute, 1 << 40: 5 * time.Minute,
	} {
		if got := models.BackOff(failures); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
}
