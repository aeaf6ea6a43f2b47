package activities_test

import (
	"errors"
	"slices"
	"testing"

	"coxswain/activities"
	"coxswain/activities/codex"
	"coxswain/models"
	"coxswain/models/ledger"
)

func into(threadID string) activities.DeliverInput {
	return activities.DeliverInput{ThreadID: threadID}
}

// sent are the turns that were started for a message.
func (s *stage) sent(threadID string, cmd models.Command) int {
	n := 0
	for _, c := range s.host.did("StartTurn") {
		if c == "StartTurn "+threadID+" "+models.MessageID(cmd.ID) {
			n++
		}
	}
	return n
}

func TestAMessageIsSentOnceUnderItsID(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	s.do(s.node.Deliver, into(threadID))
	s.do(s.node.Deliver, into(threadID)) // nothing is left
	if n := s.sent(threadID, cmd); n != 1 || s.next(threadID).Pending != 0 {
		t.Errorf("sent %d times, %d pending", n, s.next(threadID).Pending)
	}
	got := s.events(models.EventMessageDelivered)
	if len(got) != 1 || got[0].Payload["message_id"] != models.MessageID(cmd.ID) || got[0].Payload["resent_after_unknown"] != false || got[0].Payload["turn_id"] != s.host.threads[threadID].turns[0].ID {
		t.Errorf("receipts %+v", got)
	}
	if used, err := s.l.ThreadHasTurns(t.Context(), threadID); err != nil || !used {
		t.Errorf("the turn is not recorded: %v", err)
	}
}

// An earlier attempt died after it had sent: the message is in the history.
func TestAMessageThatArrivedIsNotSentAgain(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	_, err := s.l.BeginMessage(t.Context(), threadID, "dead")
	s.ok(err)
	th := s.host.put(threadID, true, codex.Turn{ID: "tu-x", Status: codex.TurnCompleted})
	th.store("tu-x", models.MessageID(cmd.ID))
	s.do(s.node.Deliver, into(threadID))
	if n := len(s.host.did("StartTurn")); n != 0 || s.next(threadID).Pending != 0 {
		t.Errorf("sent %d times, %d pending", n, s.next(threadID).Pending)
	}
	if got := s.events(models.EventMessageDelivered); len(got) != 1 || got[0].Payload["turn_id"] != "tu-x" {
		t.Errorf("receipts %+v", got)
	}
	if ended := s.events(models.EventTurnEnded); len(ended) != 1 { // it ended while nobody watched
		t.Errorf("ends %+v", ended)
	}
}

// An earlier attempt died before it had sent: a second listing of the idle thread
// has to say so as well.
func TestAMessageThatIsProvedAbsentIsSentAgain(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	_, err := s.l.BeginMessage(t.Context(), threadID, "dead")
	s.ok(err)
	s.do(s.node.Deliver, into(threadID))
	got := s.events(models.EventMessageDelivered)
	if n := s.sent(threadID, cmd); n != 1 || len(got) != 1 || got[0].Payload["resent_after_unknown"] != true {
		t.Errorf("sent %d times, receipts %+v", n, got)
	}
	if n := len(s.host.did("ListTurnItems")); n < 3 { // two listings before, one for the receipt
		t.Errorf("listed %d times", n)
	}
}

// The message becomes visible only between the two listings.
func TestAMessageThatAppearsLateIsNotSentAgain(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	_, err := s.l.BeginMessage(t.Context(), threadID, "dead")
	s.ok(err)
	s.host.hook["ReadThread"] = func() {
		s.host.put(threadID, true, codex.Turn{ID: "tu-x", Status: codex.TurnCompleted}).store("tu-x", models.MessageID(cmd.ID))
	}
	s.do(s.node.Deliver, into(threadID))
	if n := len(s.host.did("StartTurn")); n != 0 || len(s.events(models.EventMessageDelivered)) != 1 {
		t.Errorf("sent %d times, receipts %+v", n, s.events(models.EventMessageDelivered))
	}
}

func TestNothingIsSentWhileATurnIsActive(t *testing.T) {
	s := newStage(t)
	_, threadID := s.started("a")
	s.host.put(threadID, true, codex.Turn{ID: "tu-x", Status: codex.TurnInProgress})
	s.do(s.node.Deliver, into(threadID))
	next := s.next(threadID)
	if n := len(s.host.did("StartTurn")); n != 0 || next.Pending != 1 || next.WakeAt == nil {
		t.Errorf("sent %d times, next %+v", n, next)
	}
}

func TestAnUnwantedMessageIsDropped(t *testing.T) {
	t.Run("before the attempt", func(t *testing.T) {
		s := newStage(t)
		_, threadID := s.started("a")
		s.cancel("a")
		s.do(s.node.Deliver, into(threadID))
		if n := len(s.host.did("StartTurn")); n != 0 || s.next(threadID).Pending != 0 {
			t.Errorf("sent %d times, %d pending", n, s.next(threadID).Pending)
		}
	})
	t.Run("right before the effect", func(t *testing.T) {
		s := newStage(t)
		_, threadID := s.started("a")
		s.host.hook["ReadThread"] = func() { s.cancel("a") }
		s.do(s.node.Deliver, into(threadID))
		if n := len(s.host.did("StartTurn")); n != 0 || s.next(threadID).Pending != 0 {
			t.Errorf("sent %d times, %d pending", n, s.next(threadID).Pending)
		}
	})
}

func TestARefusedMessageIsTriedAgainLater(t *testing.T) {
	for name, method := range map[string]string{"by the host": "StartTurn", "without a host": "Host", "by a thread in use": "LoadedThreads"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			cmd, threadID := s.started("a")
			s.host.fails[method] = []error{&codex.Error{Kind: codex.ErrBusy, Message: "in use"}}
			s.do(s.node.Deliver, into(threadID))
			if next := s.next(threadID); next.Pending != 1 || next.WakeAt == nil {
				t.Fatalf("next %+v", next)
			}
			s.do(s.node.Deliver, into(threadID))
			if n := len(s.host.did("StartTurn")); s.next(threadID).Pending != 0 || method != "StartTurn" && n != 1 {
				t.Errorf("sent %d times, %d pending", n, s.next(threadID).Pending)
			}
			if got := s.events(models.EventMessageDelivered); len(got) != 1 || got[0].Payload["message_id"] != models.MessageID(cmd.ID) {
				t.Errorf("receipts %+v", got)
			}
		})
	}
}

// A host that is away for long is no refusal of the thread's.
func TestAMessageOutlivesItsHost(t *testing.T) {
	s := newStage(t)
	_, threadID := s.started("a")
	for range ledger.MaxDeliveryRefusals + 2 {
		s.host.fails["Host"] = []error{errors.New("away")}
		s.do(s.node.Deliver, into(threadID))
	}
	if n := s.next(threadID); n.Pending != 1 {
		t.Fatalf("next %+v", n)
	}
	s.do(s.node.Deliver, into(threadID))
	if n := len(s.events(models.EventMessageDelivered)); n != 1 {
		t.Errorf("%d receipts", n)
	}
}

func TestAThreadThatKeepsRefusingIsAPersonsMatter(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	for range ledger.MaxDeliveryRefusals {
		s.host.fails["StartTurn"] = []error{&codex.Error{Kind: codex.ErrRefused, Message: "no"}}
		s.do(s.node.Deliver, into(threadID))
	}
	asked, err := s.l.Interventions(t.Context(), ledger.InterventionFilter{RunID: cmd.RunID})
	s.ok(err)
	if s.next(threadID).Pending != 0 || len(asked) != 1 || asked[0].Kind != "delivery_failed" {
		t.Errorf("%d pending, asked %+v", s.next(threadID).Pending, asked)
	}
}

// The answer of turn/start was lost; whether the message is in the thread is found
// out before anything is sent again.
func TestALostAnswerIsLookedUpInTheThread(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	s.host.hook["StartTurn"] = func() {
		s.host.put(threadID, true, codex.Turn{ID: "tu-x", Status: codex.TurnInProgress}).store("tu-x", models.MessageID(cmd.ID))
	}
	s.host.fails["StartTurn"] = []error{&codex.Error{Kind: codex.ErrTimeout, Message: "no answer"}}
	s.do(s.node.Deliver, into(threadID))
	if n := s.next(threadID); n.Pending != 1 || n.WakeAt == nil {
		t.Fatalf("next %+v", n)
	}
	s.do(s.node.Deliver, into(threadID))
	if n := s.sent(threadID, cmd); n != 1 || len(s.events(models.EventMessageDelivered)) != 1 {
		t.Errorf("sent %d times, receipts %+v", n, s.events(models.EventMessageDelivered))
	}
}

func TestAThreadThatIsNotLoadedIsResumedWithItsConfiguration(t *testing.T) {
	s := newStage(t)
	_, threadID := s.started("a")
	s.host.put(threadID, false)
	s.do(s.node.Deliver, into(threadID))
	if got := s.host.did("ResumeThread"); !slices.Equal(got, []string{"ResumeThread " + threadID}) {
		t.Errorf("resumed %v", got)
	}
	if last := s.host.specs[len(s.host.specs)-1]; last.MCP.Env["COX_BINDING_TOKEN"] == "" || last.CWD != "/srv/w" {
		t.Errorf("resumed with %+v", last)
	}
	if s.next(threadID).Pending != 0 {
		t.Error("the message was not sent")
	}
}

// An empty thread vanishes with its host: another one takes its place, and the
// message with it.
func TestAnEmptyThreadThatIsGoneIsReplaced(t *testing.T) {
	s := newStage(t)
	cmd, threadID := s.started("a")
	s.ok(s.host.ArchiveThread(t.Context(), threadID))
	s.do(s.node.Deliver, into(threadID))
	fresh := s.run(cmd.RunID).SessionRef
	if fresh == threadID || fresh == "" || s.next(threadID).Pending != 0 || s.next(fresh).Pending != 1 {
		t.Fatalf("moved to %q: %d left behind, %d there", fresh, s.next(threadID).Pending, s.next(fresh).Pending)
	}
	s.do(s.node.Deliver, into(fresh))
	if n := s.sent(fresh, cmd); n != 1 {
		t.Errorf("sent %d times into the new thread", n)
	}
	last := s.host.specs[len(s.host.specs)-1]
	if _, p, err := s.l.Bound(t.Context(), last.MCP.Env["COX_BINDING_TOKEN"]); err != nil || p.ActorID != cmd.TargetActorID {
		t.Errorf("the new thread's token proves %+v, %v", p, err)
	}
}

// A thread that an earlier host left loaded in a server is resumed before it is
// used, since its events would not come otherwise.
func TestAThreadThatTheHostDoesNotHoldIsResumedFirst(t *testing.T) {
	s := newStage(t)
	_, threadID, turnID := s.running("a")
	s.endTurn(threadID, turnID, models.TurnCompleted)
	resume := s.planned(models.CommandResume)
	s.do(s.control.QueueResume, named(resume))
	s.host.threads[threadID].turns[0].Status = codex.TurnCompleted
	s.host.strange = map[string]bool{threadID: true}
	s.do(s.node.Deliver, into(threadID))
	if did := s.host.did("ResumeThread"); len(did) != 1 || s.sent(threadID, resume) != 1 {
		t.Errorf("resumed %v, sent %d times", did, s.sent(threadID, resume))
	}
}

func TestAUsedThreadThatIsGoneIsNotReplaced(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	s.endTurn(threadID, turnID, models.TurnCompleted)
	resume := s.planned(models.CommandResume)
	s.do(s.control.QueueResume, named(resume))
	s.ok(s.host.ArchiveThread(t.Context(), threadID))
	if _, err := s.env.ExecuteActivity(s.node.Deliver, into(threadID)); err != nil {
		t.Fatal(err)
	}
	if s.run(run.ID).SessionRef != threadID || s.next(threadID).Pending != 1 || len(s.host.did("StartThread")) != 1 {
		t.Errorf("thread %s, %d pending, %v", s.run(run.ID).SessionRef, s.next(threadID).Pending, s.host.did("StartThread"))
	}
}

func TestAMessageWithoutReceiptIsInDoubt(t *testing.T) {
	if testing.Short() {
		t.Skip("waits ten seconds for a receipt that does not come")
	}
	t.Parallel()
	s := newStage(t)
	cmd, threadID := s.started("a")
	s.host.threads[threadID].forgetful = true
	s.do(s.node.Deliver, into(threadID))
	next := s.next(threadID)
	if n := s.sent(threadID, cmd); n != 1 || next.Pending != 1 || len(s.events(models.EventMessageDelivered)) != 0 {
		t.Fatalf("sent %d times, next %+v", n, next)
	}
	if next.Card.Status != string(models.OutboxSending) {
		t.Errorf("after doubt the message is %s: it would be sent without a look", next.Card.Status)
	}
}

func TestAForeignErrorLeavesDoubt(t *testing.T) {
	if !codex.Happened(errors.New("anything")) || codex.Happened(unknownThread()) {
		t.Error("what is not known to be harmless counts as harmless, or the reverse")
	}
}
