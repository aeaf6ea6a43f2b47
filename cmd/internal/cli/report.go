package cli

import (
	"context"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// outcomeRow is what a run of `cox up` says of one assignment at its end.
type outcomeRow struct {
	AssignmentID  string                  `json:"assignment_id"`
	Title         string                  `json:"title"`
	Status        models.AssignmentStatus `json:"status"`
	RunID         string                  `json:"run_id"`
	ThreadID      string                  `json:"thread_id"`
	HandoffActor  string                  `json:"handoff_actor"`
	DecisionActor string                  `json:"decision_actor"`
	Tokens        models.TokenUsage       `json:"tokens"`
	Files         []string                `json:"files"` // uncommitted files in its scope at its end
	CreatedAt     time.Time               `json:"created_at"`
	StartedAt     *time.Time              `json:"started_at,omitempty"`
	HandedOffAt   *time.Time              `json:"handed_off_at,omitempty"`
	DecidedAt     *time.Time              `json:"decided_at,omitempty"`
}

// report prints the end of a run: one document, or a table.
func (s *stack) report(ctx context.Context, l *ledger.Ledger, teams []string) error {
	rows := []outcomeRow{}
	for _, id := range teams {
		found, err := l.Assignments(ctx, ledger.AssignmentFilter{TeamID: id})
		if err != nil {
			return err
		}
		for _, a := range found {
			row, err := outcomeOf(ctx, l, a)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	doc := fields{"assignments": rows, "state_dir": s.stateDir, "ledger": l.Path()}
	if s.engine.Address != "" {
		doc["engine"] = s.engine
	}
	if s.demo != nil {
		doc["repository"] = s.demo.repo
	}
	return s.answer(doc, func(p *printer) {
		table := make([][]any, 0, len(rows))
		for _, r := range rows {
			table = append(table, []any{r.AssignmentID, r.Status, r.HandoffActor, r.DecisionActor, r.Tokens.Total, len(r.Files)})
		}
		p.heading("Assignments")
		p.table("None.", []string{"ASSIGNMENT", "STATUS", "HANDED OFF BY", "DECIDED BY", "TOKENS", "FILES"}, table)
	})
}

func outcomeOf(ctx context.Context, l *ledger.Ledger, a models.Assignment) (outcomeRow, error) {
	row := outcomeRow{AssignmentID: a.ID, Title: a.Title, Status: a.Status, CreatedAt: a.CreatedAt, Files: []string{}}
	detail, err := l.AssignmentDetail(ctx, a.ID)
	if err != nil {
		return row, err
	}
	for _, r := range detail.Runs {
		row.RunID, row.ThreadID, row.Tokens = r.ID, r.SessionRef, r.Tokens
		started := r.StartedAt
		row.StartedAt, row.HandedOffAt = &started, r.HandedOffAt
	}
	for _, e := range detail.Events {
		at := e.CreatedAt
		switch e.Type {
		case models.EventHandoffSubmitted:
			row.HandoffActor = e.ActorID
		case models.EventIntegratorReview:
			row.DecisionActor, row.DecidedAt = e.ActorID, &at
		case models.EventScopeDirty:
			row.Files = words(e.Payload["files"])
		}
	}
	return row, nil
}

func words(v any) []string {
	out := []string{}
	list, _ := v.([]any)
	for _, w := range list {
		if s, ok := w.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
