package ledgertest

import (
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func assignmentTests() map[string]func(*env) {
	return map[string]func(*env){
		"assignment/create":                      createOnce,
		"assignment/check_order":                 createOrder,
		"assignment/session_bind_from_hint":      bindFromHint,
		"assignment/explicit_session_bind_stays": bindStays,
		"assignment/allowed_paths":               pathsChecked,
		"assignment/context_refs":                contextRefsChecked,
		"assignment/limits":                      limitsChecked,
		"assignment/dependencies":                dependencies,
		"assignment/planning_order":              planningOrder,
		"assignment/detail":                      detail,
		"event/append":                           appendEvents,
		"event/reserved_types_and_decisions":     reservedEvents,
		"event/filters":                          eventFilters,
	}
}

func createOnce(e *env) {
	e.woken()
	a, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "task.alpha", TeamID: crew, Title: "Alpha", Priority: 3}, new(0))
	e.ok(err)
	same(e, "status", a.Status, models.AssignmentReady)
	same(e, "revision", a.Revision, 1)
	same(e, "priority", a.Priority, 3)
	same(e, "workspace of the team", a.WorkspaceID, space)
	same(e, "creator", a.CreatedBy, boss.ActorID)
	same(e, "lists are never null", a.AllowedPaths != nil && a.AcceptanceCriteria != nil && a.DependsOn != nil && a.Metadata != nil, true)
	list := e.events("task.alpha")
	same(e, "events", len(list), 1)
	same(e, "type", list[0].Type, models.EventAssignmentCreated)
	same(e, "status", list[0].Status, models.EventProposed)
	same(e, "event revision", list[0].AssignmentRevision, 1)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	sameJSON(e, "read back", e.assignment("task.alpha"), a)
}

func createOrder(e *env) {
	e.create("one")
	n := models.NewAssignment{ID: "one", WorkspaceID: space, TeamID: crew, Title: "again"}
	try := func(by models.Principal, n models.NewAssignment, base *int) error {
		_, err := e.l.CreateAssignment(e.ctx, ledger.As(by), n, base)
		return err
	}
	e.unchanged("one", models.CodeForbidden, func() error { return try(agentA, n, new(1)) })
	e.unchanged("one", models.CodeStaleRevision, func() error { return try(boss, n, new(1)) })
	e.unchanged("one", models.CodeInvalidArgument, func() error { return try(boss, n, new(0)) })
	e.refused(models.CodeForbidden, try(models.Principal{ActorID: "x", Role: "king"}, n, nil))
	e.refused(models.CodeForbidden, try(models.Principal{Role: models.RoleHuman}, n, nil))
	n.ID, n.TeamID = "two", "nobody"
	e.refused(models.CodeNotFound, try(boss, n, nil))
	n.TeamID, n.Title = crew, "  "
	e.refused(models.CodeInvalidArgument, try(boss, n, nil))
	n.Title, n.Metadata = "t", map[string]any{"session_bind": "worker"}
	e.refused(models.CodeInvalidArgument, try(boss, n, nil))
	n.Metadata = map[string]any{"session_bind": map[string]any{"target_actor_id": "two words"}}
	e.refused(models.CodeInvalidArgument, try(boss, n, nil))
	_, err := e.l.Assignment(e.ctx, "two")
	e.refused(models.CodeNotFound, err)
	fresh := e.refused(models.CodeStaleRevision, try(boss, models.NewAssignment{ID: "two", TeamID: crew, Title: "t"}, new(1)))
	same(e, "no hint at what is not there", strings.Contains(fresh.Next, "show"), false)
}

func bindFromHint(e *env) {
	a := e.create("one", func(n *models.NewAssignment) { n.Metadata = map[string]any{"assigned_actor_hint": " codex-worker-a "} })
	want := map[string]any{"target_actor_id": "codex-worker-a", "status": "pending", "session_kind": "codex_thread"}
	sameJSON(e, "session_bind", a.Metadata["session_bind"], want)
	created := e.events("one")[0].Payload["metadata"].(map[string]any)
	sameJSON(e, "session_bind in the event", created["session_bind"], want)
	same(e, "target", a.TargetActorID(), "codex-worker-a")
}

func bindStays(e *env) {
	bind := map[string]any{"target_actor_id": "codex-worker-b", "status": "reserved", "session_kind": "codex_thread"}
	a := e.create("one", func(n *models.NewAssignment) {
		n.Metadata = map[string]any{"assigned_actor_hint": "codex-worker-a", "session_bind": bind}
	})
	sameJSON(e, "session_bind", a.Metadata["session_bind"], bind)
}

func pathsChecked(e *env) {
	a := e.create("one", func(n *models.NewAssignment) {
		n.AllowedPaths = []string{"src/", "./docs/**", "/repo/example/cmd", "a/{b,c}/*.go"}
	})
	same(e, "cleaned", strings.Join(a.AllowedPaths, " "), "src docs/** cmd a/{b,c}/*.go")
	for _, bad := range []string{"", " ", "/etc/passwd", "../x", "a/../../b", "a/{x,..}/b", "~/x", "src/[a", "{a", "c:/x", "a\nb", ".git", ".git/hooks/**", "a/.GIT/config", "{src,.git}/x"} {
		_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "bad", TeamID: crew, Title: "t", AllowedPaths: []string{"ok", bad}}, nil)
		refusal := e.refused(models.CodeInvalidArgument, err)
		same(e, "the named entry", refusal.Details["entry"], any(bad))
	}
}

func contextRefsChecked(e *env) {
	refs := func(path string) map[string]any {
		return map[string]any{"context_refs": []any{map[string]any{"path": path}}}
	}
	e.create("one", func(n *models.NewAssignment) { n.Metadata = refs("docs/a..b.md") })
	for _, bad := range []string{"/etc/passwd", "../x", "a/../../b", "~/x", "c:/x", " ", "a\nb"} {
		_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "bad", TeamID: crew, Title: "t", Metadata: refs(bad)}, nil)
		refusal := e.refused(models.CodeInvalidArgument, err)
		same(e, "the named entry", refusal.Details["entry"], any(bad))
	}
}

// limitsChecked tries each limit at its edge and one beyond it.
func limitsChecked(e *env) {
	long := func(n int) string { return strings.Repeat("ä", n) }
	e.create("edge", func(n *models.NewAssignment) {
		n.Title, n.AcceptanceCriteria = long(ledger.MaxTitle), make([]string, ledger.MaxCriteria)
		for i := range n.AcceptanceCriteria {
			n.AcceptanceCriteria[i] = "c"
		}
		n.AcceptanceCriteria[0] = long(ledger.MaxCriterion)
	})
	for field, change := range map[string]func(*models.NewAssignment){
		"title":               func(n *models.NewAssignment) { n.Title = long(ledger.MaxTitle + 1) },
		"acceptance_criteria": func(n *models.NewAssignment) { n.AcceptanceCriteria = []string{"ok", long(ledger.MaxCriterion + 1)} },
		"metadata":            func(n *models.NewAssignment) { n.Metadata = map[string]any{"k": strings.Repeat("x", ledger.MaxObject)} },
	} {
		n := models.NewAssignment{ID: "big", TeamID: crew, Title: "t"}
		change(&n)
		_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), n, nil)
		refusal := e.refused(models.CodeInvalidArgument, err)
		same(e, "the named field", refusal.Details["field"], any(field))
		same(e, "limit and size", refusal.Details["limit"] != nil && refusal.Details["size"] != nil, true)
	}
	for _, n := range []models.NewAssignment{
		{Title: "red \x1b[31m"}, {Title: "t", AcceptanceCriteria: []string{"ok", " "}}, {Title: "t", AcceptanceCriteria: make([]string, ledger.MaxCriteria+1)},
	} {
		n.ID, n.TeamID = "bad", crew
		_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), n, nil)
		e.refused(models.CodeInvalidArgument, err)
	}
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "edge", nil, long(ledger.MaxText+1))
	same(e, "field of a reason", e.refused(models.CodeInvalidArgument, err).Details["field"], any("reason"))
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(boss), "edge", nil, long(ledger.MaxText))
	e.ok(err)
}

func dependencies(e *env) {
	e.create("base")
	e.create("other")
	a := e.create("top", func(n *models.NewAssignment) { n.DependsOn = []string{"other", "base", "base"} })
	same(e, "depends on", strings.Join(a.DependsOn, " "), "base other")
	refusal := e.unchanged("top", models.CodeDependencyBlocked, func() error { _, err := e.tryClaim(agentA, "top"); return err })
	sameJSON(e, "waits for", refusal.Details["waits_for"], []string{"base", "other"})
	for _, id := range []string{"base", "other"} {
		e.claim(agentA, id)
		ev := e.handOff(agentA, id)
		e.woken()
		_, err := e.decide(boss, ev.ID, models.DecisionAccept)
		e.ok(err)
		same(e, "the dependents' loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	}
	e.claim(agentA, "top")
	with := func(on string) error {
		_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "self", TeamID: crew, Title: "t", DependsOn: []string{on}}, nil)
		return err
	}
	cycle := e.refused(models.CodeDependencyCycle, with("self"))
	sameJSON(e, "path", cycle.Details["path"], []string{"self", "self"})
	e.refused(models.CodeNotFound, with("nowhere"))
	_, err := e.l.Assignment(e.ctx, "self")
	e.refused(models.CodeNotFound, err)
}

func planningOrder(e *env) {
	e.create("b")
	e.create("a")
	e.clock.advance(1e6)
	e.create("newer")
	e.create("urgent", func(n *models.NewAssignment) { n.Priority = 9 })
	list, err := e.l.Assignments(e.ctx, ledger.AssignmentFilter{TeamID: crew, Statuses: []models.AssignmentStatus{models.AssignmentReady}})
	e.ok(err)
	var ids []string
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	same(e, "order", strings.Join(ids, " "), "urgent a b newer")
	list, err = e.l.Assignments(e.ctx, ledger.AssignmentFilter{WorkspaceID: "elsewhere"})
	e.ok(err)
	same(e, "of another workspace", len(list), 0)
}

func detail(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, "which?", "", nil)
	e.ok(err)
	d, err := e.l.AssignmentDetail(e.ctx, "one")
	e.ok(err)
	same(e, "runs", len(d.Runs), 1)
	same(e, "interventions", len(d.Interventions), 1)
	same(e, "events", len(d.Events), 3)
	same(e, "commands are a list", d.Commands != nil, true)
	_, err = e.l.AssignmentDetail(e.ctx, "nowhere")
	e.refused(models.CodeNotFound, err)
}

func appendEvents(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	req := ledger.AppendRequest{
		AssignmentID: "one", Type: "evidence_report", Status: models.EventCompletedGateFailed, Base: new(2),
		Payload: map[string]any{"tests": 3},
	}
	ev, err := e.l.AppendEvent(e.ctx, ledger.As(agentA), req)
	e.ok(err)
	same(e, "run", ev.RunID, e.assignment("one").ActiveRunID)
	same(e, "event revision", ev.AssignmentRevision, 3)
	same(e, "revision", e.assignment("one").Revision, 3)
	stale := e.unchanged("one", models.CodeStaleRevision, func() error {
		_, err := e.l.AppendEvent(e.ctx, ledger.As(agentA), req)
		return err
	})
	same(e, "the current revision", stale.Details["revision"], any(3))
	same(e, "a next step", stale.Next != "", true)
	same(e, "nothing to review", len(e.pending()), 0)
	_, err = e.appendEvent(ann, "one", "note")
	e.ok(err)
}

func reservedEvents(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	for _, kind := range append(models.ReservedEventTypes(), "cox_anything", "", "two words") {
		e.unchanged("one", models.CodeInvalidArgument, func() error { _, err := e.appendEvent(agentA, "one", kind); return err })
	}
	for _, status := range []string{models.EventAccepted, models.EventRejected, models.EventNeedsFix, "odd"} {
		e.unchanged("one", models.CodeInvalidArgument, func() error {
			_, err := e.l.AppendEvent(e.ctx, ledger.As(boss), ledger.AppendRequest{AssignmentID: "one", Type: "x", Status: status})
			return err
		})
	}
	e.create("free")
	e.unchanged("free", models.CodeForbidden, func() error { _, err := e.appendEvent(agentA, "free", "note"); return err })
}

func eventFilters(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	for range 3 {
		_, err := e.appendEvent(agentA, "one", "progress")
		e.ok(err)
	}
	all, err := e.l.Events(e.ctx, ledger.EventFilter{RunID: c.Run.ID})
	e.ok(err)
	same(e, "of the run", len(all), 4)
	after, err := e.l.Events(e.ctx, ledger.EventFilter{After: all[1].Sequence, AssignmentID: "one", Types: []string{"progress"}})
	e.ok(err)
	same(e, "after", len(after), 2)
	newest, err := e.l.Events(e.ctx, ledger.EventFilter{TeamID: crew, Newest: true, Limit: 2})
	e.ok(err)
	same(e, "newest last", len(newest) == 2 && newest[1].ID == all[3].ID && newest[0].ID == all[2].ID, true)
	count := func(f ledger.EventFilter) int {
		list, err := e.l.Events(e.ctx, f)
		e.ok(err)
		return len(list)
	}
	same(e, "by an actor", count(ledger.EventFilter{AssignmentID: "one", ActorID: agentA.ActorID}) < count(ledger.EventFilter{AssignmentID: "one"}), true)
	same(e, "of a status", count(ledger.EventFilter{AssignmentID: "one", Statuses: []string{models.EventProposed}}), 1)
	now := e.clock.Now()
	same(e, "since now", count(ledger.EventFilter{Since: now}) > 0 && count(ledger.EventFilter{Since: now.Add(time.Millisecond)}) == 0, true)
	same(e, "until now", count(ledger.EventFilter{Until: now.Add(time.Millisecond)}) == count(ledger.EventFilter{}), true)
	sequence, err := e.l.LastSequence(e.ctx)
	e.ok(err)
	same(e, "the last sequence", sequence, newest[1].Sequence)
	first, err := e.l.Events(e.ctx, ledger.EventFilter{WorkspaceID: space, Limit: 1})
	e.ok(err)
	same(e, "oldest first", first[0].Type, models.EventWorkspaceRegistered)
}
