package audit_test

import (
	"strings"
	"testing"
	"time"

	"coxswain/cmd/internal/crash/audit"
	"coxswain/models"
)

// Ids of the evidence.
const (
	thread, reviewer = "thread-one", "thread-review"
	prompt, fixText  = "msg_start", "msg_fix"
	remind           = "msg_nudge"
)

func at(seconds int) time.Time {
	return time.Date(2026, 1, 1, 12, 0, seconds, 0, time.UTC)
}

func ended(seconds int) *time.Time { t := at(seconds); return &t }

// sound is a world in which one assignment was fixed once and accepted, and another
// one was called off.
func sound() audit.Evidence {
	return audit.Evidence{
		Wants: []audit.Want{
			{AssignmentID: "one", Status: models.AssignmentAccepted, Claims: 2},
			{AssignmentID: "two", Status: models.AssignmentCancelled},
		},
		Assignments: []models.Assignment{{ID: "one", Status: models.AssignmentAccepted}, {ID: "two", Status: models.AssignmentCancelled}},
		Runs: []models.Run{
			{ID: "run-1", AssignmentID: "one", Attempt: 1, BindingID: "b1", SessionRef: thread, EndedAt: ended(10)},
			{ID: "run-2", AssignmentID: "one", Attempt: 2, BindingID: "b1", SessionRef: thread, EndedAt: ended(20)},
		},
		Tasks: []models.Task{{ID: "task-1", RunID: "run-1", Status: "completed"}, {ID: "task-2", RunID: "run-2", Status: "completed"}},
		Commands: []models.Command{
			{ID: "start-1", Type: models.CommandStart, Target: "one", Cause: "rev1", Attempt: 1, State: models.CommandDone, RunID: "run-1"},
			{ID: "start-2", Type: models.CommandStart, Target: "one", Cause: "rev4", Attempt: 1, State: models.CommandDone, RunID: "run-2"},
			{ID: "nudge-1", Type: models.CommandNudge, Target: "crew", Cause: "handoff-1", Attempt: 1, State: models.CommandDone, EventIDs: []string{"handoff-1"}},
			{ID: "nudge-2", Type: models.CommandNudge, Target: "crew", Cause: "handoff-2", Attempt: 1, State: models.CommandFailed, EventIDs: []string{"handoff-2"}},
		},
		Messages: []models.OutboxItem{
			{ID: prompt, CommandID: "start-1", ThreadID: thread, State: models.OutboxDelivered},
			{ID: fixText, CommandID: "start-2", ThreadID: thread, State: models.OutboxDelivered},
			{ID: remind, CommandID: "nudge-1", ThreadID: reviewer, State: models.OutboxDelivered},
		},
		Bindings: []models.Binding{
			{ID: "b1", Kind: models.BindingWorker, AssignmentID: "one", ThreadID: thread},
			{ID: "b2", Kind: models.BindingIntegrator, TeamID: "crew", ThreadID: reviewer},
		},
		Turns: []models.Turn{
			{ID: "turn-1", ThreadID: thread, Status: models.TurnCompleted, Items: 3},
			{ID: "turn-2", ThreadID: thread, Status: models.TurnLost, Items: 2},
			{ID: "turn-3", ThreadID: reviewer, Status: models.TurnCompleted, Items: 2},
		},
		Events: []models.Event{
			{Sequence: 1, ID: "e1", Type: models.EventRunClaimed, AssignmentID: "one", RunID: "run-1", ActorRole: models.RoleAgent},
			{Sequence: 2, ID: "handoff-1", Type: models.EventHandoffSubmitted, AssignmentID: "one", RunID: "run-1", ActorRole: models.RoleAgent},
			{Sequence: 3, ID: "e3", Type: models.EventRunEnded, AssignmentID: "one", RunID: "run-1"},
			{Sequence: 4, ID: "e4", Type: models.EventIntegratorReview, AssignmentID: "one", ReviewedEventID: "handoff-1"},
			{Sequence: 5, ID: "e5", Type: models.EventRunClaimed, AssignmentID: "one", RunID: "run-2", ActorRole: models.RoleAgent},
			{Sequence: 6, ID: "handoff-2", Type: models.EventHandoffSubmitted, AssignmentID: "one", RunID: "run-2", ActorRole: models.RoleAgent},
			{Sequence: 7, ID: "e7", Type: models.EventIntegratorReview, AssignmentID: "one", ReviewedEventID: "handoff-2"},
			{Sequence: 8, ID: "e8", Type: models.EventRunEnded, AssignmentID: "one", RunID: "run-2"},
			{Sequence: 9, ID: "e9", Type: models.EventScopeDirty, AssignmentID: "one", RunID: "run-2"},
		},
		Threads: []audit.Thread{
			{ID: thread, Turns: []audit.Turn{{"turn-1", "completed"}, {"turn-2", "interrupted"}}, Messages: []audit.Message{{prompt, "turn-1"}, {fixText, "turn-2"}}},
			{ID: reviewer, Turns: []audit.Turn{{"turn-3", "completed"}}, Messages: []audit.Message{{remind, "turn-3"}}},
			{ID: "thread-empty"},
		},
		Requests: []audit.Request{{thread, "start", 0, at(1)}, {thread, "start", 1, at(2)}, {thread, "fix", 0, at(12)}, {thread, "fix", 0, at(16)}},
		Marks:    []audit.Mark{{At: at(14), Point: "turn_answered", Killed: []string{"worker", "temporal"}}},
		Excusing: []string{"worker"},
	}
}

func TestSoundWorldHasNoFinding(t *testing.T) {
	if found := audit.Check(sound()); len(found) > 0 {
		t.Errorf("findings %+v", found)
	}
	if left := audit.Waiting(sound()); len(left) > 0 {
		t.Errorf("%v still wait", left)
	}
}

// A turn whose host was killed before its message was stored asked nobody anything.
func TestTurnThatACrashKeptFromItsMessageIsNoFinding(t *testing.T) {
	e := sound()
	e.Threads[0].Turns = append(e.Threads[0].Turns, audit.Turn{"turn-x", "interrupted"})
	if found := audit.Check(e); len(found) > 0 {
		t.Errorf("findings %+v", found)
	}
}

// Every planted fault is found, by its own code, and named.
func TestPlantedFaultsAreFound(t *testing.T) {
	for name, plant := range map[string]struct {
		code, subject string
		fault         func(*audit.Evidence)
	}{
		"a second thread that nobody knows": {audit.SecondThread, "thread-x", func(e *audit.Evidence) {
			e.Threads = append(e.Threads, audit.Thread{ID: "thread-x", Turns: []audit.Turn{{"turn-x", "completed"}}})
		}},
		"a second thread of one assignment": {audit.SecondThread, "one", func(e *audit.Evidence) {
			e.Bindings = append(e.Bindings, models.Binding{ID: "b3", Kind: models.BindingWorker, AssignmentID: "one", ThreadID: "thread-x"})
			e.Threads = append(e.Threads, audit.Thread{ID: "thread-x", Messages: []audit.Message{{"msg-x", "turn-x"}}})
		}},
		"a second integrator's thread": {audit.SecondThread, "the integrator of crew", func(e *audit.Evidence) {
			e.Bindings = append(e.Bindings, models.Binding{ID: "b3", Kind: models.BindingIntegrator, TeamID: "crew", ThreadID: "thread-x"})
			e.Threads = append(e.Threads, audit.Thread{ID: "thread-x", Messages: []audit.Message{{"msg-x", "turn-x"}}})
		}},
		"a run on a thread that is not its binding's": {audit.SecondThread, "run-2", func(e *audit.Evidence) { e.Runs[1].SessionRef = reviewer }},
		"a second prompt under the same id": {audit.RepeatedMessage, prompt, func(e *audit.Evidence) {
			e.Threads[0].Messages = append(e.Threads[0].Messages, audit.Message{ID: prompt, TurnID: "turn-2"})
		}},
		"the same prompt in another thread": {audit.RepeatedMessage, prompt, func(e *audit.Evidence) {
			e.Threads[1].Messages = append(e.Threads[1].Messages, audit.Message{ID: prompt, TurnID: "turn-3"})
		}},
		"a prompt that nobody queued": {audit.UnknownMessage, "", func(e *audit.Evidence) {
			e.Threads[0].Messages = append(e.Threads[0].Messages, audit.Message{TurnID: "turn-2"})
		}},
		"a receipt without its message":     {audit.LostMessage, fixText, func(e *audit.Evidence) { e.Threads[0].Messages = e.Threads[0].Messages[:1] }},
		"a message that was dropped and is": {audit.LostMessage, fixText, func(e *audit.Evidence) { e.Messages[1].State = models.OutboxDropped }},
		"a message that never arrived":      {audit.OpenMessage, fixText, func(e *audit.Evidence) { e.Messages[1].State = models.OutboxSending }},
		"a nudge without its message":       {audit.LostNudge, "nudge-1", func(e *audit.Evidence) { e.Messages = e.Messages[:2] }},
		"a nudge whose message failed":      {audit.LostNudge, "nudge-1", func(e *audit.Evidence) { e.Messages[2].State = models.OutboxFailed }},
		"a handoff that nobody was told of": {audit.LostNudge, "handoff-3", func(e *audit.Evidence) {
			e.Events = append(e.Events, models.Event{Sequence: 10, ID: "handoff-3", Type: models.EventHandoffSubmitted, AssignmentID: "three", RunID: "run-3"})
		}},
		"two nudges of one attempt": {audit.RepeatedNudge, "nudge-x", func(e *audit.Evidence) {
			c := e.Commands[2]
			c.ID, c.State = "nudge-x", models.CommandFailed
			e.Commands = append(e.Commands, c)
		}},
		"two messages of one nudge": {audit.RepeatedNudge, "nudge-1", func(e *audit.Evidence) {
			e.Messages[1].CommandID = "nudge-1"
		}},
		"a surplus request":               {audit.SurplusRequest, thread, func(e *audit.Evidence) { e.Requests = append(e.Requests, audit.Request{thread, "fix", 0, at(17)}) }},
		"a surplus request after a crash": {audit.SurplusRequest, thread, func(e *audit.Evidence) { e.Marks[0].At = at(9) }},
		"a crash that takes no answer":    {audit.SurplusRequest, thread, func(e *audit.Evidence) { e.Marks[0].Killed = []string{"temporal"} }},
		"a second run of one attempt":     {audit.RepeatedRun, "run-2", func(e *audit.Evidence) { e.Runs[1].Attempt = 1 }},
		"a run without its command":       {audit.RepeatedRun, "run-2", func(e *audit.Evidence) { e.Commands[1].RunID = "run-1" }},
		"a claim too many": {audit.RepeatedRun, "two", func(e *audit.Evidence) {
			e.Events = append(e.Events, models.Event{Sequence: 10, Type: models.EventRunClaimed, AssignmentID: "two", RunID: "run-3"})
		}},
		"a command that is there twice": {audit.RepeatedCommand, "start-x", func(e *audit.Evidence) { c := e.Commands[0]; c.ID = "start-x"; e.Commands = append(e.Commands, c) }},
		"an attempt after one that did it": {audit.RepeatedCommand, "start-2", func(e *audit.Evidence) {
			e.Commands[1].Cause, e.Commands[1].Attempt = "rev1", 2
		}},
		"a wrong end":             {audit.WrongEnd, "two", func(e *audit.Evidence) { e.Assignments[1].Status = models.AssignmentRunning }},
		"an assignment of nobody": {audit.WrongEnd, "three", func(e *audit.Evidence) { e.Assignments = append(e.Assignments, models.Assignment{ID: "three"}) }},
		"a handoff decided twice": {audit.WrongEnd, "one", func(e *audit.Evidence) { e.Events[6].ReviewedEventID = "handoff-1" }},
		"a run without an end":    {audit.OpenEnd, "run-2", func(e *audit.Evidence) { e.Runs[1].EndedAt = nil }},
		"a task that lives":       {audit.OpenEnd, "task-2", func(e *audit.Evidence) { e.Tasks[1].Status = "live" }},
		"an open command":         {audit.OpenEnd, "start-2", func(e *audit.Evidence) { e.Commands[1].State = models.CommandUnknown }},
		"an active turn":          {audit.OpenEnd, "turn-2", func(e *audit.Evidence) { e.Turns[1].Status = models.TurnActive }},
		"an open question":        {audit.OpenEnd, "q", func(e *audit.Evidence) { e.Interventions = []models.Intervention{{ID: "q", Status: "open"}} }},
		"an unread wake-up":       {audit.OpenEnd, "loop:site:crew", func(e *audit.Evidence) { e.Unread = []string{"loop:site:crew"} }},
		"a turn that nobody saw": {audit.TurnDiffers, "turn-x", func(e *audit.Evidence) {
			e.Threads[0].Turns = append(e.Threads[0].Turns, audit.Turn{"turn-x", "completed"})
		}},
		"a turn with a message that nobody saw": {audit.TurnDiffers, "turn-x", func(e *audit.Evidence) {
			e.Threads[0].Turns = append(e.Threads[0].Turns, audit.Turn{"turn-x", "interrupted"})
			e.Threads[0].Messages = append(e.Threads[0].Messages, audit.Message{"m-x", "turn-x"})
		}},
		"a turn that ended before its message, without a crash": {audit.TurnDiffers, "turn-x", func(e *audit.Evidence) {
			e.Threads[0].Turns = append(e.Threads[0].Turns, audit.Turn{"turn-x", "interrupted"})
			e.Marks = nil
		}},
		"a turn without a history": {audit.TurnDiffers, "turn-2", func(e *audit.Evidence) { e.Threads[0].Turns = e.Threads[0].Turns[:1] }},
		"a turn of another end":    {audit.TurnDiffers, "turn-2", func(e *audit.Evidence) { e.Threads[0].Turns[1].Status = "completed" }},
		"a late heartbeat of an old run": {audit.LateWrite, "late", func(e *audit.Evidence) {
			e.Events = append(e.Events, models.Event{Sequence: 10, ID: "late", Type: models.EventRunHeartbeat, AssignmentID: "one", RunID: "run-1", ActorRole: models.RoleAgent})
		}},
		"a late word of an agent": {audit.LateWrite, "late", func(e *audit.Evidence) {
			e.Events = append(e.Events, models.Event{Sequence: 10, ID: "late", Type: "note", AssignmentID: "one", RunID: "run-2", ActorRole: models.RoleAgent})
		}},
		"a late turn": {audit.LateWrite, "late", func(e *audit.Evidence) {
			e.Events = append(e.Events, models.Event{Sequence: 10, ID: "late", Type: models.EventTurnStarted, AssignmentID: "one", RunID: "run-2"})
		}},
		"an orphan process": {audit.OrphanProcess, "4711", func(e *audit.Evidence) { e.Left = []audit.Process{{4711, "codex app-server"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			e := sound()
			plant.fault(&e)
			var seen []string
			for _, f := range audit.Check(e) {
				if f.Code == plant.code && f.Subject == plant.subject && f.Text != "" {
					return
				}
				seen = append(seen, f.Code+" "+f.Subject)
			}
			t.Errorf("no %s about %q; found: %s", plant.code, plant.subject, strings.Join(seen, ", "))
		})
	}
}
