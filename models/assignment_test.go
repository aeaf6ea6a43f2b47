package models_test

import (
	"reflect"
	"slices"
	"testing"

	"coxswain/models"
)

func TestLanesOfTheBoard(t *testing.T) {
	lanes := map[models.AssignmentStatus]string{
		models.AssignmentProposed: "ready", models.AssignmentReady: "ready", models.AssignmentClaimed: "running", models.AssignmentRunning: "running",
		models.AssignmentAwaitingHuman: "awaiting_human", models.AssignmentAwaitingApproval: "awaiting_review", models.AssignmentAwaitingReview: "awaiting_review",
		models.AssignmentNeedsFix: "needs_fix", models.AssignmentAccepted: "accepted", models.AssignmentRejected: "rejected", models.AssignmentBlocked: "blocked",
		models.AssignmentCancelled: "", models.AssignmentSuperseded: "", "unheard_of": "",
	}
	terminal := []models.AssignmentStatus{models.AssignmentAccepted, models.AssignmentRejected, models.AssignmentCancelled, models.AssignmentSuperseded}
	startable := []models.AssignmentStatus{models.AssignmentReady, models.AssignmentNeedsFix}
	used := map[string]bool{}
	for status, lane := range lanes {
		if got := status.Lane(); got != lane {
			t.Errorf("%s stands in %q, want %q", status, got, lane)
		}
		if got := status.Terminal(); got != slices.Contains(terminal, status) {
			t.Errorf("%s terminal: %t", status, got)
		}
		if got := status.Startable(); got != slices.Contains(startable, status) {
			t.Errorf("%s startable: %t", status, got)
		}
		used[lane] = true
	}
	if want := []string{"ready", "running", "awaiting_human", "awaiting_review", "needs_fix", "accepted", "rejected", "blocked"}; !slices.Equal(models.Lanes(), want) {
		t.Errorf("lanes %v, want %v", models.Lanes(), want)
	}
	for _, lane := range models.Lanes() {
		if !used[lane] {
			t.Errorf("no status stands in %s", lane)
		}
	}
}

func TestTheTargetOfAnAssignment(t *testing.T) {
	pending := map[string]any{"target_actor_id": "w1", "status": "pending", "session_kind": models.SessionKindCodexThread}
	for name, c := range map[string]struct {
		in     map[string]any
		bind   any // session_bind after normalising; nil for none
		target string
	}{
		"none":              {nil, nil, "codex-worker-a"},
		"a hint":            {map[string]any{"assigned_actor_hint": " w1 "}, pending, "w1"},
		"a hint and null":   {map[string]any{"assigned_actor_hint": "w1", "session_bind": nil}, pending, "w1"},
		"a blank hint":      {map[string]any{"assigned_actor_hint": "  "}, nil, "codex-worker-a"},
		"a bind":            {map[string]any{"session_bind": map[string]any{"target_actor_id": "w1"}}, pending, "w1"},
		"a bind and a hint": {map[string]any{"assigned_actor_hint": "w1", "session_bind": map[string]any{"target_actor_id": "w2", "status": "reserved"}}, map[string]any{"target_actor_id": "w2", "status": "reserved", "session_kind": models.SessionKindCodexThread}, "w2"},
		"a bind for nobody": {map[string]any{"session_bind": map[string]any{"target_actor_id": " "}}, map[string]any{"target_actor_id": " ", "status": "pending", "session_kind": models.SessionKindCodexThread}, "codex-worker-a"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := models.NormaliseMetadata(c.in)
			if err != nil || !reflect.DeepEqual(got["session_bind"], c.bind) {
				t.Errorf("session_bind %v, %v, want %v", got["session_bind"], err, c.bind)
			}
			a := models.Assignment{ID: "a", Metadata: got}
			if a.TargetActorID() != c.target {
				t.Errorf("target %s, want %s", a.TargetActorID(), c.target)
			}
		})
	}
	if _, err := models.NormaliseMetadata(map[string]any{"session_bind": "w1"}); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("a bind that is a text: %v", err)
	}
	given := map[string]any{"assigned_actor_hint": "w1"}
	if _, err := models.NormaliseMetadata(given); err != nil || len(given) != 1 {
		t.Errorf("the argument was changed: %v, %v", given, err)
	}
}

func TestContextRefs(t *testing.T) {
	a := models.Assignment{Metadata: map[string]any{"context_refs": []any{
		map[string]any{"path": "docs/a.md", "read": []any{"One", 2, "Two"}}, map[string]any{"read": []any{"x"}}, "odd", map[string]any{"path": "b.md"},
	}}}
	want := []models.ContextRef{{Path: "docs/a.md", Read: []string{"One", "Two"}}, {Path: "b.md"}}
	if got := a.ContextRefs(); !reflect.DeepEqual(got, want) {
		t.Errorf("refs %+v, want %+v", got, want)
	}
	if got := (&models.Assignment{}).ContextRefs(); len(got) != 0 {
		t.Errorf("refs of nothing: %+v", got)
	}
}

func TestWhatARunsStatusMeans(t *testing.T) {
	terminal := []models.RunStatus{models.RunCompletedGatePassed, models.RunCompletedGateFailed, models.RunFailed, models.RunCancelled, models.RunSuperseded}
	waiting := []models.RunStatus{models.RunAwaitingHuman, models.RunAwaitingApproval}
	for _, s := range append(append([]models.RunStatus{models.RunStarting, models.RunClaimed, models.RunRunning, models.RunStalled}, terminal...), waiting...) {
		if s.Terminal() != slices.Contains(terminal, s) || s.Waiting() != slices.Contains(waiting, s) {
			t.Errorf("%s: terminal %t, waiting %t", s, s.Terminal(), s.Waiting())
		}
	}
	for s, want := range map[models.CommandState]bool{models.CommandIntended: true, models.CommandUnknown: true, models.CommandDone: false, models.CommandFailed: false} {
		if s.Open() != want {
			t.Errorf("%s open: %t", s, s.Open())
		}
	}
	for _, s := range []models.TurnStatus{models.TurnActive, models.TurnCompleted, models.TurnFailed, models.TurnInterrupted, models.TurnLost} {
		if s.Ended() == (s == models.TurnActive) {
			t.Errorf("%s ended: %t", s, s.Ended())
		}
	}
}
