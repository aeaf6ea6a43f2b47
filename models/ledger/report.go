package ledger

import (
	"context"
	"maps"
	"slices"
	"time"

	"coxswain/models"
)

// ReportFilter is the span of a report, from Since up to Until, and what narrows it.
type ReportFilter struct {
	Since, Until time.Time
	WorkspaceID  string
	TeamID       string
}

// Report reads what happened in a span: it is computed from events, turns and
// questions alone, so that the same span of the past gives the same report, but for
// what is open now. Errors: NOT_FOUND for a workspace or team of the filter.
func (l *Ledger) Report(ctx context.Context, f ReportFilter) (models.Report, error) {
	g := gathering{l: l, ctx: ctx, f: f, rows: map[string]*reportRow{}}
	g.out = models.Report{
		Since: f.Since, Until: f.Until, Done: []models.ReportRow{}, HandedOff: []models.ReportRow{}, Ended: []models.ReportRow{},
		Open: []models.ReportRow{}, Waits: []models.Wait{}, Failures: []models.ReportFault{},
	}
	for _, step := range []func() error{
		func() error { return l.knownPlace(ctx, SnapshotFilter{WorkspaceID: f.WorkspaceID, TeamID: f.TeamID}) },
		g.events, g.usage, g.place, g.reviewWaits, g.questionWaits, g.retryWaits, g.pairedWaits, g.failures,
		func() (err error) {
			g.out.People, err = l.Inbox(ctx, InboxFilter{WorkspaceID: f.WorkspaceID, TeamID: f.TeamID})
			return err
		},
	} {
		if err := step(); err != nil {
			return g.out, err
		}
	}
	g.out.Arrange()
	return g.out, nil
}

// gathering is a report under way.
type gathering struct {
	l    *Ledger
	ctx  context.Context
	f    ReportFilter
	rows map[string]*reportRow
	ids  []string // of rows, in the order of their first event
	out  models.Report
}

type reportRow struct {
	models.ReportRow
	event models.Event // that put it into its list; zero for none
}

// scoped are the two conditions of a filter on a table, with their values.
func (g *gathering) scoped(table string) (string, []any) {
	return "(? = '' OR " + table + ".workspace_id = ?) AND (? = '' OR " + table + ".team_id = ?)",
		[]any{g.f.WorkspaceID, g.f.WorkspaceID, g.f.TeamID, g.f.TeamID}
}

// scan runs a query with the span's two ends, after the filter's values.
func (g *gathering) scan(into any, query, table string, values ...any) error {
	condition, args := g.scoped(table)
	return g.l.read(g.ctx).Raw(query+" AND "+condition, append(values, args...)...).Scan(into).Error
}

// eventsPage is how many events are read at a time.
const eventsPage = 500

// events goes through the span's events once, page by page.
func (g *gathering) events() error {
	f := EventFilter{
		WorkspaceID: g.f.WorkspaceID, TeamID: g.f.TeamID, Since: g.f.Since, Until: g.f.Until, Limit: eventsPage,
		Types: []string{
			models.EventRunClaimed, models.EventTurnEnded, models.EventHandoffSubmitted, models.EventIntegratorReview,
			models.EventAssignmentCancelled, models.EventAssignmentSuperseded, models.EventScopeDirty,
		},
	}
	for {
		page, err := g.l.Events(g.ctx, f)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.AssignmentID != "" {
				g.apply(e)
			}
			f.After = e.Sequence
		}
		if len(page) < eventsPage {
			return nil
		}
	}
}

// apply brings an event into its assignment's row; a later one that decides replaces
// an earlier one.
func (g *gathering) apply(e models.Event) {
	r := g.rows[e.AssignmentID]
	if r == nil {
		r = &reportRow{ReportRow: models.ReportRow{AssignmentID: e.AssignmentID, TeamID: e.TeamID, At: e.CreatedAt}}
		g.rows[e.AssignmentID], g.ids = r, append(g.ids, e.AssignmentID)
	}
	switch e.Type {
	case models.EventRunClaimed:
		if renewal, _ := e.Payload["renewal"].(bool); !renewal {
			r.Runs++
			r.event = models.Event{}
		}
	case models.EventTurnEnded:
		r.Turns++
	case models.EventScopeDirty:
		r.Looked = true
		r.Files = textList(e.Payload["files"])
		if more, ok := e.Payload["more"].(float64); ok {
			r.MoreFiles = int(more)
		}
	default:
		if e.Type == models.EventHandoffSubmitted {
			r.Summary, _ = e.Payload["summary"].(string)
		}
		r.event, r.By, r.At = e, e.ActorID, e.CreatedAt
	}
}

// textList are the texts of a list that was stored as JSON.
func textList(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, entry := range list {
		if s, ok := entry.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// usage reads the tokens. A turn counts its thread's total, so that what was
// spent in the span is the thread's growth in it; a turn across its beginning counts
// whole.
func (g *gathering) usage() error {
	var turns []struct {
		ThreadID, AssignmentID string
		EndedAt                *int64
		Tokens                 models.TokenUsage `gorm:"embedded;embeddedPrefix:tokens_"`
	}
	err := g.scan(&turns, `SELECT t.thread_id, b.assignment_id, t.ended_at, t.tokens_input, t.tokens_output, t.tokens_total, t.tokens_incomplete
	  FROM turns t JOIN bindings b ON b.id = t.binding_id
	  WHERE t.started_at < ? AND t.thread_id IN (SELECT thread_id FROM turns WHERE coalesce(ended_at, progress_at) >= ?)`, "b",
		g.f.Until.UnixMilli(), g.f.Since.UnixMilli())
	if err != nil {
		return err
	}
	before, last := map[string]models.TokenUsage{}, map[string]models.TokenUsage{}
	owner := map[string]string{}
	for _, t := range turns {
		owner[t.ThreadID] = t.AssignmentID
		if t.EndedAt != nil && *t.EndedAt < g.f.Since.UnixMilli() {
			before[t.ThreadID] = highest(before[t.ThreadID], t.Tokens)
			t.Tokens.Incomplete = false // what is unknown lies before the span
		}
		last[t.ThreadID] = highest(last[t.ThreadID], t.Tokens)
	}
	for _, thread := range slices.Sorted(maps.Keys(last)) {
		was, is := before[thread], last[thread]
		spent := models.TokenUsage{Input: is.Input - was.Input, Output: is.Output - was.Output, Total: is.Total - was.Total, Incomplete: is.Incomplete}
		g.out.Tokens = plus(g.out.Tokens, spent)
		if r := g.rows[owner[thread]]; r != nil {
			r.Tokens = plus(r.Tokens, spent)
		}
	}
	return nil
}

func highest(a, b models.TokenUsage) models.TokenUsage {
	return models.TokenUsage{Input: max(a.Input, b.Input), Output: max(a.Output, b.Output), Total: max(a.Total, b.Total), Incomplete: a.Incomplete || b.Incomplete}
}

func plus(a, b models.TokenUsage) models.TokenUsage {
	return models.TokenUsage{Input: a.Input + b.Input, Output: a.Output + b.Output, Total: a.Total + b.Total, Incomplete: a.Incomplete || b.Incomplete}
}

// place reads the assignments as they are and puts each row into its list.
func (g *gathering) place() error {
	var found []models.Assignment
	if len(g.ids) > 0 {
		if err := g.l.read(g.ctx).Select("id, title, status").Where("id IN ?", g.ids).Find(&found).Error; err != nil {
			return err
		}
	}
	for _, a := range found {
		r := g.rows[a.ID]
		r.Title, r.Status = a.Title, a.Status
	}
	for _, id := range g.ids {
		r := g.rows[id]
		switch {
		case r.event.Type == models.EventIntegratorReview && r.event.Status == models.EventAccepted:
			g.out.Done = append(g.out.Done, r.ReportRow)
		case r.event.Type == models.EventHandoffSubmitted:
			g.out.HandedOff = append(g.out.HandedOff, r.ReportRow)
		case r.event.Type == "" || r.event.Status == models.EventNeedsFix:
			g.out.Open = append(g.out.Open, r.ReportRow)
		default:
			g.out.Ended = append(g.out.Ended, r.ReportRow)
		}
	}
	return nil
}
