package cli

import (
	"context"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) reviewCommand() *urfave.Command {
	const about = "ID is the handoff's event or its assignment. The decision names the handoff's head commit and\nis refused when either has moved meanwhile."
	options := func(required bool) []*option {
		return []*option{{name: "note", required: required, usage: "what to tell the worker, in `WORDS`"}, baseOption()}
	}
	return a.group("review", "decide on handed-off work",
		leaf{
			name: "list", usage: "list handoffs that wait for a decision", example: "cox review list --team web",
			options: reviewListing().options(workspaceFilter(), teamFilter(),
				&option{name: "assignment", ids: "assignment", kind: identKind, usage: "only the handoff of this assignment `ID`"},
				&option{name: "escalated", kind: truthKind, usage: "only those about which a person was asked because nobody decided"}),
			run: reviewList,
		},
		reviewShowLeaf(),
		leaf{
			name: "accept", usage: "accept a handoff", argument: "ID", about: about, example: "cox review accept --note \"well done\" add-search",
			options: options(false), run: decide(models.DecisionAccept),
		},
		leaf{
			name: "reject", usage: "reject a handoff for good", argument: "ID", about: about, example: "cox review reject --note \"wrong approach\" add-search",
			options: options(true), run: decide(models.DecisionReject),
		},
		leaf{
			name: "needs-fix", usage: "send a handoff back to its worker", argument: "ID", about: about, example: "cox review needs-fix --note \"the empty query crashes\" add-search",
			options: options(true), run: decide(models.DecisionNeedsFix),
		},
	)
}

func reviewList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace", "team", "assignment"); err != nil {
		return err
	}
	reviews, err := l.PendingReviews(ctx, ledger.ReviewFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team"), AssignmentID: in.text("assignment"), Escalated: in.on("escalated")})
	if err != nil {
		return err
	}
	return reviewListing().answer(ctx, in, l, reviews)
}

func reviewListing() listing[models.PendingReview] {
	return listing[models.PendingReview]{
		key: "reviews", when: "handed off", who: "did the work",
		id: func(r models.PendingReview) string { return r.Event.ID },
		at: func(r models.PendingReview) time.Time { return r.Event.CreatedAt },
		by: func(r models.PendingReview) []string { return []string{r.WorkerActorID} },
		text: func(r models.PendingReview) []string {
			return []string{r.Event.AssignmentID, r.Title, compact(r.Event.Payload)}
		},
		table: (*printer).reviews,
	}
}

func (p *printer) reviews(reviews []models.PendingReview) {
	rows := make([][]any, 0, len(reviews))
	for _, r := range reviews {
		rows = append(rows, []any{r.Event.AssignmentID, r.Event.ID, r.WorkerActorID, orDash(short(r.HeadCommit)), r.Nudges, r.Event.CreatedAt, r.Title})
	}
	p.table("Nothing waits for a review.", []string{"ASSIGNMENT", "HANDOFF", "WORKER", "HEAD", "NUDGES", "SINCE", "TITLE"}, rows)
}

// decide makes the body of a decision's command.
func decide(d models.Decision) func(context.Context, *call) error {
	return func(ctx context.Context, in *call) error {
		l, err := in.ledger(ctx)
		if err != nil {
			return err
		}
		request := ledger.DecideRequest{Decision: d, Base: in.base(), Note: in.text("note")}
		shown, err := in.handoff(ctx, l)
		if err != nil {
			return err
		}
		request.EventID, request.HeadCommit = shown.Event.ID, shown.HeadCommit
		c := in.request()
		event, err := l.Decide(ctx, c, request)
		if err != nil {
			return err
		}
		in.queues(event.AssignmentID)
		return in.answer(fields{"event": event, "handoff": shown, "replayed": c.Replayed}, func(p *printer) {
			p.facts("assignment", event.AssignmentID, "title", shown.Title, "worker", shown.WorkerActorID, "handoff", request.EventID,
				"head commit", request.HeadCommit, "decision", event.Status, "decided by", event.ActorID)
		})
	}
}

// handoff finds the handoff that the argument names, by its event or its
// assignment. One that is decided already is looked up too, so that a repeated
// request gets its first answer and any other the ledger's own refusal.
func (in *call) handoff(ctx context.Context, l *ledger.Ledger) (models.PendingReview, error) {
	pending, err := l.PendingReviews(ctx, ledger.ReviewFilter{})
	if err != nil {
		return models.PendingReview{}, err
	}
	for _, r := range pending {
		if r.Event.ID == in.argument || r.Event.AssignmentID == in.argument {
			return r, nil
		}
	}
	return in.pastHandoff(ctx, l)
}

// pastHandoff finds a handoff that no longer waits for a decision.
func (in *call) pastHandoff(ctx context.Context, l *ledger.Ledger) (models.PendingReview, error) {
	filter := ledger.EventFilter{Types: []string{models.EventHandoffSubmitted}, Newest: true}
	s, err := l.Assignment(ctx, in.argument)
	switch {
	case err == nil:
		filter.AssignmentID = s.ID
	case models.IsCode(err, models.CodeNotFound):
		filter.Limit = 1000
	default:
		return models.PendingReview{}, err
	}
	found, err := l.Events(ctx, filter)
	if err != nil {
		return models.PendingReview{}, err
	}
	for _, e := range slices.Backward(found) {
		if e.ID == in.argument || e.AssignmentID == in.argument {
			run, err := l.Run(ctx, e.RunID)
			return models.PendingReview{Event: e, Title: s.Title, WorkerActorID: run.ActorID, HeadCommit: run.HeadCommit}, err
		}
	}
	if filter.AssignmentID == "" {
		return models.PendingReview{}, models.NotFound("handoff or assignment", in.argument).Hint("cox review list")
	}
	return models.PendingReview{}, models.Invalid("ID", "assignment %s has not been handed off; it is %s", s.ID, s.Status).
		Hint("cox assignment show %s", s.ID)
}
