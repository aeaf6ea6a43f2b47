package fake_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coxswain/activities/codex"
	"coxswain/models"
)

const workLine = "Assignment task-1: done by the scripted worker.\n"

var wholeWork = []string{"get_assignment_detail", "heartbeat_run", "get_assignment_detail", "submit_handoff"}

func (s *stage) wantCalled(want ...string) {
	s.Helper()
	if got := s.called(); !slices.Equal(got, want) {
		s.Errorf("calls %v, want %v", got, want)
	}
}

func (s *stage) wantFile(name, want string) {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.cwd, name))
	if err != nil || string(data) != want {
		s.Errorf("%s holds %q (%v), want %q", name, data, err, want)
	}
}

// playTo plays a plain prompt and wants it to end as given.
func (s *stage) playTo(thread string, want codex.TurnStatus) codex.Turn {
	s.Helper()
	end := s.play(thread, "Work on your assignment.")
	if end.Status != want {
		s.Errorf("turn ended as %+v, want %s", end, want)
	}
	return end
}

func TestWorkerDoesItsAssignment(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools()})
	thread := s.thread()
	turn := s.playTo(thread, codex.TurnCompleted)
	s.wantCalled(wholeWork...)
	s.wantFile("docs/task-1.md", workLine)
	handoff := s.last("submit_handoff")
	payload, _ := handoff.Args["payload"].(map[string]any)
	if handoff.Args["base_revision"] != 2.0 || !reflect.DeepEqual(payload["files"], []any{"docs/task-1.md"}) || payload["summary"] == "" {
		t.Errorf("handoff with %v", handoff.Args)
	}
	if got := s.scene().Calls[0].Args; len(got) != 0 {
		t.Errorf("the first read names %v", got)
	}
	if beat := s.last("heartbeat_run"); beat.Args["run_id"] != "run_1" || beat.Args["summary"] == "" {
		t.Errorf("heartbeat with %v", beat.Args)
	}
	s.wantMeta(thread, turn.ID)
	s.wantItems(thread, "userMessage mcpToolCall mcpToolCall fileChange mcpToolCall mcpToolCall agentMessage")
}

// wantMeta checks what Codex sends along with every call, and the environment in
// which it starts a server.
func (s *stage) wantMeta(thread, turn string) {
	s.Helper()
	ids := map[string]bool{}
	for _, c := range s.scene().Calls {
		if c.Thread != thread || c.Turn != turn || c.CallID == "" || ids[c.CallID] {
			s.Errorf("call of %s from thread %q, turn %q, call %q", c.Tool, c.Thread, c.Turn, c.CallID)
		}
		ids[c.CallID] = true
		var names []string
		for _, variable := range c.Environment {
			name, _, _ := strings.Cut(variable, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"COX_TOKEN", "HOME", "PATH"}) {
			s.Errorf("the server's environment has %v", names)
		}
	}
}

func (s *stage) wantItems(thread, want string) {
	s.Helper()
	items, err := s.host.ListTurnItems(s.Context(), thread, "")
	if err != nil {
		s.Fatal(err)
	}
	var types []string
	for _, item := range items {
		types = append(types, item.Type)
	}
	if got := strings.Join(types, " "); got != want {
		s.Errorf("items %q, want %q", got, want)
	}
}

func TestWorkerReadsAgainWhenStale(t *testing.T) {
	for _, c := range []struct{ stale, submits int }{{3, 4}, {4, 4}} {
		s := newStage(t, scene{Tools: workerTools(), Stale: c.stale})
		s.playTo(s.thread(), codex.TurnCompleted)
		submits := 0
		for _, name := range s.called() {
			if name == "submit_handoff" {
				submits++
			}
		}
		done := s.scene().Assignment.Status == models.AssignmentAwaitingReview
		if submits != c.submits || done != (c.stale == 3) {
			t.Errorf("%d stale answers: %d submits, handed off %v", c.stale, submits, done)
		}
	}
}

func TestWorkerResumesWhereItStands(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools(), Refuse: map[string]models.Code{"submit_handoff": models.CodeLedgerBusy}})
	thread := s.thread()
	s.playTo(thread, codex.TurnCompleted)
	s.change(func(now *scene) { now.Refuse, now.Calls = nil, nil })
	s.playTo(thread, codex.TurnCompleted)
	s.wantCalled(wholeWork...)
	s.wantFile("docs/task-1.md", workLine)
	s.change(func(now *scene) { now.Calls = nil })
	s.playTo(thread, codex.TurnCompleted) // the handoff is there: nothing to do
	s.wantCalled("get_assignment_detail")
}

func TestWorkerFixesWhatTheIntegratorAsked(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools()})
	thread := s.thread()
	s.playTo(thread, codex.TurnCompleted)
	s.change(func(now *scene) {
		now.Assignment.Status = models.AssignmentClaimed
		now.record(models.EventIntegratorReview, models.EventNeedsFix)
	})
	s.playTo(thread, codex.TurnCompleted)
	s.wantFile("docs/task-1.md", workLine+"Assignment task-1: fix 1 by the scripted worker.\n")
}

func TestWorkerBehaviours(t *testing.T) {
	read, beat := "get_assignment_detail", "heartbeat_run"
	for behaviour, c := range map[string]struct {
		status codex.TurnStatus
		kind   string
		calls  []string
	}{
		"no_handoff":      {codex.TurnCompleted, "", []string{read, beat}},
		"fail:rate_limit": {codex.TurnFailed, "rate_limit", []string{read, beat}},
		"ask":             {codex.TurnCompleted, "", []string{read, "request_intervention"}},
		"slow:20ms":       {codex.TurnCompleted, "", wholeWork},
		"reject":          {codex.TurnCompleted, "", wholeWork},
		"command:true":    {codex.TurnCompleted, "", wholeWork},
		"leak_calls":      {codex.TurnCompleted, "", []string{read, beat}},
		"leak_handoff":    {codex.TurnCompleted, "", []string{read, "submit_handoff"}},
		"dance":           {codex.TurnFailed, "other", []string{read}},
		"slow:soon":       {codex.TurnFailed, "other", []string{read}},
	} {
		t.Run(behaviour, func(t *testing.T) {
			s := newStage(t, scene{Tools: workerTools(), Assignment: behave(behaviour)})
			if end := s.playTo(s.thread(), c.status); end.ErrorKind != c.kind {
				t.Errorf("turn ended as %+v, want kind %q", end, c.kind)
			}
			s.wantCalled(c.calls...)
		})
	}
}

func TestWorkerForgetsTheHandoffOnce(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools(), Assignment: behave("no_handoff_once")})
	thread := s.thread()
	s.playTo(thread, codex.TurnCompleted)
	s.reopen(thread) // what it did is known from the history alone
	s.change(func(now *scene) { now.Calls = nil })
	s.playTo(thread, codex.TurnCompleted)
	s.wantCalled(wholeWork...)
	s.wantFile("docs/task-1.md", workLine)
}

func TestWorkerAsksOnceAndWorksAfterTheAnswer(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools(), Assignment: behave("ask")})
	thread := s.thread()
	s.playTo(thread, codex.TurnCompleted)
	s.change(func(now *scene) { now.Calls = nil })
	s.playTo(thread, codex.TurnCompleted) // not answered yet
	s.wantCalled("get_assignment_detail")
	s.change(func(now *scene) {
		now.Calls = nil
		now.record(models.EventInterventionResponded, models.EventObserved)
	})
	s.playTo(thread, codex.TurnCompleted)
	s.wantCalled(wholeWork...)
}

func TestHangingWorkerIsSteeredAndInterrupted(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools(), Assignment: behave("hang")})
	thread := s.thread()
	turn := s.start(thread, "Work on your assignment.")
	in := codex.TurnInput{Text: "Are you there?", ClientMessageID: "msg-steer"}
	if err := s.host.SteerTurn(t.Context(), thread, turn.ID, in); err != nil {
		t.Fatal(err)
	}
	s.events.WaitDelivered(t, "msg-steer")
	if err := s.host.InterruptTurn(t.Context(), thread, turn.ID); err != nil {
		t.Fatal(err)
	}
	if end := s.events.WaitEnded(t, turn.ID); end.Status != codex.TurnInterrupted {
		t.Errorf("turn ended as %+v", end)
	}
}

func TestWorkerLeavesWhatIsNotItsOwn(t *testing.T) {
	for _, status := range []models.AssignmentStatus{models.AssignmentCancelled, models.AssignmentAwaitingReview, models.AssignmentAwaitingHuman} {
		a := behave("")
		a.Status = status
		s := newStage(t, scene{Tools: workerTools(), Assignment: a})
		s.playTo(s.thread(), codex.TurnCompleted)
		s.wantCalled("get_assignment_detail")
	}
}

func TestWorkerStopsAtARefusal(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools(), Refuse: map[string]models.Code{"heartbeat_run": models.CodeForbidden}})
	thread := s.thread()
	s.playTo(thread, codex.TurnCompleted)
	s.wantCalled("get_assignment_detail", "heartbeat_run")
	items, err := s.host.ListTurnItems(t.Context(), thread, "")
	if err != nil || !strings.Contains(items[len(items)-1].Text, "FORBIDDEN") || items[2].Status != "failed" {
		t.Errorf("items %+v %v", items, err)
	}
}

func TestReadOnlyThreadChangesNothing(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools()})
	s.spec.Writable = false
	s.playTo(s.thread(), codex.TurnCompleted)
	s.play(s.thread(), "@write made.txt x")
	if files, err := os.ReadDir(s.cwd); err != nil || len(files) != 0 {
		t.Errorf("a read-only thread made %v (%v)", files, err)
	}
	s.wantCalled("get_assignment_detail", "heartbeat_run")
}

func TestScriptedToolCall(t *testing.T) {
	s := newStage(t, scene{Tools: workerTools()})
	thread := s.thread()
	if end := s.play(thread, "@tool heartbeat_run {\"summary\":\"scripted\"}\n@tool no_such_tool\n@tool heartbeat_run nonsense\n@say end"); end.Status != codex.TurnCompleted {
		t.Errorf("turn ended as %+v", end)
	}
	s.wantCalled("heartbeat_run")
	if got := s.last("heartbeat_run").Args["summary"]; got != "scripted" {
		t.Errorf("summary %v", got)
	}
	s.wantItems(thread, "userMessage mcpToolCall mcpToolCall agentMessage agentMessage")
}

func TestServerThatDoesNotStartFailsTheTurn(t *testing.T) {
	s := newStage(t, scene{})
	s.spec.MCP.Args = []string{"mcp", filepath.Join(s.cwd, "no-scene")}
	if end := s.playTo(s.thread(), codex.TurnFailed); end.ErrorKind != "other" || !strings.Contains(end.Error, "the server cox did not start") {
		t.Errorf("turn ended as %+v", end)
	}
}

func pending() []models.PendingReview {
	return []models.PendingReview{{
		Event: models.Event{ID: "evt_handoff", AssignmentID: "task-1"}, HeadCommit: "abc123",
	}}
}

func TestIntegratorDecides(t *testing.T) {
	fixed := []models.Event{{Type: models.EventIntegratorReview, Status: models.EventNeedsFix}}
	for _, c := range []struct {
		name, behaviour, tool string
		events                []models.Event
	}{
		{"accepts", "", "accept_event", nil},
		{"leaves the worker's behaviours alone", "no_handoff", "accept_event", nil},
		{"rejects", "reject", "reject_event", nil},
		{"asks for a fix", "needs_fix_once", "review_event", nil},
		{"accepts the fix", "needs_fix_once", "accept_event", fixed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, scene{Tools: integratorTools(), Assignment: behave(c.behaviour), Pending: pending(), Events: c.events, Stale: 1})
			s.spec.Writable = false
			s.playTo(s.thread(), codex.TurnCompleted)
			s.wantCalled("list_pending_reviews", "get_assignment_detail", c.tool, "get_assignment_detail", c.tool)
			args := s.last(c.tool).Args
			if args["event_id"] != "evt_handoff" || args["head_commit"] != "abc123" || args["base_revision"] != 3.0 || args["decision_note"] == "" {
				t.Errorf("%s with %v", c.tool, args)
			}
			if status, ok := args["decision_status"]; ok != (c.tool == "review_event") || ok && status != "needs_fix" {
				t.Errorf("decision status %v", status)
			}
			if got := s.last("get_assignment_detail").Args["assignment_id"]; got != "task-1" {
				t.Errorf("read assignment %v", got)
			}
		})
	}
}

func TestIntegratorDoesMoreThanDecide(t *testing.T) {
	read := "get_assignment_detail"
	answered := []models.Event{{Type: models.EventInterventionRequested}, {Type: models.EventInterventionResponded}}
	for _, c := range []struct {
		name, behaviour string
		events          []models.Event
		calls           []string
	}{
		{"asks about a handoff", "reviewer_asks", nil, []string{read, "request_intervention"}},
		{"does not ask twice", "reviewer_asks", answered[:1], []string{read}},
		{"accepts after the answer", "reviewer_asks", answered, []string{read, "accept_event"}},
		{"ignores until it is told", "ignore_told", nil, []string{read}},
		{"accepts once it is told", "ignore_told", answered, []string{read, "accept_event"}},
		{"creates a follow-up", "follow_up", nil, []string{read, "create_assignment", "accept_event"}},
		{"replaces the work", "replace", nil, []string{read, "create_assignment", "supersede_assignment"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := append(integratorTools(), "create_assignment", "supersede_assignment", "request_intervention")
			s := newStage(t, scene{Tools: tools, Assignment: behave(c.behaviour), Pending: pending(), Events: c.events})
			s.spec.Writable = false
			s.playTo(s.thread(), codex.TurnCompleted)
			s.wantCalled(append([]string{"list_pending_reviews"}, c.calls...)...)
		})
	}
}

func TestIntegratorGoesOnAfterARefusal(t *testing.T) {
	s := newStage(t, scene{
		Tools: integratorTools(), Pending: append(pending(), pending()...),
		Refuse: map[string]models.Code{"accept_event": models.CodeForbidden},
	})
	s.playTo(s.thread(), codex.TurnCompleted)
	s.wantCalled("list_pending_reviews", "get_assignment_detail", "accept_event", "get_assignment_detail", "accept_event")
}
