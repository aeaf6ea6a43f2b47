package prompts

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template/parse"

	"coxswain/models"
)

var update = flag.Bool("update", false, "write the golden files anew")

const goldenDir = "../testdata/golden/prompts"

func fullWork() Work {
	return Work{
		ActorID: "codex-worker-7", WorkspaceID: "example-workspace", TeamID: "coordination-memory-loop",
		AssignmentID: "task_abc", Title: `Bind runs to "Codex" threads`, Revision: 7, RunID: "run_123",
		CommandID:    "cmd_start_assignment_task_abc_7_attempt1",
		WorktreePath: "/workspaces/coordination-memory", Branch: "dev",
		BaseCommit: "a63a2bd3dbb3787b52b3cc644449d76979191f63",
		ContextRefs: []models.ContextRef{
			{Path: "docs/design/loop.md", Read: []string{"Purpose", "Assignment Contract"}},
			{Path: "docs/design/principles.md"},
		},
		AllowedPaths:       []string{"coordination-memory/**", "docs/odd`name.md"},
		AcceptanceCriteria: []string{"The loop starts a first-class Codex thread.", "Pending review work\nis nudged to an integrator."},
		Description:        "Bind, then resume.\n```\ncox run show\n```",
	}
}

func bareWork() Work {
	return Work{
		ActorID: "codex-worker-task_min", WorkspaceID: "w", AssignmentID: "task_min", Title: "Write the readme",
		Revision: 2, RunID: "run_1", CommandID: "cmd_start_assignment_task_min_1_attempt1",
	}
}

func pending() []models.PendingReview {
	return []models.PendingReview{
		{
			Event: models.Event{ID: "evt_1", AssignmentID: "task_abc", RunID: "run_123"}, Title: "Bind runs", Revision: 8,
			WorkerActorID: "codex-worker-7", BaseCommit: "a63a2bd", HeadCommit: "b63a2bd",
			WorktreePath: "/workspaces/coordination-memory", AllowedPaths: []string{"src/**", "docs"},
		},
		{Event: models.Event{ID: "evt_2", AssignmentID: "task_min"}, Title: "Write the readme", Revision: 3, WorkerActorID: "codex-worker-task_min"},
	}
}

func reviewInput() ReviewInput {
	return ReviewInput{
		ActorID: "codex-integrator-core", WorkspaceID: "example-workspace", TeamID: "core",
		CommandID: "cmd_nudge_review_core_evt_1_attempt1", Attempt: 1, MaxNudges: 3, Reviews: pending(),
	}
}

// samples has an input for every branch of every template, by golden file.
func samples() map[string]Input {
	again := reviewInput()
	again.Attempt = 2
	resume := func(reason ResumeReason) ResumeInput {
		return ResumeInput{Work: fullWork(), Reason: reason, LastCommandID: "cmd_start_assignment_task_abc_7_attempt1"}
	}
	answered := resume(ResumeAnswered)
	answered.Answers = []Answer{
		{InterventionID: "evt_ask", AskedBy: "codex-worker-7", Question: "May I delete old.go?\n```\nrm old.go\n```", Answer: "Yes.\nKeep its tests.", AnsweredBy: "human:ada"},
		{InterventionID: "evt_why", AskedBy: "codex-integrator-core", Question: "Which release is it for?", Answer: "The next one.", AnsweredBy: "human:bob"},
	}
	unquoted := resume(ResumeAnswered)
	unquoted.Work, unquoted.Answers = bareWork(), []Answer{{InterventionID: "evt_ask", AskedBy: "cox", Answer: "Go on.", AnsweredBy: "human:ada"}}
	told := reviewInput()
	told.Answers = []Answer{{InterventionID: "evt_ask", AskedBy: told.ActorID, About: "task_abc", Question: "Is the new flag wanted?", Answer: "Yes, keep it.", AnsweredBy: "human:ada"}}
	stopped := resume(ResumeAnswered)
	stopped.Stopped = true
	stopped.Answers = []Answer{{InterventionID: "evt_stop", AskedBy: "human:ada", Question: "human:ada stopped run run_123: wrong module", Answer: "Only touch the docs.", AnsweredBy: "human:ada"}}
	return map[string]Input{
		"worker_assignment":      WorkerInput{fullWork()},
		"worker_assignment_bare": WorkerInput{bareWork()},
		"worker_fix": FixInput{
			Work: fullWork(), ReviewedEventID: "evt_1", ReviewerID: "codex-integrator-core", HeadCommit: "b63a2bd",
			Note: "1. The test sleeps.\n2. `Bind` swallows its error.",
		},
		"worker_fix_bare":           FixInput{Work: bareWork(), ReviewedEventID: "evt_2"},
		"worker_resume_no_handoff":  resume(ResumeNoHandoff),
		"worker_resume_turn_lost":   resume(ResumeTurnLost),
		"worker_resume_turn_failed": resume(ResumeTurnFailed),
		"worker_resume_answered":    answered,
		"worker_resume_stopped":     stopped,
		"worker_steer":              SteerInput{ActorID: "codex-worker-7", AssignmentID: "add-search", RunID: "run_1", From: "human:ada", Message: "Mind the tests.\n```\ngo test\n```"},
		"worker_resume_unquoted":    unquoted,
		"integrator_review":         reviewInput(),
		"integrator_review_again":   again,
		"integrator_review_told":    told,
		"integrator_escalation":     EscalationInput{ReviewInput: again, InterventionIDs: []string{"evt_ask", "evt_ask_too"}},
	}
}

func developers() map[string]DeveloperInput {
	worker := DeveloperInput{
		Role: models.RoleAgent, ActorID: "codex-worker-7", WorkspaceID: "w", TeamID: "core",
		ProjectDocPath: "AGENTS.md", ProjectDoc: "# Agents\n\nRun `make test`.\n",
	}
	return map[string]DeveloperInput{
		"developer_worker":     worker,
		"developer_integrator": {Role: models.RoleIntegrator, ActorID: "codex-integrator-core", WorkspaceID: "w", TeamID: "core"},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(goldenDir, name+".md")
	if *update {
		if err := os.MkdirAll(goldenDir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from its golden file (run the tests of this package with -update to accept):\n%s", name, got)
	}
}

func TestGoldenPrompts(t *testing.T) {
	seen := map[models.PromptKind]bool{}
	for name, in := range samples() {
		got, err := Render(in.Kind(), in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		seen[in.Kind()] = true
		golden(t, name, got)
	}
	for _, kind := range Kinds() {
		if !seen[kind] {
			t.Errorf("no sample renders the kind %s", kind)
		}
	}
	for name, in := range developers() {
		got, err := DeveloperInstructions(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden(t, name, got)
	}
}

func TestEveryGoldenFileHasASample(t *testing.T) {
	found, err := filepath.Glob(goldenDir + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		_, prompt := samples()[name]
		_, developer := developers()[name]
		if !prompt && !developer {
			t.Errorf("%s belongs to no sample", path)
		}
	}
}

func TestPromptsCarryTheContract(t *testing.T) {
	fix := samples()["worker_fix"].(FixInput)
	answered := samples()["worker_resume_answered"].(ResumeInput)
	tools := []string{"`cox`", "`get_assignment_detail`", "`heartbeat_run`", "`append_event`", "`checkpoint_run`", "`raise_attention`", "`request_intervention`", "`submit_handoff`"}
	worker := append([]string{
		"`codex-worker-7`", "`task_abc`", "`example-workspace`", "revision 7", "`run_123`", "`dev`", "a63a2bd3", "cmd_start_assignment_task_abc_7_attempt1",
		"Bind runs", "`coordination-memory/**`", "first-class Codex thread", "Bind, then resume.", "Do not accept your own work",
	}, tools...)
	decisions := []string{"`list_pending_reviews`", "`get_run_detail`", "`accept_event`", "`reject_event`", "`review_event`", "`needs_fix`", "`create_assignment`", "`request_intervention`", "`evt_1`", "`evt_2`"}
	for _, c := range []struct {
		in   Input
		want []string
	}{
		{WorkerInput{fullWork()}, append([]string{"1. `docs/design/loop.md#Purpose`, `docs/design/loop.md#Assignment Contract`", "2. `docs/design/principles.md`"}, worker...)},
		{fix, append([]string{"The test sleeps", "swallows"}, worker...)},
		{answered, append([]string{"Keep its tests.", "human:ada", "Last known command"}, worker...)},
		{reviewInput(), decisions},
		{samples()["integrator_escalation"], append([]string{"`evt_ask`"}, decisions...)},
		{WorkerInput{bareWork()}, []string{"`AGENTS.md`", "`README.md`", "the whole workspace"}},
	} {
		got, err := Render(c.in.Kind(), c.in)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%T lacks %q", c.in, want)
			}
		}
	}
}

func TestTypedFunctionsRenderTheirKind(t *testing.T) {
	s := samples()
	for kind, call := range map[models.PromptKind]func() (string, error){
		models.PromptWorker:     func() (string, error) { return Worker(s["worker_assignment"].(WorkerInput)) },
		models.PromptFix:        func() (string, error) { return Fix(s["worker_fix"].(FixInput)) },
		models.PromptResume:     func() (string, error) { return Resume(s["worker_resume_turn_lost"].(ResumeInput)) },
		models.PromptReview:     func() (string, error) { return Review(s["integrator_review"].(ReviewInput)) },
		models.PromptEscalation: func() (string, error) { return Escalation(s["integrator_escalation"].(EscalationInput)) },
	} {
		got, err := call()
		if err != nil || !strings.HasPrefix(got, "You are Codex ") {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	noRun, noAnswer, noReviews := fullWork(), samples()["worker_resume_answered"].(ResumeInput), reviewInput()
	noRun.RunID, noAnswer.Answers, noReviews.Reviews = " \n", nil, nil
	noRevision, noEvent := fullWork(), reviewInput()
	noRevision.Revision = 0
	noEvent.Reviews[1].Event.ID = ""
	noReason := ResumeInput{Work: fullWork(), LastCommandID: "c", Reason: "tired"}
	for name, c := range map[string]struct {
		kind  models.PromptKind
		in    Input
		field string
	}{
		"another kind": {models.PromptFix, WorkerInput{fullWork()}, "prompt_kind"},
		"no input":     {models.PromptFix, nil, "prompt_kind"},
		"no run":       {models.PromptWorker, WorkerInput{noRun}, "run_id"},
		"no revision":  {models.PromptWorker, WorkerInput{noRevision}, "revision"},
		"no answer":    {models.PromptResume, noAnswer, "answers"},
		"no reason":    {models.PromptResume, noReason, "reason"},
		"no command":   {models.PromptResume, ResumeInput{Work: fullWork(), Reason: ResumeTurnLost}, "last_command_id"},
		"no reviews":   {models.PromptReview, noReviews, "reviews"},
		"no event":     {models.PromptReview, noEvent, "reviews[1].event_id"},
		"no handoff":   {models.PromptFix, FixInput{Work: fullWork()}, "reviewed_event_id"},
		"no question":  {models.PromptEscalation, EscalationInput{ReviewInput: reviewInput()}, "intervention_ids"},
	} {
		text, err := Render(c.kind, c.in)
		if text != "" || !models.IsCode(err, models.CodeInvalidArgument) || !strings.HasPrefix(err.Error(), c.field+":") {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
	if _, err := DeveloperInstructions(DeveloperInput{Role: models.RoleHuman, ActorID: "a", WorkspaceID: "w", TeamID: "t"}); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("a human has a thread: %v", err)
	}
}

// Every value that a template prints goes through one of the quoting functions,
// or is a number.
func TestTemplatesQuoteEveryField(t *testing.T) {
	safe := map[string]bool{"line": true, "quoted": true, "code": true, "fenced": true, "projectDoc": true, "inc": true}
	numbers := map[string]bool{"Revision": true, "Attempt": true, "MaxNudges": true, "More": true}
	printed := 0
	for _, tmpl := range templates().Templates() {
		if tmpl.Tree == nil {
			continue
		}
		walk(tmpl.Root, func(action *parse.ActionNode) {
			if len(action.Pipe.Decl) > 0 {
				return
			}
			printed++
			last := action.Pipe.Cmds[len(action.Pipe.Cmds)-1]
			name := last.Args[0].String()
			field := name[strings.LastIndex(name, ".")+1:]
			if !safe[name] && !numbers[field] {
				t.Errorf("%s prints %s without quoting it", tmpl.Name(), action)
			}
		})
	}
	if printed < 50 {
		t.Errorf("only %d actions were seen", printed)
	}
}

func walk(node parse.Node, visit func(*parse.ActionNode)) {
	branch := func(b *parse.BranchNode) {
		walk(b.List, visit)
		if b.ElseList != nil {
			walk(b.ElseList, visit)
		}
	}
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			walk(child, visit)
		}
	case *parse.ActionNode:
		visit(n)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}
