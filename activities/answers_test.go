package activities_test

import (
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

// ask puts a question about a run by the actor of a binding's thread, and answers
// it as a person.
func (s *stage) asked(bindingID, runID, question string) models.Event {
	s.Helper()
	spec, err := s.l.ThreadSpec(s.Context(), bindingID)
	s.ok(err)
	_, by, err := s.l.Bound(s.Context(), spec.Token)
	s.ok(err)
	event, err := s.l.RequestIntervention(s.Context(), ledger.As(by), runID, question, "", nil)
	s.ok(err)
	return event
}

func (s *stage) answer(question models.Event, text string) {
	s.Helper()
	_, err := s.l.RespondIntervention(s.Context(), ledger.As(person), question.ID, text)
	s.ok(err)
}

func TestAResumeQuotesEveryAnswerThatTheThreadWasNotTold(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	mine := s.asked(run.BindingID, run.ID, "Which harbour?")
	theirs, err := s.l.RequestIntervention(t.Context(), ledger.As(person), run.ID, "Which flag?", "", nil)
	s.ok(err)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	s.answer(mine, "The northern one")
	s.answer(theirs, "The blue one")
	cmds, err := s.l.Commands(t.Context(), ledger.CommandFilter{RunID: run.ID, OpenOnly: true})
	s.ok(err)
	if len(cmds) != 1 || cmds[0].Type != models.CommandResume {
		t.Fatalf("after both answers %+v", cmds)
	}
	s.do(s.control.QueueResume, named(cmds[0]))
	wantAll(t, s.text(threadID), "Which harbour?", "The northern one", "Which flag?", "The blue one")
}

func TestAReviewersQuestionHoldsItsNudgesUntilTheAnswer(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	s.handOff(run.ID)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	s.nudge()
	cmds, err := s.l.Commands(t.Context(), ledger.CommandFilter{TeamID: "t"})
	s.ok(err)
	question := s.asked(cmds[0].BindingID, run.ID, "Is the flag wanted?")
	if plan, err := s.l.PlanTeam(t.Context(), "t"); err != nil || len(plan.Commands)+plan.Asks != 0 {
		t.Fatalf("while the question is open %+v, %v", plan, err)
	}
	s.answer(question, "Yes, keep it")
	wantAll(t, s.nudge(), "answers stand below", "Is the flag wanted?", "Yes, keep it", person.ActorID)
	wantAll(t, s.nudge(), "This is reminder 2 of 3")
}

func TestTheAnswerToAnIgnoredReviewReachesTheIntegrator(t *testing.T) {
	s := newStage(t)
	run, threadID, turnID := s.running("a")
	s.handOff(run.ID)
	s.endTurn(threadID, turnID, models.TurnCompleted)
	for range models.DefaultLoop().ReviewMaxNudges {
		s.nudge()
	}
	_, err := s.l.PlanTeam(t.Context(), "t")
	s.ok(err)
	wantAll(t, s.nudge(), "After 3 reminders")
	open, err := s.l.Interventions(t.Context(), ledger.InterventionFilter{TeamID: "t", Status: "open"})
	s.ok(err)
	s.answer(models.Event{ID: open[0].ID}, "Reject it, the plan changed")
	wantAll(t, s.nudge(), "Reject it, the plan changed")
}
