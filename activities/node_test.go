package activities_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

func TestAStartReadiesOneEmptyThread(t *testing.T) {
	s := newStage(t)
	s.create("a")
	cmd := s.planned(models.CommandStart)
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	if out.ThreadID != "th-1" || out.Owner == "" || out.Closed || out.Failed {
		t.Fatalf("started %+v", out)
	}
	spec := s.host.specs[0]
	if spec.CWD != "/srv/w" || spec.Model != "m-1" || !spec.Writable || spec.MCP.Command != "/opt/cox" || !slices.Equal(spec.MCP.Args, []string{"mcp"}) || spec.DeveloperInstructions == "" {
		t.Errorf("spec %+v", spec)
	}
	if want := []string{"/srv/state", filepath.Dir(s.l.Path()), "/srv/auth"}; !slices.Equal(spec.DenyPaths, want) {
		t.Errorf("denied %v, want %v", spec.DenyPaths, want)
	}
	if _, p, err := s.l.Bound(t.Context(), spec.MCP.Env["COX_BINDING_TOKEN"]); err != nil || p.ActorID != cmd.TargetActorID {
		t.Errorf("the token proves %+v, %v", p, err)
	}
	var again activities.Started
	s.do(s.node.StartThread, named(cmd), &again)
	if again.ThreadID != "th-1" || len(s.host.did("StartThread")) != 1 {
		t.Errorf("a second attempt: %+v, %v", again, s.host.did("StartThread"))
	}
}

func TestAStartThatDidNothingIsRecorded(t *testing.T) {
	refused := &codex.Error{Kind: codex.ErrRefused, Message: "no such model"}
	for name, method := range map[string]string{"no host": "Host", "refused": "StartThread"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.create("a")
			cmd := s.planned(models.CommandStart)
			s.host.fails[method] = []error{refused}
			var out activities.Started
			s.do(s.node.StartThread, named(cmd), &out)
			if c, run := s.command(cmd.ID), s.run(cmd.RunID); !out.Failed || c.State != models.CommandFailed || c.Error == "" || run.EndedAt == nil {
				t.Errorf("out %+v, command %+v, run %+v", out, c, run)
			}
			s.do(s.node.StartThread, named(cmd), &out)
			if !out.Closed || len(s.host.did("StartThread")) > 1 {
				t.Errorf("a closed command was carried out: %+v", out)
			}
		})
	}
}

// The host may have started a thread; the next attempt archives what nobody owns.
func TestADoubtfulStartLeavesNoThreadBehind(t *testing.T) {
	s := newStage(t)
	s.create("a")
	cmd := s.planned(models.CommandStart)
	s.host.fails["StartThread"] = []error{&codex.Error{Kind: codex.ErrTimeout, Message: "no answer"}}
	s.refused(s.node.StartThread, named(cmd), models.CodeAdapterUnavailable, true)
	if c := s.command(cmd.ID); c.State != models.CommandIntended {
		t.Fatalf("after doubt the command is %s", c.State)
	}
	s.ownedByDead(t.Context(), cmd)
	s.host.put("orphan", true)
	s.host.put("somebodys", true, codex.Turn{ID: "x", Status: codex.TurnCompleted})
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	if got := s.host.did("ArchiveThread"); !slices.Equal(got, []string{"ArchiveThread orphan"}) || out.ThreadID == "" {
		t.Errorf("archived %v, started %+v", got, out)
	}
}

func TestAFirstAttemptArchivesNothing(t *testing.T) {
	s := newStage(t)
	s.host.put("orphan", true)
	s.started("a")
	if got := s.host.did("ArchiveThread"); len(got) != 0 {
		t.Errorf("archived %v", got)
	}
}

func TestAThreadThatTheLedgerRefusesIsArchived(t *testing.T) {
	s := newStage(t)
	s.create("a")
	cmd := s.planned(models.CommandStart)
	s.host.hook["StartThread"] = func() { s.ownedByDead(t.Context(), cmd) } // another attempt takes over meanwhile
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	if !out.Closed || !slices.Equal(s.host.did("ArchiveThread"), []string{"ArchiveThread th-1"}) {
		t.Errorf("out %+v, archived %v", out, s.host.did("ArchiveThread"))
	}
}

func TestAnAbandonedStartGivesItsEmptyThreadBack(t *testing.T) {
	s := newStage(t)
	s.create("a")
	cmd := s.planned(models.CommandStart)
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	s.cancel("a")
	wanted := true
	s.do(s.control.ClaimRun, activities.ClaimInput{CommandID: cmd.ID, Owner: out.Owner}, &wanted)
	if wanted {
		t.Fatal("a cancelled assignment was claimed")
	}
	s.do(s.node.AbandonStart, activities.ArchiveInput{CommandID: cmd.ID, Owner: out.Owner, ThreadID: out.ThreadID})
	if got := s.host.did("ArchiveThread"); !slices.Equal(got, []string{"ArchiveThread th-1"}) {
		t.Errorf("archived %v", got)
	}
	spec, err := s.l.ThreadSpec(t.Context(), cmd.BindingID)
	s.ok(err)
	if c := s.command(cmd.ID); c.State != models.CommandFailed || s.run(cmd.RunID).EndedAt == nil || spec.Binding.Status != "closed" {
		t.Errorf("command %s, run %+v, binding %s", c.State, s.run(cmd.RunID), spec.Binding.Status)
	}
}

func TestAnAbandonedFixKeepsTheThreadThatDidWork(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	event := s.handOff(run.ID)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	_, err := s.l.Decide(t.Context(), ledger.As(person), ledger.DecideRequest{EventID: event.ID, Decision: models.DecisionNeedsFix, Note: "mind the gap"})
	s.ok(err)
	cmd := s.planned(models.CommandStart)
	var out activities.Started
	s.do(s.node.StartThread, named(cmd), &out)
	if out.ThreadID != threadID {
		t.Fatalf("the fix is on %s, want %s", out.ThreadID, threadID)
	}
	s.cancel("a")
	s.do(s.node.AbandonStart, activities.ArchiveInput{CommandID: cmd.ID, Owner: out.Owner, ThreadID: out.ThreadID})
	if got := s.host.did("ArchiveThread"); len(got) != 0 || s.command(cmd.ID).State != models.CommandFailed {
		t.Errorf("archived %v, command %s", got, s.command(cmd.ID).State)
	}
}

func TestAProbeRecordsWhatTheAdapterSaidOrWhyItIsNotToBeHad(t *testing.T) {
	for name, c := range map[string]struct {
		fails map[string][]error
		want  string
	}{
		"answers":   {nil, models.StatusActive},
		"no host":   {map[string][]error{"Host": {errors.New("no such file")}}, models.StatusUnavailable},
		"no answer": {map[string][]error{"Probe": {errors.New("deaf")}}, models.StatusUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			_, err := s.l.StartNode(t.Context(), "n", "host", 0)
			s.ok(err)
			s.create("a") // something to start, so that a probe is wanted
			cmd := s.planned(models.CommandRefresh)
			s.host.probe = codex.Probe{Version: "9.9", Transport: "stdio", Capabilities: map[string]bool{"can_start_thread": true}, SandboxProved: true, ProofKey: "k1"}
			if c.fails != nil {
				s.host.fails = c.fails
			}
			s.do(s.node.Probe, named(cmd))
			node, err := s.l.Node(t.Context(), "n")
			s.ok(err)
			p := node.Probes[models.AdapterKindFake]
			if p.Status != c.want || p.Incarnation != node.Incarnation || (p.Reason == "") != (c.want == models.StatusActive) {
				t.Errorf("probe %+v", p)
			}
			if c.want == models.StatusActive && (p.Version != "9.9" || !p.SandboxProved || p.ProofKey != "k1" || !p.Capabilities["can_start_thread"]) {
				t.Errorf("probe %+v", p)
			}
			if got := s.command(cmd.ID); got.State != models.CommandDone || got.Result != "probed_"+c.want {
				t.Errorf("command %+v", got)
			}
		})
	}
}

func TestRefusalsOfTheLedgerAreNotRetried(t *testing.T) {
	s := newStage(t)
	s.refused(s.node.StartThread, activities.CommandInput{CommandID: "cmd_none"}, models.CodeNotFound, false)
	s.refused(s.node.InspectScope, activities.ScopeInput{AssignmentID: "none"}, models.CodeNotFound, false)
	s.refused(s.control.PlanTeam, activities.Subject{ID: "none", WorkflowID: "loop:w:none"}, models.CodeNotFound, false)
}
