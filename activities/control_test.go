package activities_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
)

func TestALookRecordsTheGenerationThatItCovers(t *testing.T) {
	s := newStage(t)
	s.create("a")
	id := ledger.LoopWorkflow("w", "t")
	due := func() bool {
		rows, err := s.l.DueWakeups(t.Context(), 100)
		s.ok(err)
		for _, d := range rows {
			if d.WorkflowID == id {
				return true
			}
		}
		return false
	}
	if !due() {
		t.Fatal("a new assignment does not wake the loop")
	}
	var look activities.LoopLook
	s.do(s.control.PlanTeam, activities.Subject{ID: "t", WorkflowID: id}, &look)
	if due() || look.Generation == 0 || look.Planned != 1 || look.Step.Idle {
		t.Errorf("look %+v", look)
	}
	var rest bool
	s.do(s.control.Rest, activities.RestInput{WorkflowID: id, Generation: look.Generation}, &rest)
	if !rest {
		t.Error("rest was refused although nothing was raised")
	}
	s.do(s.control.WakeTeam, activities.WakeTeamInput{WorkspaceID: "w", TeamID: "t"})
	s.do(s.control.Rest, activities.RestInput{WorkflowID: id, Generation: look.Generation}, &rest)
	if rest || !due() {
		t.Error("rest was allowed although a wake-up was raised")
	}
}

// text is what is queued for a thread next.
func (s *stage) text(threadID string) string {
	s.Helper()
	n := s.next(threadID)
	if n.Message == nil {
		s.Fatalf("nothing is queued: %+v", n)
	}
	return n.Message.Item.Text
}

func wantAll(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the message lacks %q:\n%s", w, text)
		}
	}
}

func TestTheFirstPromptNamesTheWorkAsItWillStand(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	wantAll(t, s.text(threadID), "Do a", cmd.ID, cmd.RunID, "/srv/w")
	if a, err := s.l.Assignment(t.Context(), "a"); err != nil || a.Revision != 2 {
		t.Errorf("assignment %+v, %v", a, err)
	}
}

func TestAClaimOfAClosedCommandChangesNothing(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	var wanted bool
	s.do(s.control.ClaimRun, activities.ClaimInput{CommandID: cmd.ID, Owner: "late"}, &wanted)
	if !wanted || s.next(threadID).Pending != 1 {
		t.Errorf("wanted %t, %d messages", wanted, s.next(threadID).Pending)
	}
}

func TestAFixQuotesTheReview(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	event := s.handOff(run.ID)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	_, err := s.l.Decide(t.Context(), ledger.As(person), ledger.DecideRequest{EventID: event.ID, Decision: models.DecisionNeedsFix, Note: "mind the gap"})
	s.ok(err)
	cmd := s.planned(models.CommandStart)
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	var wanted bool
	s.do(s.control.ClaimRun, activities.ClaimInput{CommandID: cmd.ID, Owner: out.Owner}, &wanted)
	if !wanted || out.ThreadID != threadID {
		t.Fatalf("wanted %t on %s", wanted, out.ThreadID)
	}
	wantAll(t, s.text(threadID), "mind the gap", event.ID, person.ActorID)
}

func TestAResumeSaysWhy(t *testing.T) {
	for status, want := range map[models.TurnStatus]string{
		models.TurnCompleted: "has no handoff yet", models.TurnInterrupted: "Do a", models.TurnFailed: "ended in an error",
	} {
		t.Run(string(status), func(t *testing.T) {
			s := newStage(t)
			_, threadID, turnID := s.running("a")
			s.endTurn(threadID, turnID, status)
			cmd := s.planned(models.CommandResume)
			s.do(s.control.QueueResume, named(cmd))
			n := s.next(threadID)
			if status == models.TurnFailed && n.Pending != 1 {
				t.Fatalf("next %+v", n)
			}
			wantAll(t, s.text(threadID), want, cmd.ID)
			s.do(s.control.QueueResume, named(cmd))
			if s.next(threadID).Pending != 1 {
				t.Error("a closed resume queued another message")
			}
		})
	}
}

func TestAResumeQuotesTheAnswer(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	spec, err := s.l.ThreadSpec(t.Context(), run.BindingID)
	s.ok(err)
	_, worker, err := s.l.Bound(t.Context(), spec.Token)
	s.ok(err)
	asked, err := s.l.RequestIntervention(t.Context(), ledger.As(worker), run.ID, "Which harbour?", "", nil)
	s.ok(err)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	_, err = s.l.RespondIntervention(t.Context(), ledger.As(person), asked.ID, "The northern one")
	s.ok(err)
	cmds, err := s.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	s.ok(err)
	if len(cmds) != 1 || cmds[0].Type != models.CommandResume {
		t.Fatalf("after the answer %+v", cmds)
	}
	s.do(s.control.QueueResume, named(cmds[0]))
	wantAll(t, s.text(threadID), "Which harbour?", "The northern one", person.ActorID)
}

func TestANudgeNamesTheUndecidedHandoffs(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	other, otherThread, otherTurn := s.running("b")
	first, second := s.handOff(run.ID), s.handOff(other.ID)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	s.endTurn(otherThread, otherTurn, models.TurnCompleted)
	cmd := s.planned(models.CommandNudge)
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	if spec := s.host.specs[len(s.host.specs)-1]; spec.Writable {
		t.Error("the integrator's thread may write")
	}
	_, err := s.l.Decide(t.Context(), ledger.As(person), ledger.DecideRequest{EventID: second.ID, Decision: models.DecisionAccept})
	s.ok(err)
	s.do(s.control.QueueNudge, activities.ClaimInput{CommandID: cmd.ID, Owner: out.Owner})
	text := s.text(out.ThreadID)
	wantAll(t, text, first.ID, run.ID)
	if strings.Contains(text, second.ID) {
		t.Errorf("the nudge names a decided handoff:\n%s", text)
	}
}

// nudge carries one nudge out up to the end of the integrator's turn and returns
// its text.
func (s *stage) nudge() string {
	s.Helper()
	cmd := s.planned(models.CommandNudge)
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	s.do(s.control.QueueNudge, activities.ClaimInput{CommandID: cmd.ID, Owner: out.Owner})
	text := s.text(out.ThreadID)
	s.do(s.node.Deliver, activities.DeliverInput{ThreadID: out.ThreadID})
	th := s.host.threads[out.ThreadID]
	last := &th.turns[len(th.turns)-1]
	last.Status = codex.TurnCompleted
	s.endTurn(out.ThreadID, last.ID, models.TurnCompleted)
	s.ahead.Add(int64(61 * time.Second))
	return text
}

func TestAfterTheLastNudgeTheIntegratorLearnsThatAPersonWasAsked(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	event := s.handOff(run.ID)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	for range models.DefaultLoop().ReviewMaxNudges {
		wantAll(t, s.nudge(), event.ID)
	}
	plan, err := s.l.PlanTeam(t.Context(), "t")
	s.ok(err)
	asked, err := s.l.Interventions(t.Context(), ledger.InterventionFilter{TeamID: "t"})
	s.ok(err)
	if plan.Asks != 1 || len(asked) != 1 || asked[0].Kind != "review_ignored" {
		t.Fatalf("asked %+v", asked)
	}
	wantAll(t, s.nudge(), event.ID, asked[0].ID)
	if plan, err = s.l.PlanTeam(t.Context(), "t"); err != nil || len(plan.Commands)+plan.Asks != 0 {
		t.Errorf("after the escalation %+v, %v", plan, err)
	}
}

func TestProjectInstructionsAreReadAsCodexReadsThem(t *testing.T) {
	config := activities.NodeConfig{NodeID: "n", StateDir: "/srv/state", Cox: "/opt/cox", TempRoot: t.TempDir()}
	build := func(write func(root string)) string {
		root := t.TempDir()
		write(root)
		spec, err := config.ThreadSpec(t.Context(), ledger.Spec{Binding: models.Binding{ID: "bnd_1", Kind: models.BindingWorker, ActorID: "x", AssignmentID: "a"}, Workspace: models.Workspace{ID: "w", RepoRoot: root}, Team: models.Team{ID: "t"}}, ledger.Access{Private: []string{"/srv/state"}})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(spec.TempDir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("temporary folder %v, %v", info, err)
		}
		return spec.DeveloperInstructions
	}
	put := func(root, name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantAll(t, build(func(root string) { put(root, "AGENTS.md", "Tabs, please") }), "Tabs, please")
	override := build(func(root string) {
		put(root, "AGENTS.md", "Tabs, please")
		put(root, "AGENTS.override.md", "Spaces, please")
	})
	wantAll(t, override, "Spaces, please")
	if strings.Contains(override, "Tabs, please") {
		t.Error("both project documents are passed on")
	}
	linked := build(func(root string) {
		secret := filepath.Join(t.TempDir(), "secret")
		put(filepath.Dir(secret), "secret", "not for agents")
		if err := os.Symlink(secret, filepath.Join(root, "AGENTS.md")); err != nil {
			t.Fatal(err)
		}
	})
	if strings.Contains(linked, "not for agents") {
		t.Error("a link out of the workspace was followed")
	}
}

func TestWhatAnEndedAssignmentLeftIsRecordedOnce(t *testing.T) {
	root := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--no-gpg-sign", "--allow-empty", "-m", "Start"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	repo, err := gitscope.Discover(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, func(w *ledger.NewWorkspace) { w.RepoRoot, w.GitCommonDir = repo.Root, repo.CommonDir })
	cmd, _ := s.started("a")
	if r := s.run(cmd.RunID); r.WorktreePath != repo.Root {
		t.Errorf("worktree %q", r.WorktreePath)
	}
	s.ok(os.WriteFile(filepath.Join(root, "a"), []byte("left"), 0o600))
	s.ok(os.WriteFile(filepath.Join(root, "other"), []byte("not in scope"), 0o600))
	s.cancel("a")
	s.do(s.node.InspectScope, activities.ScopeInput{AssignmentID: "a"})
	s.do(s.node.InspectScope, activities.ScopeInput{AssignmentID: "a"})
	got := s.events(models.EventScopeDirty)
	if len(got) != 1 {
		t.Fatalf("recorded %+v", got)
	}
	if files, _ := got[0].Payload["files"].([]any); len(files) != 1 || files[0] != "a" {
		t.Errorf("files %v", got[0].Payload["files"])
	}
}

func TestTheStartRecordsCommitAndBranch(t *testing.T) {
	if commit, branch, err := activities.Head(t.Context(), models.Workspace{RepoRoot: "/srv/w"}); commit != "" || branch != "" || err != nil {
		t.Errorf("a folder without Git has %q on %q, %v", commit, branch, err)
	}
}
