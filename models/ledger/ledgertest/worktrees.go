package ledgertest

import (
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func worktreeTests() map[string]func(*env) {
	return map[string]func(*env){
		"worktree/wanted_as_assignment_and_workspace_say": worktreeWanted,
		"worktree/late_reports_change_nothing":            worktreeFenced,
		"worktree/work_is_given_up_by_name_only":          worktreeDiscard,
		"worktree/prune_takes_what_holds_nothing":         worktreePrune,
		"worktree/choice_ends_with_the_first_run":         worktreeChoice,
		"hook/owed_once_and_repeated_until_done":          hookRepeated,
		"hook/owed_by_a_run_from_its_claim":               hookAfterRun,
	}
}

// git makes the workspace one with a repository.
func (e *env) git() {
	e.Helper()
	_, err := e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: space, GitCommonDir: "/repo/example/.git"})
	e.ok(err)
}

func (e *env) worktree(id string) (models.Worktree, bool) {
	e.Helper()
	w, found, err := e.l.Worktree(e.ctx, id)
	e.ok(err)
	return w, found
}

// ready plans an assignment's start and brings its worktree to readiness.
func (e *env) ready(id string) ledger.Work {
	e.Helper()
	e.create(id, func(n *models.NewAssignment) { n.AllowedPaths = []string{"dir-" + id} })
	work := e.begin(models.CommandStart)
	w, _ := e.worktree(id)
	w.Root, w.Path, w.Branch, w.BaseCommit = "/trees", "/trees/"+id, "cox/"+id, commit
	e.ok(e.l.BeginWorktree(e.ctx, w))
	e.ok(e.l.WorktreeMade(e.ctx, w, work.Run.ID))
	w.State = models.WorktreeMade
	e.ok(e.l.WorktreeReady(e.ctx, w, work.Run.ID))
	return work
}

// over ends an assignment with a worktree that was left as given.
func (e *env) over(id string, left ledger.Leftover) models.Worktree {
	e.Helper()
	work := e.ready(id)
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), id, nil, "enough")
	e.ok(err)
	e.ok(e.l.FailCommand(e.ctx, work.Command.ID, "test", "cancelled"))
	w, _ := e.worktree(id)
	e.ok(e.l.RecordLeftover(e.ctx, w, left))
	w, _ = e.worktree(id)
	return w
}

func worktreeWanted(e *env) {
	e.node()
	choose := func(on bool) func(*models.NewAssignment) {
		return func(n *models.NewAssignment) { n.Worktree, n.AllowedPaths = &on, []string{n.ID} }
	}
	n := models.NewAssignment{ID: "early", TeamID: crew, Title: "t", Worktree: new(true)}
	_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), n, nil)
	e.refused(models.CodeInvalidArgument, err)
	e.git()
	e.create("with", choose(true))
	e.create("without", choose(false))
	e.create("unsaid", func(n *models.NewAssignment) { n.AllowedPaths = []string{"unsaid"} })
	_, err = e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	for id, want := range map[string]bool{"with": true, "without": false, "unsaid": false} {
		w, found := e.worktree(id)
		same(e, "worktree of "+id, found, want)
		if found {
			same(e, "its state", w.State, models.WorktreePlanned)
		}
	}
	e.configure(map[string]string{"worktree": "on"})
	e.create("usual", func(n *models.NewAssignment) { n.AllowedPaths = []string{"usual"} })
	e.create("against", choose(false))
	_, err = e.l.PlanTeam(e.ctx, crew)
	e.ok(err)
	_, usual := e.worktree("usual")
	_, against := e.worktree("against")
	same(e, "worktree by the workspace", usual, true)
	same(e, "worktree against the workspace", against, false)
	stored := e.assignment("against")
	same(e, "the choice is stored", stored.Worktree != nil && !*stored.Worktree, true)
}

func worktreeFenced(e *env) {
	e.git()
	e.node()
	e.configure(map[string]string{"worktree": "on"})
	work := e.ready("one")
	w, _ := e.worktree("one")
	same(e, "state", w.State, models.WorktreeReady)
	same(e, "the start is ready", w.PreparedRun, work.Run.ID)
	e.ok(e.l.WorktreeLost(e.ctx, w))
	now, _ := e.worktree("one")
	same(e, "generation", now.Generation, 2)
	e.refused(models.CodeVersionConflict, e.l.WorktreeReady(e.ctx, w, work.Run.ID))
	e.refused(models.CodeVersionConflict, e.l.RecordLeftover(e.ctx, w, ledger.Leftover{Hash: "x"}))
	e.refused(models.CodeVersionConflict, e.l.WorktreeGone(e.ctx, w, false))
	after, _ := e.worktree("one")
	sameJSON(e, "the worktree", after, now)
	_, err := e.l.RemoveWorktree(e.ctx, ledger.As(ann), "one", "")
	e.refused(models.CodeInvalidArgument, err)
	_, due, err := e.l.BeginRemoval(e.ctx, "one")
	e.refused(models.CodeInvalidArgument, err)
	same(e, "removal under a run", due, false)
}

func worktreeDiscard(e *env) {
	e.git()
	e.node()
	e.configure(map[string]string{"worktree": "on", "worktree_keep": "1h"})
	e.over("one", ledger.Leftover{Files: []string{"a", "b"}, More: 3, Hash: "h1", Reason: "it holds the repository m"})
	remove := func(by models.Principal, discard string) (models.Worktree, error) {
		return e.l.RemoveWorktree(e.ctx, ledger.As(by), "one", discard)
	}
	_, err := remove(boss, "h1")
	e.refused(models.CodeForbidden, err)
	_, err = remove(ann, "")
	refusal := e.refused(models.CodeInvalidArgument, err)
	same(e, "the id to give it up by", refusal.Details["discard"], any("h1"))
	same(e, "the refusal", refusal.Message, `discard: the worktree /trees/one holds work that is nowhere else: a, b and 3 more; it holds the repository m`)
	_, err = remove(ann, "h0")
	e.refused(models.CodeInvalidArgument, err)
	inbox, err := e.l.Inbox(e.ctx, ledger.InboxFilter{})
	e.ok(err)
	same(e, "entries of the inbox", len(inbox), 1)
	same(e, "its reason", inbox[0].Reason, models.ReasonKeptWorktree)
	e.clock.advance(2 * time.Hour)
	_, due, err := e.l.BeginRemoval(e.ctx, "one")
	e.ok(err)
	same(e, "removal by the clock", due, false)
	e.woken()
	w, err := remove(ann, "h1")
	e.ok(err)
	same(e, "state", w.State, models.WorktreeRemoving)
	same(e, "its workflow is woken", e.woken()[ledger.AssignmentWorkflow("one")], true)
	w, due, err = e.l.BeginRemoval(e.ctx, "one")
	e.ok(err)
	same(e, "removal by name", due, true)
	e.ok(e.l.WorktreeGone(e.ctx, w, true))
	w, err = remove(ann, "")
	e.ok(err)
	same(e, "once more", w.State, models.WorktreeRemoved)
	inbox, err = e.l.Inbox(e.ctx, ledger.InboxFilter{})
	e.ok(err)
	same(e, "entries of the inbox in the end", len(inbox), 0)
}

func worktreePrune(e *env) {
	e.git()
	e.node()
	e.configure(map[string]string{"worktree": "on"})
	e.over("clean", ledger.Leftover{})
	e.over("dirty", ledger.Leftover{Files: []string{"a"}, Hash: "h"})
	e.ready("live")
	_, err := e.l.PruneWorktrees(e.ctx, ledger.As(agentA), ledger.WorktreeFilter{})
	e.refused(models.CodeForbidden, err)
	out, err := e.l.PruneWorktrees(e.ctx, ledger.As(ann), ledger.WorktreeFilter{WorkspaceID: space})
	e.ok(err)
	same(e, "removing", len(out.Removing), 1)
	same(e, "kept", len(out.Kept), 1)
	same(e, "that holds nothing", out.Removing[0].AssignmentID, "clean")
	same(e, "that holds work", out.Kept[0].AssignmentID, "dirty")
	live, _ := e.worktree("live")
	same(e, "the live one", live.State, models.WorktreeReady)
	all, err := e.l.Worktrees(e.ctx, ledger.WorktreeFilter{TeamID: crew, States: []models.WorktreeState{models.WorktreeReady}})
	e.ok(err)
	same(e, "ready ones", len(all), 2)
	same(e, "with the assignment's status", all[0].AssignmentStatus, models.AssignmentCancelled)
}

func worktreeChoice(e *env) {
	e.git()
	e.node()
	on := true
	e.create("one", func(n *models.NewAssignment) { n.Worktree = &on })
	edit := func(p models.AssignmentPatch) error {
		_, err := e.l.EditAssignment(e.ctx, ledger.As(boss), "one", nil, p)
		return err
	}
	off := false
	e.ok(edit(models.AssignmentPatch{Worktree: &off}))
	e.ok(edit(models.AssignmentPatch{ReplaceWorktree: true}))
	same(e, "the choice", e.assignment("one").Worktree == nil, true)
	e.ok(edit(models.AssignmentPatch{Worktree: &on}))
	e.begin(models.CommandStart)
	w, _ := e.worktree("one")
	e.ok(edit(models.AssignmentPatch{Worktree: &on, Title: new("Another title")})) // nothing of it is made
	w.Root, w.Path, w.Branch = "/trees", "/trees/one", "cox/one"
	e.ok(e.l.BeginWorktree(e.ctx, w))
	e.refused(models.CodeInvalidArgument, edit(models.AssignmentPatch{Worktree: &off}))
}

func hookRepeated(e *env) {
	e.git()
	e.node()
	e.configure(map[string]string{"worktree": "on", "hook_after_create": "make ready"})
	e.ready("one")
	w, _ := e.worktree("one")
	id := ledger.AfterCreateID(w)
	first, open, err := e.l.BeginHook(e.ctx, id)
	e.ok(err)
	same(e, "the hook is owed", open, true)
	same(e, "its command", first.Command, "make ready")
	same(e, "its folder", first.Folder(), "/trees/one")
	second, open, err := e.l.BeginHook(e.ctx, id) // the first attempt's worker was killed
	e.ok(err)
	same(e, "and again", open, true)
	e.ok(e.l.FinishHook(e.ctx, first.Run, ledger.HookEnd{OK: true}))
	same(e, "ends on record after a late report", len(e.events("one", models.EventHookEnded)), 0)
	e.ok(e.l.FinishHook(e.ctx, second.Run, ledger.HookEnd{ExitCode: 3, Output: "no\x1b[31m way"}))
	ended := e.events("one", models.EventHookEnded)
	same(e, "ends on record", len(ended), 1)
	same(e, "its output", ended[0].Payload["output"], any("no[31m way"))
	third, open, err := e.l.BeginHook(e.ctx, id)
	e.ok(err)
	same(e, "a failed one", open, true)
	e.ok(e.l.FinishHook(e.ctx, third.Run, ledger.HookEnd{OK: true}))
	_, open, err = e.l.BeginHook(e.ctx, id)
	e.ok(err)
	same(e, "a done one", open, false)
	runs, err := e.l.HookRuns(e.ctx, "one")
	e.ok(err)
	same(e, "attempts", runs[0].Attempts, 3)
	same(e, "state", runs[0].State, models.HookDone)
}

func hookAfterRun(e *env) {
	e.node()
	e.configure(map[string]string{"hook_after_run": "true"})
	run, by := e.managed("one")
	step, err := e.l.NextAssignmentStep(e.ctx, "one")
	e.ok(err)
	same(e, "the hook before the end", step.HookID, "")
	e.startTurn("thread-one", "turn-1")
	e.handOff(by, "one")
	e.woken()
	e.endTurn("thread-one", "turn-1")
	same(e, "its workflow is woken", e.woken()[ledger.AssignmentWorkflow("one")], true)
	step, err = e.l.NextAssignmentStep(e.ctx, "one")
	e.ok(err)
	same(e, "the hook after the end", step.HookID, models.HookRunID(models.HookAfterRun, run.ID))
	e.configure(map[string]string{"hook_after_run": ""})
	_, open, err := e.l.BeginHook(e.ctx, step.HookID)
	e.ok(err)
	same(e, "a hook that is no more", open, false)
	step, err = e.l.NextAssignmentStep(e.ctx, "one")
	e.ok(err)
	same(e, "the hook then", step.HookID, "")
}
