package ledgertest

import (
	"path/filepath"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

func setupTests() map[string]func(*env) {
	return map[string]func(*env){
		"workspace/blank_fields_keep_what_is_stored": workspaceUpsert,
		"workspace/one_id_per_root":                  workspaceRoot,
		"workspace/archive":                          workspaceArchive,
		"workspace/restore":                          workspaceRestore,
		"workspace/counts":                           workspaceCounts,
		"team/upsert_and_owner":                      teamUpsert,
		"team/board_lanes":                           teamBoard,
		"team/loop_settings":                         teamLoop,
		"actor/profiles":                             actorProfiles,
		"actor/seen_at_first_write":                  actorSeen,
		"actor/acts_in_its_registered_role":          actorRole,
	}
}

func workspaceUpsert(e *env) {
	call := func(n ledger.NewWorkspace) models.Workspace {
		w, err := e.l.RegisterWorkspace(e.ctx, ledger.As(ann), n)
		e.ok(err)
		return w
	}
	w := call(ledger.NewWorkspace{ID: space, DefaultBranch: "main", MaxRuns: 3, Metadata: map[string]any{"k": "v"}})
	same(e, "repo root", w.RepoRoot, "/repo/example")
	same(e, "version", w.Version, 2)
	again := call(ledger.NewWorkspace{ID: space})
	sameJSON(e, "registering without fields", again, w)
	stored, err := e.l.Workspace(e.ctx, space)
	e.ok(err)
	sameJSON(e, "stored workspace", stored, w)
	_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "not an id"})
	e.refused(models.CodeInvalidArgument, err)
	for _, root := range []string{"repo", "/", "/repo/../etc", "/repo//x", filepath.Dir(e.l.Path())} {
		_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "rel", RepoRoot: root})
		e.refused(models.CodeInvalidArgument, err)
	}
	_, err = e.l.Workspace(e.ctx, "nowhere")
	e.refused(models.CodeNotFound, err)
}

func workspaceRoot(e *env) {
	_, err := e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "other", RepoRoot: "/repo/example/", NodeID: "node-1"})
	refusal := e.refused(models.CodeInvalidArgument, err)
	same(e, "the named workspace", refusal.Details["workspace_id"], any(space))
	w, found, err := e.l.WorkspaceAt(e.ctx, "/repo/example")
	e.ok(err)
	same(e, "found by root", found && w.ID == space, true)
	_, found, err = e.l.WorkspaceAt(e.ctx, "/repo")
	e.ok(err)
	same(e, "found by another root", found, false)
}

func workspaceArchive(e *env) {
	_, _, err := e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{Enabled: true})
	e.ok(err)
	_, err = e.l.ArchiveWorkspace(e.ctx, ledger.As(agentA), space)
	e.refused(models.CodeForbidden, err)
	w, err := e.l.ArchiveWorkspace(e.ctx, ledger.As(ann), space)
	e.ok(err)
	same(e, "status", w.Status, models.StatusArchived)
	team, err := e.l.Team(e.ctx, crew)
	e.ok(err)
	same(e, "loop enabled", team.Loop.Enabled, false)
	w, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: space, Name: "back"})
	e.ok(err)
	same(e, "status after registering again", w.Status, models.StatusArchived)
	_, err = e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "x", TeamID: crew, Title: "x"}, nil)
	e.refused(models.CodeInvalidArgument, err)
	_, _, err = e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{Enabled: true})
	e.refused(models.CodeInvalidArgument, err)
	_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "anew", RepoRoot: "/repo/example", NodeID: "node-1"})
	e.ok(err)
}

func workspaceRestore(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, err := e.l.ArchiveWorkspace(e.ctx, ledger.As(ann), space)
	refusal := e.refused(models.CodeInvalidArgument, err)
	same(e, "the open run", refusal.Details["run_id"], any(c.Run.ID))
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(ann), "one", nil, "x")
	e.ok(err)
	_, err = e.l.ArchiveWorkspace(e.ctx, ledger.As(ann), space)
	e.ok(err)
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "late", WorkspaceID: space})
	same(e, "the next command", e.refused(models.CodeInvalidArgument, err).Next, "cox workspace restore "+space)
	s, err := e.l.Status(e.ctx, ledger.Sight{})
	e.ok(err)
	same(e, "teams in the status", len(s.Teams), 0)
	_, err = e.l.RestoreWorkspace(e.ctx, ledger.As(agentA), space)
	e.refused(models.CodeForbidden, err)
	w, err := e.l.RestoreWorkspace(e.ctx, ledger.As(ann), space)
	e.ok(err)
	again, err := e.l.RestoreWorkspace(e.ctx, ledger.As(ann), space)
	e.ok(err)
	sameJSON(e, "restored twice", again, w)
	e.create("two")
	_, err = e.l.ArchiveWorkspace(e.ctx, ledger.As(ann), space)
	e.ok(err)
	_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "anew", RepoRoot: "/repo/example", NodeID: "node-1"})
	e.ok(err)
	_, err = e.l.RestoreWorkspace(e.ctx, ledger.As(ann), space)
	same(e, "who has the root", e.refused(models.CodeInvalidArgument, err).Details["workspace_id"], any("anew"))
}

func workspaceCounts(e *env) {
	e.create("one")
	e.create("two")
	e.claim(agentA, "two")
	list, err := e.l.Workspaces(e.ctx)
	e.ok(err)
	same(e, "workspaces", len(list), 1)
	same(e, "teams", list[0].TeamCount, 1)
	same(e, "total", list[0].AssignmentTotal, 2)
	sameJSON(e, "counts", list[0].AssignmentCounts, map[string]int{"ready": 1, "claimed": 1})
}

func teamUpsert(e *env) {
	t, err := e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "fresh", WorkspaceID: space, Settings: map[string]any{"a": 1}})
	e.ok(err)
	same(e, "default owner", t.OwnerActorID, "codex-integrator-fresh")
	owner, err := e.l.Actor(e.ctx, t.OwnerActorID)
	e.ok(err)
	same(e, "owner's role", owner.Role, models.RoleIntegrator)
	sameJSON(e, "default loop", t.Loop, models.DefaultLoop())
	t, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "fresh", WorkspaceID: space, Name: "Fresh"})
	e.ok(err)
	same(e, "kept owner", t.OwnerActorID, "codex-integrator-fresh")
	sameJSON(e, "kept settings", t.Settings, map[string]any{"a": 1})
	_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: "elsewhere"})
	e.ok(err)
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "fresh", WorkspaceID: "elsewhere"})
	e.refused(models.CodeInvalidArgument, err)
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "lost", WorkspaceID: "nowhere"})
	e.refused(models.CodeNotFound, err)
	for _, n := range []ledger.NewTeam{{ID: "lost"}, {ID: "lost", WorkspaceID: space, OwnerActorID: "two words"}, {ID: "lost", WorkspaceID: space, OwnerActorID: "-x"}} {
		_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), n)
		e.refused(models.CodeInvalidArgument, err)
	}
	teams, err := e.l.Teams(e.ctx, space)
	e.ok(err)
	same(e, "teams of the workspace", len(teams), 2)
}

func teamBoard(e *env) {
	e.create("late")
	e.create("first", func(n *models.NewAssignment) { n.Priority = 5 })
	e.clock.advance(1)
	e.create("gone")
	_, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "gone", nil, "no")
	e.ok(err)
	e.create("busy")
	e.claim(agentA, "busy")
	b, err := e.l.Board(e.ctx, crew)
	e.ok(err)
	same(e, "lanes", len(b.Lanes), 8)
	ready := b.Lanes["ready"]
	same(e, "ready", len(ready), 2)
	same(e, "highest priority first", ready[0].ID, "first")
	same(e, "running", b.Lanes["running"][0].ID, "busy")
	same(e, "cancelled stands in no lane", e.lane("gone"), "")
	_, err = e.l.Board(e.ctx, "nobody")
	e.refused(models.CodeNotFound, err)
}

func teamLoop(e *env) {
	e.woken()
	team, previous, err := e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, models.LoopSettings{Enabled: true, MaxConcurrentRuns: 4})
	e.ok(err)
	same(e, "previous", previous.Enabled, false)
	same(e, "set by", team.Loop.SetBy, ann.ActorID)
	same(e, "default interval", team.Loop.PollIntervalSeconds, 10)
	same(e, "given runs", team.Loop.MaxConcurrentRuns, 4)
	same(e, "loop woken", e.woken()[ledger.LoopWorkflow(space, crew)], true)
	_, previous, err = e.l.ConfigureLoop(e.ctx, ledger.As(boss), crew, models.LoopSettings{})
	e.ok(err)
	same(e, "the former writer", previous.SetBy, ann.ActorID)
	for _, bad := range []models.LoopSettings{{AdapterKind: "other"}, {PollIntervalSeconds: -1}, {RunLeaseTTLSeconds: 90000}} {
		_, _, err = e.l.ConfigureLoop(e.ctx, ledger.As(ann), crew, bad)
		e.refused(models.CodeInvalidArgument, err)
	}
	_, _, err = e.l.ConfigureLoop(e.ctx, ledger.As(agentA), crew, models.LoopSettings{})
	e.refused(models.CodeForbidden, err)
}

func actorProfiles(e *env) {
	a, err := e.l.RegisterActor(e.ctx, ledger.As(ann), models.Actor{
		ID: "codex-worker-7", Kind: "ai", Provider: "codex",
		Capabilities: map[string]any{"can_start_thread": true},
	})
	e.ok(err)
	same(e, "kind", a.Kind, "ai")
	same(e, "role", a.Role, models.RoleAgent)
	same(e, "status", a.Status, models.StatusActive)
	a, err = e.l.RegisterActor(e.ctx, ledger.As(ann), models.Actor{ID: "codex-worker-7", Status: models.StatusUnavailable})
	e.ok(err)
	sameJSON(e, "replaced capabilities", a.Capabilities, map[string]any{})
	same(e, "status", a.Status, models.StatusUnavailable)
	_, err = e.l.RegisterActor(e.ctx, ledger.As(agentA), models.Actor{ID: "codex-worker-7"})
	e.refused(models.CodeForbidden, err)
	_, err = e.l.RegisterActor(e.ctx, ledger.As(agentA), models.Actor{ID: agentA.ActorID, Role: models.RoleIntegrator})
	e.refused(models.CodeForbidden, err)
	_, err = e.l.RegisterActor(e.ctx, ledger.As(ann), models.Actor{ID: "odd", Role: "king"})
	e.refused(models.CodeInvalidArgument, err)
	agents, err := e.l.Actors(e.ctx, models.RoleAgent)
	e.ok(err)
	same(e, "agents", len(agents), 1)
}

func actorSeen(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	e.clock.advance(90e9)
	_, err := e.appendEvent(agentA, "one", "progress")
	e.ok(err)
	a, err := e.l.Actor(e.ctx, agentA.ActorID)
	e.ok(err)
	same(e, "kind", a.Kind, "coding_agent")
	same(e, "last seen", a.LastSeenAt.Equal(e.clock.Now()), true)
	same(e, "created", a.CreatedAt.Equal(start), true)
}

// Who claims no role acts in the registered one, and nobody is registered by a slip.
func actorRole(e *env) {
	e.create("one")
	e.claim(agentA, "one")
	handoff := e.handOff(agentA, "one")
	e.create("two")
	e.claim(agentB, "two")
	as := func(id string) models.Principal { return models.Principal{ActorID: id} }
	e.unchanged("one", models.CodeForbidden, func() error { _, err := e.decide(as(agentB.ActorID), handoff.ID, models.DecisionAccept); return err })
	e.unchanged("two", models.CodeForbidden, func() error {
		_, err := e.l.CancelAssignment(e.ctx, ledger.As(as(agentA.ActorID)), "two", nil, "x")
		return err
	})
	refusal := e.unchanged("one", models.CodeNotFound, func() error { _, err := e.decide(as("nobody"), handoff.ID, models.DecisionAccept); return err })
	same(e, "the next command", strings.Contains(refusal.Next, "cox actor register --role human nobody"), true)
	_, err := e.l.Actor(e.ctx, "nobody")
	e.refused(models.CodeNotFound, err)
	_, _, err = e.l.Projection(e.ctx, as(agentA.ActorID), space)
	e.refused(models.CodeForbidden, err)
	_, err = e.l.RegisterActor(e.ctx, ledger.As(ann), models.Actor{ID: "nobody", Role: models.RoleHuman})
	e.ok(err)
	decided, err := e.decide(as("nobody"), handoff.ID, models.DecisionAccept)
	e.ok(err)
	same(e, "the role of who decided", decided.ActorRole, models.RoleHuman)
}
