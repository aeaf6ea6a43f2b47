package models

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOneReasonIsTold(t *testing.T) {
	at := time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	stopped := &LoopPause{Kind: PauseStop, By: "human:ann", At: at, Reason: "disk"}
	paused := &LoopPause{Kind: PauseStarts, By: "human:ann", At: at}
	left := func(code string) *LeftOut { return &LeftOut{AssignmentID: "a", Code: code, Reason: code + ": why"} }
	question := &Intervention{ID: "q", Kind: "question", Prompt: "which?"}
	for name, c := range map[string]struct {
		facts      StillFacts
		code, next string // "" moves
	}{
		"works":                       {StillFacts{Status: AssignmentRunning, RunID: "r", Managed: true, TurnActive: true}, "", ""},
		"works without an engine":     {StillFacts{Status: AssignmentRunning, RunID: "r", Managed: true, TurnActive: true, EngineAway: true}, "", ""},
		"between two turns":           {StillFacts{Status: AssignmentRunning, RunID: "r", Managed: true}, "", ""},
		"ended":                       {StillFacts{Status: AssignmentAccepted, Question: question}, "", ""},
		"asks":                        {StillFacts{Status: AssignmentAwaitingHuman, RunID: "r", Managed: true, Question: question, WorkerAway: true}, StillQuestion, "respond"},
		"nobody was asked":            {StillFacts{Status: AssignmentAwaitingHuman, RunID: "r", Managed: true}, StillUnasked, "show a"},
		"stopped":                     {StillFacts{Status: AssignmentReady, Pause: stopped, Left: left("paused")}, StillStopped, "cox resume --team t"},
		"paused":                      {StillFacts{Status: AssignmentReady, Pause: paused, Left: left("paused")}, "paused", "cox loop resume --team t"},
		"a paused loop's run goes on": {StillFacts{Status: AssignmentRunning, Pause: paused, RunID: "r", Managed: true, TurnActive: true}, "", ""},
		"handed off":                  {StillFacts{Status: AssignmentAwaitingReview, Reviewer: "boss", HandoffID: "h"}, StillReview, "accept h"},
		"loop off":                    {StillFacts{Status: AssignmentReady, Left: left("loop_off"), WorkerAway: true}, "loop_off", "cox up --team t"},
		"loop off, worker there":      {StillFacts{Status: AssignmentReady, Left: left("loop_off")}, "loop_off", "cox loop --team t"},
		"not probed, no worker":       {StillFacts{Status: AssignmentReady, Left: left("adapter"), WorkerAway: true}, StillNoWorker, "cox up"},
		"adapter":                     {StillFacts{Status: AssignmentReady, Left: left("adapter")}, "adapter", "cox doctor"},
		"a reason of the planner":     {StillFacts{Status: AssignmentReady, Left: left("usage_limit")}, "usage_limit", ""},
		"worker gone in a turn":       {StillFacts{Status: AssignmentRunning, RunID: "r", Managed: true, TurnActive: true, WorkerAway: true}, StillNoWorker, "cox up"},
		"engine gone":                 {StillFacts{Status: AssignmentReady, EngineAway: true}, StillEngineAway, "cox down && cox up"},
		"not sent":                    {StillFacts{Status: AssignmentClaimed, RunID: "r", Managed: true, MessageWhy: "busy", RetryAt: &at}, StillMessage, "logs r"},
		"open without an engine":      {StillFacts{Status: AssignmentReady, Left: left("run_open"), EngineAway: true}, StillEngineAway, "cox down && cox up"},
		"open":                        {StillFacts{Status: AssignmentReady, Left: left("run_open")}, "run_open", "show a"},
		"asks for leave":              {StillFacts{Status: AssignmentAwaitingApproval, RunID: "r", Question: &Intervention{ID: "q", Kind: InterventionApproval}}, StillApproval, "--accept q"},
		"held by the account":         {StillFacts{Status: AssignmentRunning, RunID: "r", Managed: true, HeldCode: StillUsageLimit, HeldReason: "usage limit", RetryAt: &at}, StillUsageLimit, ""},
		"held by the breaker":         {StillFacts{Status: AssignmentRunning, RunID: "r", Managed: true, HeldCode: StillBreaker, HeldReason: "parked"}, StillBreaker, "cox inbox"},
		"tried again":                 {StillFacts{Status: AssignmentRunning, RunID: "r", Managed: true, RetryAt: &at}, StillRetry, ""},
		"an agent of its own":         {StillFacts{Status: AssignmentClaimed, RunID: "r", WorkerAway: true}, StillOutside, "show r"},
		"about to start":              {StillFacts{Status: AssignmentReady}, StillQueued, ""},
	} {
		c.facts.AssignmentID, c.facts.TeamID = "a", "t"
		got, still := WhyStill(c.facts)
		if still != (c.code != "") || got.Code != c.code || !strings.Contains(got.Next, c.next) {
			t.Errorf("%s: %+v", name, got)
		}
		known := func(r StillReason) bool { return r.Code == got.Code }
		if still && got.Reason == "" || still && !slices.ContainsFunc(StillReasons(), known) {
			t.Errorf("%s: the reason is not told or not in the table: %+v", name, got)
		}
	}
}
