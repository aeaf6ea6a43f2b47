package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"time"

	"coxswain/activities/codex/appserver"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
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
	Tokens        models.TokenUsage       `json:"tokens"` // of all its runs
	Files         []string                `json:"files"`  // uncommitted files in its paths at its end; null without paths, where nobody knows whose they are
	CreatedAt     time.Time               `json:"created_at"`
	StartedAt     *time.Time              `json:"started_at,omitempty"`
	HandedOffAt   *time.Time              `json:"handed_off_at,omitempty"`
	DecidedAt     *time.Time              `json:"decided_at,omitempty"`
}

// end prints the end of a run: one document, or a table. With a cause it ends with
// that error, whose document then carries the report among its details.
func (s *stack) end(ctx context.Context, l *ledger.Ledger, teams []string, cause error) error {
	doc, rows, err := s.report(ctx, l, teams)
	if err != nil {
		return errors.Join(cause, err)
	}
	if e, ok := errors.AsType[*models.Error](cause); ok && s.json {
		return e.With("report", doc)
	}
	return errors.Join(cause, s.answer(doc, func(p *printer) { p.outcomes(rows) }))
}

// report is what a run says of its assignments at its end.
func (s *stack) report(ctx context.Context, l *ledger.Ledger, teams []string) (fields, []outcomeRow, error) {
	rows := []outcomeRow{}
	for _, id := range teams {
		found, err := l.Assignments(ctx, ledger.AssignmentFilter{TeamID: id})
		if err != nil {
			return nil, nil, err
		}
		for _, a := range found {
			row, err := outcomeOf(ctx, l, a)
			if err != nil {
				return nil, nil, err
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
	return doc, rows, nil
}

func (p *printer) outcomes(rows []outcomeRow) {
	table := make([][]any, 0, len(rows))
	for _, r := range rows {
		table = append(table, []any{r.AssignmentID, r.Status, r.HandoffActor, r.DecisionActor, r.Tokens.Total, r.fileCount()})
	}
	p.heading("Assignments")
	p.table("None.", []string{"ASSIGNMENT", "STATUS", "HANDED OFF BY", "DECIDED BY", "TOKENS", "FILES"}, table)
}

func (r *outcomeRow) fileCount() string {
	if r.Files == nil {
		return "-"
	}
	return strconv.Itoa(len(r.Files))
}

func outcomeOf(ctx context.Context, l *ledger.Ledger, a models.Assignment) (outcomeRow, error) {
	row := outcomeRow{AssignmentID: a.ID, Title: a.Title, Status: a.Status, CreatedAt: a.CreatedAt}
	if len(a.AllowedPaths) > 0 {
		row.Files = []string{}
	}
	detail, err := l.AssignmentDetail(ctx, a.ID)
	if err != nil {
		return row, err
	}
	row.Tokens = tokensOf(detail.Runs)
	for _, r := range detail.Runs {
		row.RunID, row.ThreadID = r.ID, r.SessionRef
		started := r.StartedAt
		row.StartedAt, row.HandedOffAt = &started, r.HandedOffAt
	}
	for _, e := range detail.Events {
		row.apply(e)
	}
	return row, nil
}

// apply brings an event into the row, the oldest first. A claim or a handoff begins
// anew: what was decided before it is history.
func (r *outcomeRow) apply(e models.Event) {
	switch e.Type {
	case models.EventRunClaimed:
		r.HandoffActor, r.DecisionActor, r.DecidedAt = "", "", nil
	case models.EventHandoffSubmitted:
		r.HandoffActor, r.DecisionActor, r.DecidedAt = e.ActorID, "", nil
	case models.EventIntegratorReview:
		at := e.CreatedAt
		r.DecisionActor, r.DecidedAt = e.ActorID, &at
	case models.EventScopeDirty:
		if r.Files != nil {
			r.Files = words(e.Payload["files"])
		}
	}
}

// tokensOf are the tokens of an assignment's runs. A run counts the total of its
// thread, so that several runs on one thread count once.
func tokensOf(runs []models.Run) models.TokenUsage {
	var sum models.TokenUsage
	threads := map[string]models.TokenUsage{}
	for _, r := range runs {
		before := threads[r.SessionRef]
		sum.Incomplete = sum.Incomplete || r.Tokens.Incomplete
		if r.SessionRef == "" || r.Tokens.Total <= before.Total {
			continue // without a thread nothing was used
		}
		sum.Input += r.Tokens.Input - before.Input
		sum.Output += r.Tokens.Output - before.Output
		sum.Total += r.Tokens.Total - before.Total
		threads[r.SessionRef] = r.Tokens
	}
	return sum
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

// allEnded tells whether the teams have work and all of it has ended.
func allEnded(ctx context.Context, l *ledger.Ledger, teams []string) (bool, error) {
	for _, id := range teams {
		if ended, err := l.TeamEnded(ctx, id); err != nil || !ended {
			return false, err
		}
	}
	return len(teams) > 0, nil
}

// closeWait is how long the workflows may take to end after the work has.
const closeWait = 15 * time.Second

// awaitWorkflows waits until the workflows of the ended assignments have ended
// too, so that nothing is cut off. What is late is only said.
func (s *stack) awaitWorkflows(ctx context.Context, l *ledger.Ledger, teams []string) {
	engine, err := s.call.engine(s.stateDir)
	if err == nil {
		err = workflowsClosed(ctx, engine, l, teams)
	}
	if err != nil && ctx.Err() == nil {
		s.log().Warn("some workflows have not ended yet", "error", err)
	}
}

func workflowsClosed(ctx context.Context, engine workflows.Engine, l *ledger.Ledger, teams []string) error {
	c, err := workflows.Dial(ctx, engine, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := l.ServedWorkflows(ctx, teams)
	if err != nil {
		return err
	}
	front := workflows.Front{Client: c, Prefix: l.Prefix()}
	return await(ctx, closeWait, func() (bool, error) {
		for _, id := range ids {
			d, err := front.Describe(ctx, id)
			if models.CodeOf(err) == models.CodeNotFound {
				continue // ended so long ago that the engine forgot it
			}
			if err != nil || d.Running() {
				return false, err
			}
		}
		return true, nil
	})
}

// finished tells a person where to look next.
func (s *stack) finished() {
	s.note("")
	s.note("every assignment has ended")
	if s.engine.UI != "" && !s.on("exit-when-done") {
		s.note("Web UI: %s/namespaces/%s/workflows", s.engine.UI, s.engine.Namespace)
	}
	dir := s.elsewhere()
	s.note("next: cox %sstatus", dir)
	s.note("      cox %sevents", dir)
	if s.demo != nil {
		s.note("      cox %sassignment show %s", dir, s.demo.first())
		s.demo.name()
		if bin, err := appserver.Find(os.Environ()); err == nil {
			s.note("the real Codex is at %s; repeat on it with: cox up --demo --adapter codex-app-server", bin)
		} else {
			s.note("no Codex was found; with one installed: cox up --demo --adapter codex-app-server")
		}
	} else if !s.on("exit-when-done") {
		s.note("      cox review list")
	}
	if !s.on("exit-when-done") {
		s.note("Ctrl-C stops everything that this command started")
	}
}
