package activities_test

import (
	"slices"
	"testing"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

// emptyElsewhere is a started thread that an earlier host of the same server made and
// that cannot be resumed the first few times, because it has no history.
func emptyElsewhere(s *stage, refusals int) (cmd models.Command, threadID string) {
	cmd, threadID = s.started("a")
	s.host.strange = map[string]bool{threadID: true}
	for range refusals {
		s.host.fails["ResumeThread"] = append(s.host.fails["ResumeThread"], unknownThread())
	}
	return cmd, threadID
}

func TestAnEmptyThreadOfADeadWorkerTakesItsFirstTurnAndIsHeldThen(t *testing.T) {
	s := newStage(t)
	cmd, threadID := emptyElsewhere(s, 2) // once before the turn, once while its history appears
	s.do(s.node.Deliver, into(threadID))
	if s.sent(threadID, cmd) != 1 || len(s.host.did("StartThread")) != 1 || len(s.host.did("ArchiveThread")) != 0 {
		t.Errorf("sent %d times, started %v, archived %v", s.sent(threadID, cmd), s.host.did("StartThread"), s.host.did("ArchiveThread"))
	}
	if !s.host.Holds(threadID) || s.next(threadID).Pending != 0 || s.run(cmd.RunID).SessionRef != threadID {
		t.Errorf("held %t, %d pending, the run is on %s", s.host.Holds(threadID), s.next(threadID).Pending, s.run(cmd.RunID).SessionRef)
	}
}

// The first turn may be over before its thread is held: nobody reports its end then.
func TestAFirstTurnThatEndedUnseenIsRecorded(t *testing.T) {
	s := newStage(t)
	cmd, threadID := emptyElsewhere(s, 1)
	s.host.hook["StartTurn"] = func() {
		s.host.mu.Lock()
		defer s.host.mu.Unlock()
		s.host.hook["ResumeThread"] = func() {
			s.host.mu.Lock()
			defer s.host.mu.Unlock()
			s.host.threads[threadID].turns[0].Status = codex.TurnCompleted
		}
	}
	s.do(s.node.Deliver, into(threadID))
	if ends := s.events(models.EventTurnEnded); s.sent(threadID, cmd) != 1 || len(ends) != 1 || ends[0].Payload["status"] != string(models.TurnCompleted) {
		t.Errorf("sent %d times, ends %+v", s.sent(threadID, cmd), ends)
	}
}

func TestAnEmptyThreadThatRefusesItsFirstTurnIsReplaced(t *testing.T) {
	s := newStage(t)
	_, threadID := emptyElsewhere(s, 1)
	s.host.fails["StartTurn"] = []error{unknownThread()}
	s.do(s.node.Deliver, into(threadID))
	if did := s.host.did("ArchiveThread"); len(did) != 1 || len(s.host.did("StartThread")) != 2 || s.next(threadID).Pending != 0 {
		t.Errorf("archived %v, %d left behind", did, s.next(threadID).Pending)
	}
}

func TestADrainingNodeBeginsNothing(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	activities.Drain(s.node)
	s.do(s.node.Deliver, into(threadID))
	if next := s.next(threadID); s.sent(threadID, cmd) != 0 || next.Pending != 1 {
		t.Errorf("sent %d times, next %+v", s.sent(threadID, cmd), next)
	}
	if _, err := s.env.ExecuteActivity(s.node.StartThread, named(cmd)); err == nil {
		t.Error("a thread was started")
	}
}

func TestAServerThatDrainsHoldsAMessageBack(t *testing.T) {
	s := newStage(t)
	_, threadID := s.started("a")
	for range ledger.MaxDeliveryRefusals + 2 {
		s.host.fails["StartTurn"] = []error{&codex.Error{Kind: codex.ErrDraining, Message: "Server is draining"}}
		s.do(s.node.Deliver, into(threadID))
	}
	if len(s.host.threads[threadID].turns) != 0 {
		t.Fatal("a draining server took a message")
	}
	s.do(s.node.Deliver, into(threadID))
	if len(s.host.threads[threadID].turns) != 1 || s.next(threadID).Pending != 0 {
		t.Error("a message that was only held back was given up")
	}
}

func TestAnAdoptedServerIsRidOfThreadsThatNothingOwns(t *testing.T) {
	s := newStage(t)
	_, threadID := s.started("a")
	s.host.put("orphan", true)
	s.host.put("used", true, codex.Turn{ID: "tu", Status: codex.TurnCompleted})
	s.ok(activities.Reattach(t.Context(), s.node, s.host))
	if did := s.host.did("ArchiveThread"); !slices.Equal(did, []string{"ArchiveThread orphan"}) {
		t.Errorf("archived %v; %s is known", did, threadID)
	}
}
