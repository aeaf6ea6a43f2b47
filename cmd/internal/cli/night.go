package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func reportLeaf() leaf {
	return leaf{
		name: "report", usage: "put a night on one page: done, handed off, tokens, waits, and what needs you",
		about: "Markdown, to be read or pasted. It is computed from the ledger's events; the files of work that is handed\n" +
			"off are compared with its base now.",
		example: "cox report --since yesterday",
		options: []*option{
			workspaceFilter(), teamFilter(),
			{name: "since", kind: momentKind, fallback: "12h", usage: "from this `TIME` on: yesterday, 10h or 2d ago, 2006-01-02, or 2006-01-02T15:04:05Z"},
			{name: "until", kind: momentKind, usage: "up to this `TIME`; default: now"},
		},
		run: nightReport,
	}
}

func nightReport(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.window(); err != nil {
		return err
	}
	f := ledger.ReportFilter{Since: in.moment("since"), Until: in.moment("until"), WorkspaceID: in.text("workspace"), TeamID: in.text("team")}
	if f.Until.IsZero() {
		f.Until = l.Now()
	}
	if !f.Since.Before(f.Until) {
		return models.Invalid("since", "%q is not in the past", in.raw("since")).Hint("cox report --since yesterday")
	}
	r, err := l.Report(ctx, f)
	if err != nil {
		return err
	}
	if err := compareHandedOff(ctx, l, r.HandedOff); err != nil {
		return err
	}
	page := nightPage{Report: r, zone: time.Local, next: in.elsewhere()}
	return in.answer(fields{"report": r}, func(p *printer) { p.write(page.markdown()) })
}

// compareHandedOff looks at the files of work that waits for its decision.
func compareHandedOff(ctx context.Context, l *ledger.Ledger, rows []models.ReportRow) error {
	for i := range rows {
		if i == maxCompared {
			return nil
		}
		detail, err := l.AssignmentDetail(ctx, rows[i].AssignmentID)
		if err != nil {
			return err
		}
		if len(detail.Runs) == 0 || detail.Assignment.Status != models.AssignmentAwaitingReview {
			continue // decided since the span
		}
		c, err := compare(ctx, l, detail.Assignment, detail.Runs[len(detail.Runs)-1], 0)
		if err != nil {
			return err
		}
		if c.Stat == nil {
			continue // why is said by cox review show
		}
		rows[i].Looked, rows[i].MoreFiles = true, c.Stat.More
		for _, file := range c.Stat.Files {
			rows[i].Files = append(rows[i].Files, file.Path)
		}
	}
	return nil
}

// nightPage is a report as a page of Markdown.
type nightPage struct {
	models.Report

	zone *time.Location
	next string // flags that lead a next command to the same ledger
	b    strings.Builder
}

// Lines of a list of the page; what is cut off stands in the document of --json.
const (
	maxWaits = 10
	maxFiles = 12
)

func (n *nightPage) line(format string, args ...any) {
	n.b.WriteString(clean(fmt.Sprintf(format, args...)) + "\n")
}

func (n *nightPage) markdown() string {
	n.line("# Report %s to %s", n.at(n.Since), n.at(n.Until))
	n.line("")
	n.line("%d done · %d handed off · %d ended otherwise · %d under way · %s tokens%s", len(n.Done), len(n.HandedOff), len(n.Ended), len(n.Open),
		grouped(n.Tokens.Total), atLeastMark(n.Tokens))
	n.needs()
	n.rows("Done", n.Done)
	n.rows("Handed off, not decided", n.HandedOff)
	n.rows("Ended otherwise", n.Ended)
	n.rows("Under way", n.Open)
	n.waits()
	n.faults()
	return n.b.String()
}

func (n *nightPage) heading(title string) { n.line(""); n.line("## %s", title); n.line("") }

func (n *nightPage) at(t time.Time) string { return t.In(n.zone).Format("2006-01-02 15:04") }

// needs lists what a person has to do now.
func (n *nightPage) needs() {
	n.heading("Needs you now")
	if len(n.People) == 0 {
		n.line("Nothing.")
		return
	}
	for _, e := range n.People {
		about := first(e.AssignmentID, e.NodeID, e.TeamID)
		n.line("- **%s** %s, since %s: %s", e.Kind, quotedName(about), n.at(e.Since), oneLine(e.Summary))
	}
	n.line("")
	n.line("`cox %sinbox` has the command that settles each.", n.next)
}

func (n *nightPage) rows(title string, rows []models.ReportRow) {
	if len(rows) == 0 {
		return
	}
	n.heading(title)
	for _, r := range rows {
		by := ""
		if r.By != "" {
			by = " by " + r.By
		}
		n.line("- %s %s: **%s**%s at %s; %s, %s, %s tokens%s", quotedName(r.AssignmentID), oneLine(r.Title), r.Status, by, n.at(r.At),
			counted(r.Runs, "run", "runs"), counted(r.Turns, "turn", "turns"), grouped(r.Tokens.Total), atLeastMark(r.Tokens))
		if r.Summary != "" {
			n.line("  %s", oneLine(r.Summary))
		}
		if len(r.Files) > 0 {
			n.line("  changed: %s", fileList(r))
		} else if r.Looked {
			n.line("  changed: nothing")
		}
	}
}

func fileList(r models.ReportRow) string {
	shown := r.Files[:min(len(r.Files), maxFiles)]
	more := len(r.Files) - len(shown) + r.MoreFiles
	text := "`" + strings.Join(shown, "`, `") + "`"
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (n *nightPage) waits() {
	if len(n.Waits) == 0 {
		return
	}
	n.heading("Waits")
	for _, c := range n.Causes {
		n.line("- %s: %s in %s", c.Cause, age(time.Duration(c.Seconds)*time.Second), counted(c.Times, "wait", "waits"))
	}
	n.line("")
	n.line("| how long | from | cause | about | detail |")
	n.line("|---|---|---|---|---|")
	for i, w := range n.Waits {
		if i == maxWaits {
			n.line("")
			n.line("and %d shorter ones.", len(n.Waits)-i)
			return
		}
		long := age(time.Duration(w.Seconds) * time.Second)
		if w.Open {
			long += ", goes on"
		}
		n.line("| %s | %s | %s | %s | %s |", long, n.at(w.From), w.Cause, first(w.AssignmentID, w.TeamID, w.NodeID), strings.ReplaceAll(cut(oneLine(w.Detail)), "|", "/"))
	}
}

func (n *nightPage) faults() {
	if len(n.Failures) == 0 {
		return
	}
	n.heading("Failures")
	for _, f := range n.Failures {
		n.line("- %s: %s, last at %s (%s): %s", quotedName(f.AssignmentID), counted(f.Times, "failed turn", "failed turns"), n.at(f.LastAt), first(f.Kind, "other"), oneLine(f.Last))
	}
}

// quotedName is an id as code.
func quotedName(id string) string {
	if id == "" {
		return "reviews"
	}
	return "`" + id + "`"
}

// oneLine is a text that an agent may have written, on one line of Markdown.
func oneLine(s string) string {
	return cutAt(strings.Join(strings.Fields(strings.NewReplacer("`", "'", "<", "‹", ">", "›").Replace(s)), " "), 300)
}

func cutAt(s string, limit int) string {
	if letters := []rune(s); len(letters) > limit {
		return string(letters[:limit-1]) + "…"
	}
	return s
}

// grouped is a number with its thousands apart.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// atLeastMark says that more was used than is known.
func atLeastMark(t models.TokenUsage) string {
	if t.Incomplete {
		return " at least"
	}
	return ""
}
