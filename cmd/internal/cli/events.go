package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

const eventsAbout = `A reader goes on with --after N, N being the last sequence it saw (next_after in JSON).

With --follow the command goes on until it is interrupted, which is its normal end (exit
code 0). It begins with what comes from now on, with --after or --since with what came
since, with --limit N with the last N. --json then prints one object a line, as --format jsonl does.`

func eventsLeaf() leaf {
	return leaf{
		name: "events", usage: "read the ledger's events in order", about: eventsAbout,
		example: "cox events --follow --team web --type handoff_submitted",
		options: []*option{
			workspaceFilter(), teamFilter(),
			{name: "assignment", ids: "assignment", kind: identKind, usage: "only this assignment `ID`"},
			{name: "run", ids: "run", usage: "only this run `ID`"},
			{name: "by", ids: "actor", usage: "only by this actor `ID`"},
			{name: "type", kind: listKind, usage: "only this `TYPE`; may be repeated"},
			{name: "status", kind: listKind, usage: "only this `STATUS`; may be repeated"},
			sinceOption("recorded"), untilOption("recorded"),
			{name: "after", kind: wholeKind, usage: "only events after sequence `N`"},
			{name: "newest", kind: truthKind, usage: "the last events instead of the first"},
			{name: "reverse", kind: truthKind, usage: "show the later ones first"},
			limitOption("events"),
			{name: "follow", kind: truthKind, usage: "go on with the events to come"},
			listFormatOption(),
		},
		run: events,
	}
}

// eventListing shows events; the ledger itself narrows them, since there may be many.
func eventListing() listing[models.Event] {
	return listing[models.Event]{
		key: "events", id: func(e models.Event) string { return e.ID }, table: (*printer).events,
		status: func(e models.Event) string { return e.Status }, statuses: models.EventStatuses(),
	}
}

func events(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	filter, err := in.eventFilter(ctx, l)
	if err != nil {
		return err
	}
	if in.on("follow") {
		return in.followEvents(ctx, l, filter)
	}
	found, err := l.Events(ctx, filter)
	if err != nil {
		return err
	}
	next := filter.After
	if len(found) > 0 {
		next = found[len(found)-1].Sequence
	}
	if in.on("reverse") {
		slices.Reverse(found)
	}
	return eventListing().present(in, found, fields{"events": found, "next_after": next})
}

// eventFilter checks what narrows the events: ids that are not in the ledger, statuses
// that there are none of, and types that no event ever had are refused.
func (in *call) eventFilter(ctx context.Context, l *ledger.Ledger) (ledger.EventFilter, error) {
	f := ledger.EventFilter{
		After: int64(in.whole("after")), WorkspaceID: in.text("workspace"), TeamID: in.text("team"), AssignmentID: in.text("assignment"),
		RunID: in.text("run"), ActorID: in.text("by"), Types: in.list("type"), Statuses: in.list("status"),
		Since: in.moment("since"), Until: in.moment("until"), Limit: in.whole("limit"), Newest: in.on("newest"),
	}
	if err := in.window(); err != nil {
		return f, err
	}
	if err := eventListing().check(in); err != nil {
		return f, err
	}
	if err := in.known(ctx, l, "workspace", "team", "assignment", "run", "by"); err != nil {
		return f, err
	}
	for _, kind := range f.Types {
		if err := knownType(ctx, l, kind); err != nil {
			return f, err
		}
	}
	return f, nil
}

// knownType refuses a type that the ledger never writes and no caller ever wrote.
func knownType(ctx context.Context, l *ledger.Ledger, kind string) error {
	if slices.Contains(models.ReservedEventTypes(), kind) {
		return nil
	}
	found, err := l.Events(ctx, ledger.EventFilter{Types: []string{kind}, Limit: 1})
	if err != nil || len(found) > 0 {
		return err
	}
	e := models.Errorf(models.CodeNotFound, "type: no event has the type %q", kind).With("field", "type")
	if near := models.Nearest(kind, models.ReservedEventTypes()); near != "" {
		return e.Hint("did you mean %s?", near)
	}
	return e.Hint("cox events --newest")
}

func (p *printer) events(found []models.Event) {
	rows := make([][]any, 0, len(found))
	for _, e := range found {
		rows = append(rows, []any{e.Sequence, e.CreatedAt, e.Type, e.Status, orDash(e.AssignmentID), e.ActorID, e.ID})
	}
	p.table("No event.", []string{"SEQUENCE", "TIME", "TYPE", "STATUS", "ASSIGNMENT", "ACTOR", "EVENT"}, rows)
}

// followPage is the most events that a follower reads at once.
const followPage = 1000

// followEvents prints matching events as they come until it is interrupted.
func (in *call) followEvents(ctx context.Context, l *ledger.Ledger, f ledger.EventFilter) error {
	if in.on("reverse") {
		return models.Invalid("reverse", "what is still to come cannot be turned round")
	}
	show, err := in.eventLine()
	if err != nil {
		return err
	}
	in.wrote = true // lines, not one document
	if err := in.followFrom(ctx, l, &f, show); err != nil {
		return quietly(ctx, err)
	}
	f.Newest, f.Limit = false, followPage
	return in.changes(ctx, l, func() error { return in.catchUp(ctx, l, &f, show) })
}

// quietly ends an interrupted follower without an error.
func quietly(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// followFrom finds the sequence after which to follow, and shows the last events
// before it that were asked for.
func (in *call) followFrom(ctx context.Context, l *ledger.Ledger, f *ledger.EventFilter, show func(models.Event) error) error {
	if in.given("after") || in.given("since") {
		return nil
	}
	last, err := l.LastSequence(ctx)
	if err != nil {
		return err
	}
	if in.given("limit") || in.on("newest") {
		f.Newest = true
		found, err := l.Events(ctx, *f)
		if err != nil {
			return err
		}
		for _, e := range found {
			last = max(last, e.Sequence)
			if err := show(e); err != nil {
				return err
			}
		}
	}
	f.After = last
	return nil
}

// catchUp shows what came since the last look. The cursor also passes what does not
// match, so that no look reads it twice.
func (in *call) catchUp(ctx context.Context, l *ledger.Ledger, f *ledger.EventFilter, show func(models.Event) error) error {
	for {
		last, err := l.LastSequence(ctx)
		if err != nil {
			return err
		}
		found, err := l.Events(ctx, *f)
		if err != nil {
			return err
		}
		for _, e := range found {
			f.After = e.Sequence
			if err := show(e); err != nil {
				return err
			}
		}
		if len(found) < f.Limit {
			f.After = max(f.After, last)
			return nil
		}
	}
}

// changes calls look at once and after every change of the ledger, whoever made it,
// until ctx ends. A look that meets a busy ledger is taken again.
func (in *call) changes(ctx context.Context, l *ledger.Ledger, look func() error) error {
	watch, err := l.Watch(ctx)
	if err != nil {
		return quietly(ctx, err)
	}
	defer watch.Close() //nolint:errcheck // the command ends with it
	t := time.NewTicker(followPoll)
	defer t.Stop()
	for stale := true; ; {
		if stale {
			err = look()
			if stale = models.IsCode(err, models.CodeLedgerBusy); err != nil && !stale {
				return quietly(ctx, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		changed, err := watch.Changed(ctx)
		if err != nil && !models.IsCode(err, models.CodeLedgerBusy) {
			return quietly(ctx, err)
		}
		stale = stale || changed
	}
}

// eventLine is how a follower prints one event.
func (in *call) eventLine() (func(models.Event) error, error) {
	f, err := in.listFormat()
	if err != nil {
		return nil, err
	}
	return func(e models.Event) error {
		return in.lines(1, func(int) (string, error) {
			switch {
			case in.json || f.word == formatJSONL:
				return templateJSON(e)
			case f.word == formatIDs:
				return e.ID, nil
			case f.word == formatText:
				return eventText(e), nil
			}
			return f.render(e)
		})
	}, nil
}

// eventText is an event on one line for a person.
func eventText(e models.Event) string {
	what := sentence(e)
	if what == "" {
		what = e.Type + " " + e.Status
	}
	return clean(fmt.Sprintf("%6d  %s  %-22s %-22s %s", e.Sequence, e.CreatedAt.Local().Format("15:04:05"), orDash(e.AssignmentID), e.ActorID, what))
}
