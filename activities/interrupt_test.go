package activities_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

// cancelled is a running assignment that was cancelled, with its interrupt.
func (s *stage) cancelled(id string) (cmd models.Command, run models.Run, threadID, turnID string) {
	s.Helper()
	run, threadID, turnID = s.running(id)
	s.cancel(id)
	return s.openInterrupt(run), run, threadID, turnID
}

// openInterrupt is the only open command of a run, which has to be its interrupt.
func (s *stage) openInterrupt(run models.Run) models.Command {
	s.Helper()
	open, err := s.l.Commands(s.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	s.ok(err)
	if len(open) != 1 || open[0].Type != models.CommandInterrupt {
		s.Fatalf("open commands %+v", open)
	}
	return open[0]
}

func (s *stage) wantEnded(cmd models.Command, run models.Run) {
	s.Helper()
	if c, r := s.command(cmd.ID), s.run(run.ID); c.State != models.CommandDone || r.EndedAt == nil || r.Status != models.RunCancelled {
		s.Errorf("command %s, run %+v", c.State, r)
	}
}

func TestARunIsInterruptedUntilItsTurnAndItsCommandsEnded(t *testing.T) {
	s := newStage(t)
	cmd, run, threadID, turnID := s.cancelled("a")
	s.host.threads[threadID].deaf, s.host.leftover = 2, 3
	s.do(s.node.InterruptRun, named(cmd))
	if got := s.host.did("InterruptTurn"); len(got) != 3 || got[0] != "InterruptTurn "+threadID+" "+turnID {
		t.Errorf("interrupted %v", got)
	}
	if got := s.host.did("CleanBackgroundTerminals"); len(got) != 3 {
		t.Errorf("cleaned %d times with two commands left", len(got))
	}
	s.wantEnded(cmd, run)
	ended := s.events(models.EventTurnEnded)
	if len(ended) != 1 || ended[0].Payload["turn_id"] != turnID || ended[0].Payload["status"] != string(models.TurnInterrupted) {
		t.Errorf("ends %+v", ended)
	}
	s.do(s.node.InterruptRun, named(cmd))
	if n := len(s.host.did("InterruptTurn")); n != 3 {
		t.Error("a closed command was carried out")
	}
}

func TestARunThatHasEndedNeedsNoInterrupt(t *testing.T) {
	for name, change := range map[string]func(*stage, string, string){
		"turn over": func(s *stage, th, _ string) { s.host.threads[th].turns[0].Status = codex.TurnCompleted },
		"not loaded": func(s *stage, th, _ string) {
			s.host.put(th, false, codex.Turn{ID: s.host.threads[th].turns[0].ID, Status: codex.TurnInterrupted})
		},
		"thread is gone": func(s *stage, th, _ string) { s.ok(s.host.ArchiveThread(s.Context(), th)) },
		"turn changed": func(s *stage, _, _ string) {
			s.host.fails["InterruptTurn"] = []error{&codex.Error{Kind: codex.ErrTurnMismatch}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			cmd, run, threadID, turnID := s.cancelled("a")
			change(s, threadID, turnID)
			s.do(s.node.InterruptRun, named(cmd))
			s.wantEnded(cmd, run)
			if n := len(s.host.did("InterruptTurn")); (n > 0) != (name == "turn changed") {
				t.Errorf("interrupted %d times", n)
			}
		})
	}
}

func TestARunWithoutAThreadEndsAtOnce(t *testing.T) {
	s := newStage(t)
	s.create("a")
	start := s.planned(models.CommandStart)
	s.ownedByDead(t.Context(), start)
	s.cancel("a")
	s.ok(s.l.FailCommand(t.Context(), start.ID, "dead", "gave up")) // the run ends with its start
	if s.run(start.RunID).EndedAt == nil {
		t.Fatal("the run did not end")
	}
	if n := len(s.host.did("Host")); n != 0 {
		t.Errorf("the host was asked %d times", n)
	}
}

// The leases stay until the end is proved.
func TestAnInterruptThatIsNotProvedDone(t *testing.T) {
	timeout := &codex.Error{Kind: codex.ErrTimeout, Message: "no answer"}
	for name, fail := range map[string]func(*stage, string){
		"no host":            func(s *stage, _ string) { s.host.fails["Host"] = []error{timeout} },
		"unread":             func(s *stage, _ string) { s.host.fails["ReadThread"] = []error{timeout} },
		"unlisted":           func(s *stage, _ string) { s.host.fails["ListTurns"] = []error{timeout} },
		"not interrupted":    func(s *stage, _ string) { s.host.fails["InterruptTurn"] = []error{timeout} },
		"commands not ended": func(s *stage, _ string) { s.host.fails["CleanBackgroundTerminals"] = []error{timeout} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			cmd, run, threadID, _ := s.cancelled("a")
			fail(s, threadID)
			s.refused(s.node.InterruptRun, named(cmd), models.CodeAdapterUnavailable, true)
			if s.run(run.ID).EndedAt != nil || !s.command(cmd.ID).State.Open() {
				t.Fatal("the run ended without proof")
			}
			s.do(s.node.InterruptRun, named(cmd))
			s.wantEnded(cmd, run)
		})
	}
}

// A message that may be on its way would begin a turn after the interrupt.
func TestAMessageOnItsWayIsWaitedFor(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	m, err := s.l.BeginMessage(t.Context(), threadID, "sender")
	s.ok(err)
	s.cancel("a")
	s.ok(s.l.WakeTeam(t.Context(), "w", "t"))
	plan, err := s.l.PlanTeam(t.Context(), "t")
	s.ok(err)
	if len(plan.Commands) != 0 {
		t.Fatalf("planned %+v while a message is on its way", plan.Commands)
	}
	s.ok(s.l.Delivered(t.Context(), m.Item.ID, "sender", "tu-x", false))
	interrupt := s.planned(models.CommandInterrupt)
	s.host.put(threadID, true, codex.Turn{ID: "tu-x", Status: codex.TurnInProgress})
	s.do(s.node.InterruptRun, named(interrupt))
	s.wantEnded(interrupt, s.run(cmd.RunID))
}

func TestTurnReportsKeepTheHostsWords(t *testing.T) {
	for host, want := range map[codex.TurnStatus]models.TurnStatus{
		codex.TurnCompleted: models.TurnCompleted, codex.TurnFailed: models.TurnFailed, codex.TurnInterrupted: models.TurnInterrupted, codex.TurnInProgress: models.TurnActive,
	} {
		r := activities.TurnReport("th", codex.Turn{ID: "tu", Status: host, Error: "boom", ErrorKind: "server"})
		if r.Status != want || r.ThreadID != "th" || r.TurnID != "tu" || r.Error != "boom" || r.ErrorKind != "server" {
			t.Errorf("%s: %+v", host, r)
		}
	}
}

func TestReattachWritesWhatBecameOfTheTurns(t *testing.T) {
	s := newStage(t)
	over, overThread, overTurn := s.running("over")
	lost, lostThread, lostTurn := s.running("lost")
	s.host.threads[overThread].turns[0].Status = codex.TurnCompleted
	s.handOff(over.ID) // and the turn ended while nobody watched
	s.host.put(lostThread, true)
	s.ok(activities.Reattach(t.Context(), s.node, s.host))
	if got := s.host.did("ResumeThread"); len(got) != 2 {
		t.Errorf("resumed %v", got)
	}
	if r := s.run(over.ID); r.EndedAt == nil {
		t.Errorf("the handed off run did not end with its turn %s: %+v", overTurn, r)
	}
	status := map[any]any{}
	for _, e := range s.events(models.EventTurnEnded) {
		status[e.Payload["turn_id"]] = e.Payload["status"]
	}
	if status[overTurn] != "completed" || status[lostTurn] != "lost" {
		t.Errorf("ends %v", status)
	}
	if r := s.run(lost.ID); r.EndedAt != nil {
		t.Errorf("a run with a lost turn ended: %+v", r)
	}
	if p, err := s.l.PreviewTeam(t.Context(), "t"); err != nil || !slices.ContainsFunc(p.Commands, func(c models.Command) bool { return c.Type == models.CommandResume && c.RunID == lost.ID }) {
		t.Errorf("plan %+v, %v", p.Commands, err)
	}
}

func TestReattachLeavesAnActiveTurnAlone(t *testing.T) {
	s := newStage(t)
	run, threadID, _ := s.running("a")
	s.handOff(run.ID)
	s.host.mu.Lock()
	s.host.loaded[threadID] = false
	s.host.mu.Unlock()
	s.ok(activities.Reattach(t.Context(), s.node, s.host))
	if r := s.run(run.ID); r.EndedAt != nil || len(s.events(models.EventTurnEnded)) != 0 {
		t.Errorf("run %+v", r)
	}
}

// A turn that began while its sender was killed is met by the next worker: it keeps the
// run open, and where the assignment was cancelled meanwhile it is stopped.
func TestReattachMeetsATurnThatBeganUnseen(t *testing.T) {
	for name, wanted := range map[string]bool{"wanted": true, "cancelled": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			cmd, threadID := s.started("a")
			m, err := s.l.BeginMessage(t.Context(), threadID, "killed")
			s.ok(err)
			if !wanted {
				s.cancel("a")
			}
			s.host.put(threadID, true, codex.Turn{ID: "unseen", Status: codex.TurnInProgress}).store("unseen", m.Item.ID)
			s.ok(activities.Reattach(t.Context(), s.node, s.host))
			if run := s.run(cmd.RunID); run.EndedAt != nil {
				t.Errorf("the run ended before its turn: %+v", run)
			}
			began := s.events(models.EventTurnStarted)
			if len(began) != 1 || began[0].Payload["turn_id"] != "unseen" {
				t.Errorf("turns that began: %+v", began)
			}
			if n := len(s.host.did("InterruptTurn")); (n == 0) != wanted {
				t.Errorf("interrupted %d times", n)
			}
		})
	}
}

func TestReattachGoesOnAfterAThreadThatFails(t *testing.T) {
	s := newStage(t)
	_, first, _ := s.running("a")
	_, second, _ := s.running("b")
	s.host.fails["ResumeThread"] = []error{&codex.Error{Kind: codex.ErrBusy, Message: "in use"}}
	err := activities.Reattach(t.Context(), s.node, s.host)
	if !models.IsCode(err, models.CodeAdapterUnavailable) {
		t.Errorf("failed with %v", err)
	}
	if got := s.host.did("ResumeThread"); len(got) != 2 || !slices.Contains(got, "ResumeThread "+first) || !slices.Contains(got, "ResumeThread "+second) {
		t.Errorf("resumed %v", got)
	}
	if n := len(s.events(models.EventTurnEnded)); n != 0 {
		t.Errorf("%d turns ended", n)
	}
}

func TestReattachLeavesAnEmptyThreadThatIsGoneToItsSender(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	s.ok(s.host.ArchiveThread(t.Context(), threadID))
	s.ok(activities.Reattach(t.Context(), s.node, s.host))
	if s.run(cmd.RunID).EndedAt != nil || s.next(threadID).Pending != 1 {
		t.Error("the run or its message was touched")
	}
}

// A host that is opened for an effect attaches the threads first, also the very
// one that the effect is on.
func TestAnEffectWaitsForNoLockOfItsOwnWhileItsHostIsOpened(t *testing.T) {
	open := func(s *stage) {
		s.host.hook["Host"] = func() {
			ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
			defer cancel()
			if err := activities.Reattach(ctx, s.node, s.host); err != nil {
				s.Errorf("the threads were not attached: %v", err)
			}
		}
	}
	t.Run("delivery", func(t *testing.T) {
		s := newStage(t)
		cmd, threadID := s.started("a")
		open(s)
		s.do(s.node.Deliver, into(threadID))
		if n := s.sent(threadID, cmd); n != 1 || len(s.host.did("ResumeThread")) != 1 {
			t.Errorf("sent %d times, attached %v", n, s.host.did("ResumeThread"))
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		s := newStage(t)
		cmd, run, _, _ := s.cancelled("a")
		open(s)
		s.do(s.node.InterruptRun, named(cmd))
		if len(s.host.did("ResumeThread")) != 1 {
			t.Errorf("attached %v", s.host.did("ResumeThread"))
		}
		s.wantEnded(cmd, run)
	})
}

// A person's stop ends the turn and not the run: its answer resumes the thread.
func TestAStoppedRunGoesOnByTheAnswer(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	asked, err := s.l.InterruptRun(t.Context(), ledger.As(person), run.ID, "wrong module")
	s.ok(err)
	open, err := s.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	s.ok(err)
	if len(open) != 1 || open[0].Type != models.CommandInterrupt {
		t.Fatalf("open commands %+v", open)
	}
	s.host.leftover = 3
	s.do(s.node.InterruptRun, named(open[0]))
	if got := s.host.did("InterruptTurn"); len(got) != 1 || got[0] != "InterruptTurn "+threadID+" "+turnID {
		t.Errorf("interrupted %v", got)
	}
	if got := s.host.did("CleanBackgroundTerminals"); len(got) != 3 {
		t.Errorf("cleaned %d times with two commands left", len(got))
	}
	if r := s.run(run.ID); r.EndedAt != nil || r.Status != models.RunAwaitingHuman {
		t.Fatalf("the stopped run is %s, ended %v", r.Status, r.EndedAt)
	}
	ended := s.events(models.EventTurnEnded)
	if len(ended) != 1 || ended[0].Payload["status"] != string(models.TurnInterrupted) {
		t.Errorf("ends %+v", ended)
	}
	s.ahead.Add(int64(time.Second))
	_, err = s.l.RespondIntervention(t.Context(), ledger.As(person), asked.ID, "Only touch the docs")
	s.ok(err)
	open, err = s.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	s.ok(err)
	if len(open) != 1 || open[0].Type != models.CommandResume {
		t.Fatalf("after the answer %+v", open)
	}
	s.do(s.control.QueueResume, named(open[0]))
	wantAll(t, s.text(threadID), "commands of the stopped turn", "wrong module", "Only touch the docs", person.ActorID)
}
