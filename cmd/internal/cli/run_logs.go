package cli

import (
	"context"
	"slices"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func runLogsLeaf() leaf {
	kinds := make([]string, 0, len(models.LogKinds()))
	for _, k := range models.LogKinds() {
		kinds = append(kinds, string(k))
	}
	return leaf{
		name: "logs", usage: "show what a run did, in order", argument: "ID",
		about: "ID is the run or its assignment, whose latest run it is then. Turns with their times and tokens, items of the thread, messages with their receipts, commands,\n" +
			"heartbeats, the handoff, and what people said. No worker is needed: the ledger keeps one line of each of\n" +
			"the newest 1000 items; their whole text is in the Codex thread.",
		example: "cox run logs --follow run_0f3c",
		options: []*option{
			{name: "follow", kind: truthKind, usage: "show what comes, until the run has ended"},
			{name: "kind", kind: listKind, oneOf: kinds, usage: "only entries of this `KIND`; may be repeated"},
			{name: "limit", kind: countKind, fallback: "500", usage: "at most the last `N` entries"},
		},
		run: runLogs,
	}
}

func runLogs(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	for _, kind := range in.list("kind") {
		if !slices.Contains(models.LogKinds(), models.LogKind(kind)) {
			return models.Invalid("kind", "%q is none of %v", kind, models.LogKinds()).Hint("cox run logs --help")
		}
	}
	run, err := in.runNamed(ctx, l)
	if err != nil {
		return err
	}
	log, err := l.RunLog(ctx, run)
	if err != nil {
		return err
	}
	tail := in.lastEntries(log.Entries)
	if in.on("follow") {
		return in.followRun(ctx, l, log, tail)
	}
	doc := fields{"run": log.Run, "entries": tail, "left_out": len(in.entries(log.Entries)) - len(tail), "unrecorded": log.Unrecorded}
	return in.answer(doc, func(p *printer) {
		for _, e := range tail {
			p.line("%s", logLine(e))
		}
		if len(tail) == 0 {
			p.line("Nothing of run %s is recorded yet.", log.Run.ID)
		}
		p.whereTheRestIs(log, len(in.entries(log.Entries))-len(tail))
	})
}

// entries are those of the kinds that were asked for.
func (in *call) entries(all []models.LogEntry) []models.LogEntry {
	kinds := in.list("kind")
	if len(kinds) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(e models.LogEntry) bool { return !slices.Contains(kinds, string(e.Kind)) })
}

func (in *call) lastEntries(all []models.LogEntry) []models.LogEntry {
	wanted := in.entries(all)
	return wanted[max(len(wanted)-in.whole("limit"), 0):]
}

func logLine(e models.LogEntry) string {
	return e.At.Local().Format("2006-01-02 15:04:05.000") + "  " + pad(string(e.Kind), 9) + "  " + e.Text
}

func pad(s string, width int) string {
	for len(s) < width {
		s += " "
	}
	return s
}

// whereTheRestIs says what is not shown and how to see it.
func (p *printer) whereTheRestIs(log ledger.RunLog, leftOut int) {
	if leftOut > 0 {
		p.line("%s before these: cox run logs --limit %d %s", counted(leftOut, "entry", "entries"), len(log.Entries), log.Run.ID)
	}
	if log.Unrecorded > 0 && log.Run.InteractiveURL != "" {
		p.line("%s only in the thread: %s", counted(log.Unrecorded, "item is", "items are"), log.Run.InteractiveURL)
	}
}

// logPoll is the time between two looks at a run that is followed.
const logPoll = 300 * time.Millisecond

// followRun shows a run's entries as they come, until it has ended or the command
// is interrupted, both of which are no error.
func (in *call) followRun(ctx context.Context, l *ledger.Ledger, log ledger.RunLog, shown []models.LogEntry) error {
	seen := map[string]bool{}
	for _, e := range in.entries(log.Entries) {
		seen[e.ID] = true
	}
	for _, e := range shown {
		in.note("%s", logLine(e))
	}
	watch, err := l.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close() //nolint:errcheck // a connection that only read
	for log.Run.EndedAt == nil && ctx.Err() == nil {
		changed, err := in.committed(ctx, watch)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		next, err := l.RunLog(ctx, log.Run.ID)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		log = next
		for _, e := range in.entries(log.Entries) {
			if !seen[e.ID] {
				seen[e.ID] = true
				shown = append(shown, e)
				in.note("%s", logLine(e))
			}
		}
	}
	return in.answer(fields{"run": log.Run, "entries": shown, "unrecorded": log.Unrecorded}, func(p *printer) { p.whereTheRestIs(log, 0) })
}

// committed waits a moment and tells whether anything was committed meanwhile.
func (in *call) committed(ctx context.Context, watch *ledger.Watch) (bool, error) {
	select {
	case <-time.After(logPoll):
	case <-ctx.Done():
		return false, nil
	}
	changed, err := watch.Changed(ctx)
	if ctx.Err() != nil {
		err = nil // the end of following is no failure
	}
	return changed, err
}
