package cli

import (
	"context"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func inboxLeaf() leaf {
	return leaf{
		name: "inbox", usage: "list everything that needs a person, the oldest first",
		about: "Reviews with the size of their changes, questions, ignored reviews, work that is stuck, and what runs ask\n" +
			"somebody to look at. Each with the command that settles it, and one that shows more.",
		example: "cox inbox --team web",
		options: []*option{
			workspaceFilter(), teamFilter(),
			{name: "count", kind: truthKind, usage: "print only how many there are"},
		},
		run: inbox,
	}
}

// inboxRow is an entry with what a person types.
type inboxRow struct {
	models.InboxEntry
	Age     string   `json:"age"`
	Changes *changes `json:"changes,omitempty"`
	Command string   `json:"command"` // settles it
	Look    string   `json:"look"`    // shows more
}

func inbox(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace", "team"); err != nil {
		return err
	}
	entries, err := l.Inbox(ctx, ledger.InboxFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team")})
	if err != nil {
		return err
	}
	if in.on("count") {
		return in.answer(fields{"count": len(entries)}, func(p *printer) { p.line("%d", len(entries)) })
	}
	rows, err := in.inboxRows(ctx, l, entries)
	if err != nil {
		return err
	}
	return in.answer(fields{"count": len(rows), "inbox": rows}, func(p *printer) { p.inbox(rows) })
}

// maxCompared is how many reviews of a list have their files compared; each costs
// a look at the repository.
const maxCompared = 20

func (in *call) inboxRows(ctx context.Context, l *ledger.Ledger, entries []models.InboxEntry) ([]inboxRow, error) {
	rows, compared := make([]inboxRow, 0, len(entries)), 0
	for _, e := range entries {
		row := inboxRow{InboxEntry: e, Age: age(l.Now().Sub(e.Since))}
		row.Command, row.Look = in.settling(e)
		if e.Review != nil && compared < maxCompared {
			compared++
			c, err := compareReview(ctx, l, *e.Review)
			if err != nil {
				return nil, err
			}
			row.Changes = &c
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func compareReview(ctx context.Context, l *ledger.Ledger, r models.PendingReview) (changes, error) {
	run, err := l.Run(ctx, r.Event.RunID)
	if err != nil {
		return changes{}, err
	}
	a := models.Assignment{ID: r.Event.AssignmentID, WorkspaceID: r.Event.WorkspaceID, AllowedPaths: r.AllowedPaths}
	return compare(ctx, l, a, run, 0)
}

// settling are the commands that settle an entry and that show more of it. They
// work as they stand; "…" is for the person's own words.
func (in *call) settling(e models.InboxEntry) (command, look string) {
	cox := "cox " + in.elsewhere()
	switch {
	case e.Reason == models.ReasonKeptWorktree: // names the work again, and how to give it up
		return cox + "worktree remove " + e.AssignmentID, cox + "worktree list"
	case e.Kind == models.InboxAttention:
		return cox + "attention settle " + e.ID, cox + "run logs " + e.RunID
	case e.Review != nil:
		return cox + "review accept " + e.ID, cox + "review show " + e.ID
	case e.Reason == models.ReasonUnasked:
		return cox + "assignment cancel --reason \"…\" " + e.ID, cox + "assignment show " + e.ID
	case e.Reason == models.ReasonVainWait:
		return cox + "assignment edit --remove-depends-on " + e.DependencyID + " " + e.ID, cox + "assignment show " + e.ID
	case e.Reason == models.ReasonLostNode: // on the node's own host, which the summary names
		return cox + "up", cox + "node show " + e.NodeID
	case e.Reason == models.ReasonFailedAdapter:
		return cox + "doctor", cox + "node show " + e.NodeID
	case e.Kind == models.InboxApproval:
		return cox + "intervention respond --decline " + e.ID, cox + "intervention show " + e.ID
	case e.RunID != "":
		return cox + "intervention respond --response \"…\" " + e.ID, cox + "run logs " + e.RunID
	case e.AssignmentID != "":
		return cox + "intervention respond --response \"…\" " + e.ID, cox + "assignment show " + e.AssignmentID
	}
	return cox + "intervention respond --response \"…\" " + e.ID, cox + "intervention list"
}

// age is a duration in its two largest units, such as 3h5m.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return show(int(max(d, 0)/time.Second)) + "s"
	case d < time.Hour:
		return show(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		return show(int(d/time.Hour)) + "h" + show(int(d%time.Hour/time.Minute)) + "m"
	}
	return show(int(d/(24*time.Hour))) + "d" + show(int(d%(24*time.Hour)/time.Hour)) + "h"
}

func (p *printer) inbox(rows []inboxRow) {
	if len(rows) == 0 {
		p.line("Nothing needs a person.")
		return
	}
	p.line("%s a person", counted(len(rows), "thing needs", "things need"))
	for _, r := range rows {
		p.line("")
		about := r.AssignmentID
		if about == "" {
			about = r.NodeID
		}
		line := pad(r.Age, 6) + "  " + pad(string(r.Kind), 10) + "  " + about
		if r.Changes != nil {
			line += "  (" + r.Changes.size() + ")"
		}
		p.line("%s", line)
		p.line("        %s", r.Summary)
		p.line("        settle: %s", r.Command)
		p.line("        look:   %s", r.Look)
	}
}
