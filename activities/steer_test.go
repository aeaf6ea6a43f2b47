package activities_test

import (
	"strings"
	"testing"

	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

// said is a run with an active turn that a person wrote to.
func (s *stage) said() (run models.Run, threadID, turnID string, item models.OutboxItem) {
	s.Helper()
	run, threadID, turnID = s.running("a")
	item, err := s.l.SteerRun(s.Context(), ledger.As(person), ledger.Steering{RunID: run.ID, Message: "mind the tests", Text: "mind the tests"})
	s.ok(err)
	return run, threadID, turnID, item
}

// steeredByDead is an attempt that put the words into a turn and died before it saw
// whether the turn had read them.
func (s *stage) steeredByDead(threadID, turnID string, item models.OutboxItem) {
	s.Helper()
	_, err := s.l.BeginMessage(s.Context(), threadID, "dead")
	s.ok(err)
	_, err = s.l.SteeringInto(s.Context(), item.ID, "dead", turnID)
	s.ok(err)
}

// message is what became of a message.
func (s *stage) message(runID, id string) models.OutboxItem {
	s.Helper()
	d, err := s.l.RunDetail(s.Context(), runID)
	s.ok(err)
	for _, m := range d.Messages {
		if m.ID == id {
			return m
		}
	}
	s.Fatalf("message %s is not of run %s", id, runID)
	return models.OutboxItem{}
}

func (s *stage) wantSteered(run models.Run, item models.OutboxItem, turnID string) {
	s.Helper()
	m := s.message(run.ID, item.ID)
	if m.State != models.OutboxDelivered || m.TurnID != turnID {
		s.Errorf("the message is %s in turn %q, want it in %s: %s", m.State, m.TurnID, turnID, m.Reason)
	}
}

func TestWordsGoIntoTheActiveTurnOnce(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID, item := s.said()
	s.do(s.node.Deliver, into(threadID))
	s.do(s.node.Deliver, into(threadID)) // nothing is left
	if got := s.host.did("SteerTurn"); len(got) != 1 || got[0] != "SteerTurn "+threadID+" "+turnID+" "+item.ID {
		t.Errorf("steered %v", got)
	}
	if n := len(s.host.did("StartTurn")); n != 1 {
		t.Errorf("%d turns were started, want the first prompt's only", n)
	}
	s.wantSteered(run, item, turnID)
	if got := s.events(models.EventMessageDelivered); len(got) != 2 || got[1].Payload["kind"] != string(models.PromptSteer) {
		t.Errorf("receipts %+v", got)
	}
}

// Another turn is active than the one that was seen: the thread is read again.
func TestAnotherTurnIsReadAgainBeforeItIsSteered(t *testing.T) {
	s := newStage(t)
	run, threadID, _, item := s.said()
	s.host.hook["SteerTurn"] = func() {
		th := s.host.threads[threadID]
		th.turns[0].Status = codex.TurnCompleted
		th.turns = append(th.turns, codex.Turn{ID: "tu-next", Status: codex.TurnInProgress})
	}
	s.do(s.node.Deliver, into(threadID))
	got := s.host.did("SteerTurn")
	if len(got) != 2 || !strings.HasSuffix(got[1], " tu-next "+item.ID) {
		t.Errorf("steered %v", got)
	}
	s.wantSteered(run, item, "tu-next")
}

// The turn has ended meanwhile: the words begin the next one.
func TestWordsBeginATurnWhereNoneIsActive(t *testing.T) {
	s := newStage(t)
	run, threadID, _, item := s.said()
	s.host.hook["SteerTurn"] = func() { s.host.threads[threadID].turns[0].Status = codex.TurnCompleted }
	s.do(s.node.Deliver, into(threadID))
	got := s.host.did("StartTurn")
	if len(got) != 2 || got[1] != "StartTurn "+threadID+" "+item.ID {
		t.Fatalf("started %v", got)
	}
	s.wantSteered(run, item, s.host.threads[threadID].turns[1].ID)
}

func TestWordsAreNotSentToARunThatWaitsOrEnded(t *testing.T) {
	for name, end := range map[string]func(*stage, models.Run){
		"handed off": func(s *stage, r models.Run) { s.handOff(r.ID) },
		"cancelled":  func(s *stage, _ models.Run) { s.cancel("a") },
		"stopped": func(s *stage, r models.Run) {
			_, err := s.l.InterruptRun(s.Context(), ledger.As(person), r.ID, "x")
			s.ok(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			run, threadID, _, item := s.said()
			end(s, run)
			s.do(s.node.Deliver, into(threadID))
			if n := len(s.host.did("SteerTurn")); n != 0 || s.message(run.ID, item.ID).State != models.OutboxDropped {
				t.Errorf("steered %d times, the message is %s", n, s.message(run.ID, item.ID).State)
			}
		})
	}
}

// The attempt that put the words into the turn died. They wait behind a running
// command, are seen later, and are never sent a second time while the turn lasts.
func TestUnreadWordsAreLookedForAndNotRepeated(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID, item := s.said()
	s.steeredByDead(threadID, turnID, item)
	s.do(s.node.Deliver, into(threadID))
	if m := s.message(run.ID, item.ID); m.State != models.OutboxSending || m.NotBefore == nil {
		t.Fatalf("while the turn has not read it the message is %+v", m)
	}
	s.host.threads[threadID].store(turnID, item.ID)
	s.do(s.node.Deliver, into(threadID))
	s.wantSteered(run, item, turnID)
	if n := len(s.host.did("SteerTurn")) + len(s.host.did("StartTurn")); n != 1 {
		t.Errorf("%d texts were sent, want the first prompt only", n)
	}
}

// The words went with the turn that had taken them: they begin the next one, once.
func TestWordsThatWentWithTheirTurnAreSaidAgain(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID, item := s.said()
	s.steeredByDead(threadID, turnID, item)
	s.host.threads[threadID].turns[0].Status = codex.TurnCompleted
	s.endTurn(threadID, turnID, models.TurnCompleted)
	s.do(s.node.Deliver, into(threadID))
	s.wantSteered(run, item, s.host.threads[threadID].turns[1].ID)
	got := s.events(models.EventMessageDelivered)
	if last := got[len(got)-1]; last.Payload["resent_after_unknown"] != true {
		t.Errorf("receipt %+v", last.Payload)
	}
}

// A stop does not wait for words that a command keeps from being read.
func TestUnreadWordsDoNotHoldAStop(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID, item := s.said()
	s.steeredByDead(threadID, turnID, item)
	_, err := s.l.InterruptRun(t.Context(), ledger.As(person), run.ID, "too slow")
	s.ok(err)
	s.do(s.node.InterruptRun, named(s.openInterrupt(run)))
	if got := s.host.did("InterruptTurn"); len(got) != 1 {
		t.Errorf("interrupted %v", got)
	}
	s.do(s.node.Deliver, into(threadID))
	if m := s.message(run.ID, item.ID); m.State != models.OutboxDropped || len(s.host.did("StartTurn")) != 1 {
		t.Errorf("after the stop the message is %s, texts %v", m.State, s.host.did("StartTurn"))
	}
}
