package prompts

import (
	"fmt"

	"coxswain/models"
)

// Input is the typed input of one prompt kind. The inputs of this package are
// the only ones.
type Input interface {
	// Kind is the template that the input belongs to.
	Kind() models.PromptKind
	// Validate refuses an input that lacks what its prompt cannot do without,
	// with INVALID_ARGUMENT naming the field.
	Validate() error
}

// Work is what every prompt to a worker says of its assignment and run.
type Work struct {
	ActorID            string
	WorkspaceID        string
	TeamID             string
	AssignmentID       string
	Title              string
	Revision           int // of the assignment, as the claim left it
	RunID              string
	CommandID          string // the command that this prompt carries out
	WorktreePath       string // absolute; the thread's working directory
	Branch             string // "" for a detached head or a folder without Git
	BaseCommit         string // "" before the first commit or without Git
	ContextRefs        []models.ContextRef
	AllowedPaths       []string // none means the whole workspace
	AcceptanceCriteria []string
	Description        string // what a plan says of the work; "" when there is none
}

// WorkOf fills a Work from the ledger's rows and the command that is carried
// out. The actor is the run's.
func WorkOf(a models.Assignment, r models.Run, commandID string) Work {
	return Work{
		ActorID: r.ActorID, WorkspaceID: a.WorkspaceID, TeamID: a.TeamID, AssignmentID: a.ID,
		Title: a.Title, Revision: a.Revision, RunID: r.ID, CommandID: commandID,
		WorktreePath: r.WorktreePath, Branch: r.Branch, BaseCommit: r.BaseCommit,
		ContextRefs: a.ContextRefs(), AllowedPaths: a.AllowedPaths, AcceptanceCriteria: a.AcceptanceCriteria,
		Description: a.Description(),
	}
}

// Validate refuses a Work without its ids or its revision.
func (w Work) Validate() error {
	if w.Revision < 1 {
		return models.Invalid("revision", "must be at least 1")
	}
	return required(
		field{"actor_id", w.ActorID}, field{"workspace_id", w.WorkspaceID}, field{"assignment_id", w.AssignmentID},
		field{"run_id", w.RunID}, field{"command_id", w.CommandID},
	)
}

// WorkerInput is the first prompt of a run (seed 000, prompt builder).
type WorkerInput struct{ Work }

// Kind is worker_assignment.
func (WorkerInput) Kind() models.PromptKind { return models.PromptWorker }

// FixInput is the prompt of a further run on the same thread, after a review
// asked for a fix.
type FixInput struct {
	Work
	ReviewedEventID string // the handoff that was reviewed
	ReviewerID      string
	HeadCommit      string // the commit of that handoff; "" when it named none
	Note            string // the reviewer's words
}

// Kind is worker_fix.
func (FixInput) Kind() models.PromptKind { return models.PromptFix }

// Validate also asks for the reviewed event.
func (in FixInput) Validate() error {
	if err := in.Work.Validate(); err != nil {
		return err
	}
	return required(field{"reviewed_event_id", in.ReviewedEventID})
}

// ResumeReason tells why a worker is sent back to a run that has not ended.
type ResumeReason string

// The reasons of a resume.
const (
	// ResumeNoHandoff: the turn ended without a handoff (seed 000, run observer).
	ResumeNoHandoff ResumeReason = "no_handoff"
	// ResumeTurnLost: the turn was cut off and nobody had asked for it.
	ResumeTurnLost ResumeReason = "turn_lost"
	// ResumeTurnFailed: the turn ended in an error that may pass, such as a rate
	// limit.
	ResumeTurnFailed ResumeReason = "turn_failed"
	// ResumeStalled: the turn was stopped because a clock of it ran out.
	ResumeStalled ResumeReason = "stalled"
	// ResumeAnswered: the questions about the run are answered.
	ResumeAnswered ResumeReason = "answered"
)

// Answer is what a person answered to a question about the work.
type Answer struct {
	InterventionID string
	AskedBy        string // the actor that put the question; "cox" for the planner
	About          string // the assignment; "" where the prompt is about one only
	Question       string // its words; "" leaves them unsaid
	Answer         string
	AnsweredBy     string
}

// Validate asks for everything but the question's words.
func (a Answer) Validate() error {
	return required(field{"intervention_id", a.InterventionID}, field{"asked_by", a.AskedBy}, field{"answer", a.Answer}, field{"answered_by", a.AnsweredBy})
}

func validAnswers(list []Answer) error {
	for _, a := range list {
		if err := a.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// ResumeInput sends a worker back to its run (seed 000, resuming owned work).
type ResumeInput struct {
	Work
	Reason        ResumeReason
	LastCommandID string   // the last command that reached the thread
	Answers       []Answer // with ResumeAnswered: those that the thread has not been told, oldest first
	Stopped       bool     // with ResumeAnswered: a person had stopped the turn before
}

// Kind is worker_resume.
func (ResumeInput) Kind() models.PromptKind { return models.PromptResume }

// Validate also asks for the reason, the last command, and the answer where the
// reason is one.
func (in ResumeInput) Validate() error {
	if err := in.Work.Validate(); err != nil {
		return err
	}
	if err := required(field{"last_command_id", in.LastCommandID}); err != nil {
		return err
	}
	switch in.Reason {
	case ResumeNoHandoff, ResumeTurnLost, ResumeTurnFailed, ResumeStalled:
		return nil
	case ResumeAnswered:
		if len(in.Answers) == 0 {
			return models.Invalid("answers", "must hold at least one")
		}
		return validAnswers(in.Answers)
	}
	return models.Invalid("reason", "%q is not one of no_handoff, turn_lost, turn_failed, stalled, answered", in.Reason)
}

// SteerInput is a person's words into a run that is under way. They reach the
// active turn, or begin one.
type SteerInput struct {
	ActorID      string // the worker
	AssignmentID string
	RunID        string
	From         string // who says it
	Message      string
}

// Kind is worker_steer.
func (SteerInput) Kind() models.PromptKind { return models.PromptSteer }

// Validate asks for the ids, the author and the words.
func (in SteerInput) Validate() error {
	return required(
		field{"actor_id", in.ActorID}, field{"assignment_id", in.AssignmentID}, field{"run_id", in.RunID},
		field{"from", in.From}, field{"message", in.Message},
	)
}

// ReviewInput asks an integrator for a decision on each handoff (seed 000,
// review nudge worker).
type ReviewInput struct {
	ActorID     string // the integrator
	WorkspaceID string
	TeamID      string
	CommandID   string
	Attempt     int // the nudge's number for the oldest of these handoffs since its last answer, from 1
	MaxNudges   int // after that many a person is asked; 0 leaves it unsaid
	Reviews     []models.PendingReview
	Answers     []Answer // to questions about these handoffs, oldest first
}

// Kind is integrator_review.
func (ReviewInput) Kind() models.PromptKind { return models.PromptReview }

// Validate asks for the ids and at least one handoff with its event and
// assignment.
func (in ReviewInput) Validate() error {
	if len(in.Reviews) == 0 {
		return models.Invalid("reviews", "must name at least one handoff")
	}
	for i, r := range in.Reviews {
		name := fmt.Sprintf("reviews[%d].", i)
		if err := required(field{name + "event_id", r.Event.ID}, field{name + "assignment_id", r.Event.AssignmentID}); err != nil {
			return err
		}
	}
	if err := validAnswers(in.Answers); err != nil {
		return err
	}
	return required(
		field{"actor_id", in.ActorID}, field{"workspace_id", in.WorkspaceID},
		field{"team_id", in.TeamID}, field{"command_id", in.CommandID},
	)
}

// EscalationInput tells an integrator that its nudges were not followed by a
// decision and that a person was asked (seed 000, error handling: a pending
// review is repeatedly ignored).
type EscalationInput struct {
	ReviewInput
	InterventionIDs []string // the questions that a person was asked, one for each handoff
}

// Kind is integrator_escalation.
func (EscalationInput) Kind() models.PromptKind { return models.PromptEscalation }

// Validate also asks for the questions.
func (in EscalationInput) Validate() error {
	if err := in.ReviewInput.Validate(); err != nil {
		return err
	}
	if len(in.InterventionIDs) == 0 {
		return models.Invalid("intervention_ids", "must name at least one")
	}
	return nil
}

// DeveloperInput is what a thread's developer instructions depend on. It names
// no run, because the instructions stay the same for the thread's whole life.
type DeveloperInput struct {
	Role           models.Role // RoleAgent or RoleIntegrator
	ActorID        string
	WorkspaceID    string
	TeamID         string
	ProjectDocPath string // workspace-relative, such as "AGENTS.md"
	ProjectDoc     string // its text; "" when the project has none
}

// Validate asks for the ids and one of the two roles that own a thread.
func (in DeveloperInput) Validate() error {
	if in.Role != models.RoleAgent && in.Role != models.RoleIntegrator {
		return models.Invalid("role", "%q owns no thread: agent or integrator", in.Role)
	}
	return required(field{"actor_id", in.ActorID}, field{"workspace_id", in.WorkspaceID}, field{"team_id", in.TeamID})
}

type field struct{ name, value string }

func required(fields ...field) error {
	for _, f := range fields {
		if line(f.value) == "" {
			return models.Invalid(f.name, "is required")
		}
	}
	return nil
}
