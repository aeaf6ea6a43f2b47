package activities

import (
	"context"
	"errors"
	"slices"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
	"coxswain/prompts"
)

// ClaimInput is a thread that StartThread readied for a start command.
type ClaimInput struct {
	CommandID  string `json:"command_id"`
	Owner      string `json:"owner"` // the attempt that owns the command
	Branch     string `json:"branch"`
	BaseCommit string `json:"base_commit"`
}

// ClaimRun renders the worker's prompt and claims the assignment. wanted is false
// when the assignment was cancelled or changed meanwhile.
func (c *Control) ClaimRun(ctx context.Context, in ClaimInput) (wanted bool, err error) {
	w, open, err := c.Ledger.BeginCommand(ctx, in.CommandID, in.Owner)
	if err != nil || !open {
		return true, failure(err)
	}
	text, err := startPrompt(ctx, c.Ledger, w, in)
	if err != nil {
		return false, failure(err)
	}
	failpoint.Hit(failpoint.ClaimDeciding)
	err = c.Ledger.ClaimRun(ctx, in.CommandID, in.Owner, ledger.Claim{Branch: in.Branch, BaseCommit: in.BaseCommit, Prompt: text})
	failpoint.Hit(failpoint.ClaimCommitted)
	if errors.Is(err, ledger.ErrNotWanted) {
		return false, nil
	}
	return err == nil, failure(err)
}

// startPrompt renders what the claim will be: the run as it will stand.
func startPrompt(ctx context.Context, l *ledger.Ledger, w ledger.Work, in ClaimInput) (string, error) {
	run := w.Run
	run.WorktreePath, run.Branch, run.BaseCommit = w.Folder(), in.Branch, in.BaseCommit
	a := w.Assignment
	a.Revision++ // the claim raises it
	work := prompts.WorkOf(a, run, w.Command.ID)
	if w.Command.PromptKind != models.PromptFix {
		return prompts.Worker(prompts.WorkerInput{Work: work})
	}
	review, err := l.LastReview(ctx, a.ID)
	if err != nil {
		return "", err
	}
	note, _ := review.Payload["decision_note"].(string)
	head, _ := review.Payload["head_commit"].(string)
	return prompts.Fix(prompts.FixInput{Work: work, ReviewedEventID: review.ReviewedEventID, ReviewerID: review.ActorID, HeadCommit: head, Note: note})
}

// CommandInput names a command.
type CommandInput struct {
	CommandID string `json:"command_id"`
}

// QueueResume renders a resume prompt and queues it for its thread.
func (c *Control) QueueResume(ctx context.Context, in CommandInput) error {
	own := owner(ctx)
	w, open, err := c.Ledger.BeginCommand(ctx, in.CommandID, own)
	if err != nil || !open {
		return failure(err)
	}
	input, err := resumeInput(ctx, c.Ledger, w)
	if err != nil {
		return failure(err)
	}
	text, err := prompts.Resume(input)
	failpoint.Hit(failpoint.ResumeQueueing)
	err = c.queue(ctx, in.CommandID, own, text, err)
	failpoint.Hit(failpoint.ResumeQueued)
	return err
}

// queue queues a rendered text. One that cannot be rendered fails its command, so
// that the journal says why and the next attempt backs off.
func (c *Control) queue(ctx context.Context, commandID, own, text string, rendering error) error {
	if rendering != nil {
		return failure(c.Ledger.FailCommand(ctx, commandID, own, reason(rendering)))
	}
	return failure(c.Ledger.QueueMessage(ctx, commandID, own, text))
}

func resumeInput(ctx context.Context, l *ledger.Ledger, w ledger.Work) (prompts.ResumeInput, error) {
	in := prompts.ResumeInput{Work: prompts.WorkOf(w.Assignment, w.Run, w.Command.ID), Reason: prompts.ResumeReason(w.Command.Reason)}
	if c, ok := w.Run.Metadata["communication_cursor"].(map[string]any); ok {
		in.LastCommandID, _ = c["last_command_id"].(string)
	}
	if in.Reason != prompts.ResumeAnswered {
		return in, nil
	}
	answered, err := l.FreshAnswers(ctx, w.Run.ID)
	in.Answers = answersOf(answered, "")
	in.Stopped = slices.ContainsFunc(answered, func(q models.Intervention) bool { return q.Kind == models.InterventionStopped })
	return in, err
}

// answersOf quotes answered questions; about names the assignment where the reader
// has several.
func answersOf(list []models.Intervention, about string) []prompts.Answer {
	out := make([]prompts.Answer, len(list))
	for i, q := range list {
		out[i] = prompts.Answer{InterventionID: q.ID, AskedBy: q.RequestedBy, About: about, Question: q.Prompt, Answer: q.Response, AnsweredBy: q.RespondedBy}
	}
	return out
}

// QueueNudge renders a review nudge and queues it for the integrator's thread.
func (c *Control) QueueNudge(ctx context.Context, in ClaimInput) error {
	w, open, err := c.Ledger.BeginCommand(ctx, in.CommandID, in.Owner)
	if err != nil || !open {
		return failure(err)
	}
	text, err := nudgePrompt(ctx, c.Ledger, w)
	failpoint.Hit(failpoint.NudgeQueueing)
	err = c.queue(ctx, in.CommandID, in.Owner, text, err)
	failpoint.Hit(failpoint.NudgeQueued)
	return err
}

func nudgePrompt(ctx context.Context, l *ledger.Ledger, w ledger.Work) (string, error) {
	pending, err := l.PendingReviews(ctx, ledger.ReviewFilter{TeamID: w.Team.ID})
	if err != nil {
		return "", err
	}
	in := prompts.ReviewInput{
		ActorID: w.Binding.ActorID, WorkspaceID: w.Workspace.ID, TeamID: w.Team.ID, CommandID: w.Command.ID, MaxNudges: w.Team.Loop.ReviewMaxNudges,
	}
	for _, p := range pending {
		if !slices.Contains(w.Command.EventIDs, p.Event.ID) {
			continue
		}
		talk, err := l.ReviewTalk(ctx, p.Event)
		if err != nil {
			return "", err
		}
		if len(in.Reviews) == 0 {
			in.Attempt = talk.Nudges
		}
		in.Reviews, in.Answers = append(in.Reviews, p), append(in.Answers, answersOf(talk.Answers, p.Event.AssignmentID)...)
	}
	if len(in.Reviews) == 0 {
		return "every handoff of this nudge is decided", nil // QueueMessage refuses it for the same reason
	}
	if w.Command.PromptKind != models.PromptEscalation {
		return prompts.Review(in)
	}
	in.Attempt-- // the reminders before this message
	escalation := prompts.EscalationInput{ReviewInput: in}
	asked, err := l.Interventions(ctx, ledger.InterventionFilter{TeamID: w.Team.ID, Status: "open"})
	if err != nil {
		return "", err
	}
	for _, q := range asked {
		if q.Kind == models.AskReviewIgnored && slices.ContainsFunc(in.Reviews, func(p models.PendingReview) bool { return p.Event.RunID == q.RunID }) {
			escalation.InterventionIDs = append(escalation.InterventionIDs, q.ID)
		}
	}
	if len(escalation.InterventionIDs) == 0 {
		in.Attempt++
		return prompts.Review(in) // answered meanwhile
	}
	return prompts.Escalation(escalation)
}
