package ledgertest

import (
	"fmt"
	"slices"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

func planTests() map[string]func(*env) {
	return map[string]func(*env){
		"import/whole_plan":           importPlan,
		"import/all_problems_at_once": importProblems,
		"import/again_is_unchanged":   importAgain,
		"import/update":               importUpdate,
		"import/dry_run":              importDryRun,
		"import/same_request":         importReplayed,
		"import/cycles":               importCycles,
		"import/who_may":              importRoles,
		"edit/contract":               editContract,
		"edit/refused_when_late":      editLate,
		"edit/dependencies":           editDependencies,
		"edit/start_meanwhile":        editBeforeClaim,
	}
}

func entry(id string, change ...func(*models.NewAssignment)) models.NewAssignment {
	n := models.NewAssignment{ID: id, TeamID: crew, Title: "Build " + id}
	for _, fn := range change {
		fn(&n)
	}
	return n
}

func waitsFor(ids ...string) func(*models.NewAssignment) {
	return func(n *models.NewAssignment) { n.DependsOn = ids }
}

func (e *env) tryImport(entries ...models.NewAssignment) ([]ledger.Imported, error) {
	return e.l.ImportAssignments(e.ctx, ledger.As(ann), ledger.ImportRequest{Entries: entries})
}

// problems demands a refusal and returns its problems as "id field code".
func (e *env) problems(code models.Code, err error) []string {
	e.Helper()
	refusal := e.refused(code, err)
	list, _ := refusal.Details["problems"].([]models.ImportProblem)
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, fmt.Sprintf("%s %s %s", p.AssignmentID, p.Field, p.Code))
	}
	return out
}

func importPlan(e *env) {
	e.create("old")
	e.woken()
	done, err := e.tryImport(
		entry("last", waitsFor("middle", "old")),
		entry("first", func(n *models.NewAssignment) {
			n.Priority, n.AllowedPaths, n.AcceptanceCriteria = 7, []string{"./src/**"}, []string{"tests pass"}
			n.Metadata = map[string]any{"assigned_actor_hint": "codex-worker-a", "context_refs": []any{map[string]any{"path": "docs/a.md"}}}
		}),
		entry("middle", waitsFor("first", "first")),
	)
	e.ok(err)
	same(e, "entries", len(done), 3)
	for i, id := range []string{"last", "first", "middle"} {
		same(e, "outcome", done[i].Outcome, models.ImportCreated)
		same(e, "order of the plan", done[i].Assignment.ID, id)
		sameJSON(e, "read back", e.assignment(id), done[i].Assignment)
		created := e.events(id)
		same(e, "one event each", len(created), 1)
		same(e, "its type", created[0].Type, models.EventAssignmentCreated)
		same(e, "its author", created[0].ActorID, ann.ActorID)
	}
	first := e.assignment("first")
	same(e, "worker", first.TargetActorID(), "codex-worker-a")
	same(e, "path", first.AllowedPaths[0], "src/**")
	sameJSON(e, "edges", e.assignment("last").DependsOn, []string{"middle", "old"})
	sameJSON(e, "no edge twice", e.assignment("middle").DependsOn, []string{"first"})
	same(e, "events in the order of the plan", e.events("last")[0].Sequence < e.events("first")[0].Sequence, true)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	_, err = e.tryClaim(agentA, "middle")
	e.refused(models.CodeDependencyBlocked, err)
}

func importProblems(e *env) {
	e.create("taken")
	_, err := e.tryImport(
		entry("good"),
		entry("two words"),
		entry("bad", func(n *models.NewAssignment) {
			n.Title, n.AllowedPaths, n.AcceptanceCriteria = " ", []string{"../x", "ok", "/etc"}, []string{"", "fine"}
			n.Metadata = map[string]any{"context_refs": []any{map[string]any{"path": "/x"}}, "session_bind": map[string]any{"target_actor_id": "a b"}}
		}),
		entry("good"),
		entry("lost", func(n *models.NewAssignment) { n.TeamID = "nobody" }),
		entry("waits", waitsFor("good", "nowhere", "taken")),
		entry("long", func(n *models.NewAssignment) { n.Title = strings.Repeat("x", ledger.MaxTitle+1) }),
		entry("leaks", func(n *models.NewAssignment) {
			n.Metadata = map[string]any{"execution": map[string]any{"risk_notes": []any{bearer}}}
		}),
		entry("taken", func(n *models.NewAssignment) { n.Priority = 9 }),
	)
	sameJSON(e, "problems", e.problems(models.CodeInvalidArgument, err), []string{
		"two words assignment_id INVALID_ARGUMENT",
		"bad title INVALID_ARGUMENT", "bad acceptance_criteria INVALID_ARGUMENT", "bad allowed_paths INVALID_ARGUMENT", "bad allowed_paths INVALID_ARGUMENT",
		"bad metadata.context_refs INVALID_ARGUMENT", "bad metadata.session_bind.target_actor_id INVALID_ARGUMENT",
		"good assignment_id INVALID_ARGUMENT", "lost team_id NOT_FOUND", "waits depends_on NOT_FOUND", "long title INVALID_ARGUMENT",
		"leaks metadata.execution.risk_notes[0] SECRET_DETECTED", "taken priority IDEMPOTENCY_CONFLICT",
	})
	same(e, "the secret is not told", strings.Contains(err.Error(), bearer), false)
	_, err = e.l.Assignment(e.ctx, "good")
	e.refused(models.CodeNotFound, err)
	same(e, "nothing changed", e.assignment("taken").Revision, 1)
	_, err = e.tryImport(entry("one", waitsFor("nowhere")), entry("two", waitsFor("elsewhere")))
	e.problems(models.CodeNotFound, err)
	_, err = e.tryImport()
	e.refused(models.CodeInvalidArgument, err)
}

func importAgain(e *env) {
	plan := []models.NewAssignment{
		entry("one", func(n *models.NewAssignment) {
			n.Metadata = map[string]any{"assigned_actor_hint": "codex-worker-a", "n": 3, "execution": map[string]any{"key_files": []any{"a"}}}
		}),
		entry("two", waitsFor("one")), entry("three"),
	}
	_, err := e.tryImport(plan...)
	e.ok(err)
	e.claim(agentA, "one")
	_, err = e.l.SupersedeAssignment(e.ctx, ledger.As(boss), "three", "two", nil, "r")
	e.ok(err)
	before, err := e.l.Events(e.ctx, ledger.EventFilter{})
	e.ok(err)
	e.woken()
	done, err := e.tryImport(plan...)
	e.ok(err)
	for _, d := range done {
		same(e, d.Assignment.ID, d.Outcome, models.ImportUnchanged)
		sameJSON(e, "as stored", d.Assignment, e.assignment(d.Assignment.ID))
	}
	now, err := e.l.Events(e.ctx, ledger.EventFilter{})
	e.ok(err)
	same(e, "no new event", len(now), len(before))
	same(e, "nobody woken", len(e.woken()), 0)
}

func importUpdate(e *env) {
	_, err := e.tryImport(entry("one"), entry("two", waitsFor("one")), entry("busy"))
	e.ok(err)
	e.claim(agentA, "busy")
	changed := []models.NewAssignment{
		entry("one", waitsFor("two")), // turned round
		entry("two", func(n *models.NewAssignment) { n.Title, n.Priority = "Second", 4 }),
		entry("busy", func(n *models.NewAssignment) { n.Priority = 2 }),
		entry("fresh", waitsFor("one")),
	}
	_, err = e.tryImport(changed...)
	same(e, "refused without being asked to", len(e.problems(models.CodeIdempotencyConflict, err)), 3)
	update := func(entries ...models.NewAssignment) ([]ledger.Imported, error) {
		return e.l.ImportAssignments(e.ctx, ledger.As(ann), ledger.ImportRequest{Entries: entries, Update: true})
	}
	done, err := update(changed...)
	e.ok(err)
	sameJSON(e, "outcomes", []models.ImportOutcome{done[0].Outcome, done[1].Outcome, done[2].Outcome, done[3].Outcome},
		[]models.ImportOutcome{models.ImportUpdated, models.ImportUpdated, models.ImportUpdated, models.ImportCreated})
	sameJSON(e, "what changed", done[1].Changed, []string{"title", "priority", "depends_on"})
	same(e, "revision", e.assignment("two").Revision, 2)
	sameJSON(e, "turned round", e.assignment("one").DependsOn, []string{"two"})
	sameJSON(e, "no longer", e.assignment("two").DependsOn, []string{})
	same(e, "last event", e.events("two", models.EventAssignmentEdited)[0].Payload["after"].(map[string]any)["title"], any("Second"))
	changed[2].Title = "Other work"
	_, err = update(changed...)
	sameJSON(e, "an agent works on it", e.problems(models.CodeInvalidArgument, err), []string{"busy title INVALID_ARGUMENT"})
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "others", WorkspaceID: space})
	e.ok(err)
	_, err = update(entry("one", func(n *models.NewAssignment) { n.TeamID = "others" }))
	sameJSON(e, "no move", e.problems(models.CodeInvalidArgument, err), []string{"one team_id INVALID_ARGUMENT"})
}

func importDryRun(e *env) {
	e.create("old")
	e.woken()
	request := ledger.ImportRequest{Update: true, DryRun: true, Entries: []models.NewAssignment{
		entry("new"), entry("old", func(n *models.NewAssignment) { n.Title = "Renamed" }),
	}}
	c := ledger.As(ann).Request("dry")
	done, err := e.l.ImportAssignments(e.ctx, c, request)
	e.ok(err)
	same(e, "would create", done[0].Outcome, models.ImportCreated)
	same(e, "would update", done[1].Assignment.Title, "Renamed")
	_, err = e.l.Assignment(e.ctx, "new")
	e.refused(models.CodeNotFound, err)
	same(e, "kept", e.assignment("old").Title, "Build old")
	same(e, "no event", len(e.events("old")), 1)
	same(e, "nobody woken", len(e.woken()), 0)
	request.DryRun = false
	_, err = e.l.ImportAssignments(e.ctx, ledger.As(ann).Request("dry"), request)
	e.ok(err)
	same(e, "now it is", e.assignment("new").Revision, 1)
}

func importReplayed(e *env) {
	request := ledger.ImportRequest{Entries: []models.NewAssignment{entry("one")}}
	_, err := e.l.ImportAssignments(e.ctx, ledger.As(ann).Request("r1"), request)
	e.ok(err)
	c := ledger.As(ann).Request("r1")
	done, err := e.l.ImportAssignments(e.ctx, c, request)
	e.ok(err)
	same(e, "replayed", c.Replayed && done[0].Outcome == models.ImportCreated, true)
	request.Entries[0].Title = "other"
	_, err = e.l.ImportAssignments(e.ctx, ledger.As(ann).Request("r1"), request)
	e.refused(models.CodeIdempotencyConflict, err)
}

func importCycles(e *env) {
	e.create("old")
	_, err := e.tryImport(entry("a", waitsFor("b")), entry("b", waitsFor("c")), entry("c", waitsFor("a")), entry("d", waitsFor("d")), entry("e", waitsFor("a")))
	refusal := e.refused(models.CodeDependencyCycle, err)
	list := refusal.Details["problems"].([]models.ImportProblem)
	same(e, "cycles", len(list), 2)
	same(e, "its path", strings.Contains(list[0].Message, "a → b → c → a"), true)
	same(e, "the short one", strings.Contains(list[1].Message, "d → d"), true)
	_, err = e.tryImport(entry("x", waitsFor("old")))
	e.ok(err)
	_, err = e.l.ImportAssignments(e.ctx, ledger.As(ann), ledger.ImportRequest{Update: true, Entries: []models.NewAssignment{entry("old", waitsFor("y")), entry("y", waitsFor("x"))}})
	e.refused(models.CodeDependencyCycle, err)
	sameJSON(e, "kept", e.assignment("old").DependsOn, []string{})
}

func importRoles(e *env) {
	_, err := e.l.ImportAssignments(e.ctx, ledger.As(agentA), ledger.ImportRequest{Entries: []models.NewAssignment{entry("one")}})
	e.refused(models.CodeForbidden, err)
	_, err = e.l.ImportAssignments(e.ctx, ledger.As(boss), ledger.ImportRequest{Entries: []models.NewAssignment{entry("one")}})
	e.ok(err)
}

func (e *env) edit(id string, base *int, p models.AssignmentPatch) (ledger.Edited, error) {
	return e.l.EditAssignment(e.ctx, ledger.As(ann), id, base, p)
}

func editContract(e *env) {
	e.create("one", func(n *models.NewAssignment) { n.Metadata = map[string]any{"keep": "k"} })
	e.woken()
	done, err := e.edit("one", new(1), models.AssignmentPatch{
		Title: new("Better"), Priority: new(8), AllowedPaths: &[]string{"./src"}, AcceptanceCriteria: &[]string{"works"}, Metadata: map[string]any{"add": "a"},
	})
	e.ok(err)
	sameJSON(e, "changed", done.Changed, []string{"title", "priority", "allowed_paths", "acceptance_criteria", "metadata"})
	a := e.assignment("one")
	sameJSON(e, "read back", a, done.Assignment)
	same(e, "revision", a.Revision, 2)
	same(e, "status", a.Status, models.AssignmentReady)
	sameJSON(e, "metadata", a.Metadata, map[string]any{"keep": "k", "add": "a"})
	event := e.events("one", models.EventAssignmentEdited)[0]
	same(e, "event revision", event.AssignmentRevision, 2)
	same(e, "before", event.Payload["before"].(map[string]any)["title"], any("Build one"))
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)

	done, err = e.edit("one", nil, models.AssignmentPatch{Title: new("Better")})
	e.ok(err)
	same(e, "nothing to change", len(done.Changed) == 0 && done.Assignment.Revision == 2, true)
	same(e, "no event", len(e.events("one", models.EventAssignmentEdited)), 1)

	e.unchanged("one", models.CodeStaleRevision, func() error { _, err := e.edit("one", new(1), models.AssignmentPatch{Priority: new(1)}); return err })
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.edit("one", nil, models.AssignmentPatch{Title: new(" ")}); return err })
	e.unchanged("one", models.CodeInvalidArgument, func() error {
		_, err := e.edit("one", nil, models.AssignmentPatch{AllowedPaths: &[]string{"../x"}})
		return err
	})
	e.unchanged("one", models.CodeSecretDetected, func() error { _, err := e.edit("one", nil, models.AssignmentPatch{Title: new(bearer)}); return err })
	e.unchanged("one", models.CodeForbidden, func() error {
		_, err := e.l.EditAssignment(e.ctx, ledger.As(agentA), "one", nil, models.AssignmentPatch{Priority: new(1)})
		return err
	})
	_, err = e.edit("nowhere", nil, models.AssignmentPatch{})
	e.refused(models.CodeNotFound, err)
}

func editLate(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	criteria := models.AssignmentPatch{AcceptanceCriteria: &[]string{"more"}}
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.edit("one", nil, criteria); return err })
	_, err := e.edit("one", nil, models.AssignmentPatch{Priority: new(5)})
	e.ok(err)
	same(e, "priority", e.assignment("one").Priority, 5)
	handoff := e.handOff(agentA, "one")
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.edit("one", nil, criteria); return err })
	_, err = e.decide(boss, handoff.ID, models.DecisionNeedsFix)
	e.ok(err)
	_, err = e.edit("one", nil, criteria)
	e.ok(err)
	same(e, "still to fix", e.assignment("one").Status, models.AssignmentNeedsFix)
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, "r")
	e.ok(err)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.edit("one", nil, models.AssignmentPatch{Priority: new(1)}); return err })
}

func editDependencies(e *env) {
	e.create("one")
	e.create("two", func(n *models.NewAssignment) { n.DependsOn = []string{"one"} })
	e.create("three")
	done, err := e.edit("two", nil, models.AssignmentPatch{AddDependsOn: []string{"three"}, RemoveDependsOn: []string{"one"}})
	e.ok(err)
	sameJSON(e, "depends on", done.Assignment.DependsOn, []string{"three"})
	_, err = e.edit("three", nil, models.AssignmentPatch{AddDependsOn: []string{"two"}})
	refusal := e.refused(models.CodeDependencyCycle, err)
	sameJSON(e, "path", refusal.Details["path"], []string{"three", "two", "three"})
	_, err = e.edit("three", nil, models.AssignmentPatch{AddDependsOn: []string{"nowhere"}})
	e.refused(models.CodeNotFound, err)
	_, err = e.edit("three", nil, models.AssignmentPatch{RemoveDependsOn: []string{"one"}})
	e.refused(models.CodeInvalidArgument, err)
	same(e, "kept", slices.Equal(e.assignment("three").DependsOn, []string{}), true)
}

// editBeforeClaim edits between a planned start and its claim: the claim is refused,
// and the next start has the new contract.
func editBeforeClaim(e *env) {
	e.node()
	e.create("one")
	w := e.begin(models.CommandStart)
	_, err := e.l.RecordThread(e.ctx, w.Command.ID, "test", "thread-one")
	e.ok(err)
	_, err = e.edit("one", nil, models.AssignmentPatch{Title: new("Other work")})
	e.ok(err)
	e.refused(models.CodeStaleRevision, e.l.ClaimRun(e.ctx, w.Command.ID, "test", ledger.Claim{Prompt: "old words"}))
	e.ok(e.l.FailCommand(e.ctx, w.Command.ID, "test", "changed meanwhile"))
	again := e.begin(models.CommandStart)
	same(e, "title", again.Assignment.Title, "Other work")
	same(e, "revision", again.Command.AssignmentRevision, 2)
}

// bearer is a header that every rule set takes for a secret.
const bearer = `curl -H "Authorization: Bearer abcdef0123456789abcdef0123456789"` //nolint:gosec // made up
