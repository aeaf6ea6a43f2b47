package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"coxswain/models"
	"coxswain/models/ledger"
)

// diffBytes is how much of a diff is shown unless more is asked for.
const diffBytes = "200000"

func reviewShowLeaf() leaf {
	return leaf{
		name: "show", usage: "show a handoff: contract, summary, who, and the changes since the run's base", argument: "ID",
		about: "ID is the handoff's event or its assignment. The diff compares the working tree with the commit at which\n" +
			"the run began, within the assignment's allowed paths; new files count, ignored ones do not. A workspace\n" +
			"without Git, or without that commit, is shown without a diff.",
		example: "cox review show --stat add-search",
		options: []*option{
			{name: "stat", kind: truthKind, usage: "only the changed files and their sizes, no diff"},
			{name: "no-diff", kind: truthKind, usage: "do not look at the files at all"},
			{name: "max-bytes", kind: countKind, fallback: diffBytes, usage: "at most `N` bytes of the diff"},
		},
		run: reviewShow,
	}
}

// handoffView is all that a reviewer needs first.
type handoffView struct {
	Event      models.Event      `json:"handoff"`
	Assignment models.Assignment `json:"assignment"`
	Run        models.Run        `json:"run"`
	Decision   *models.Event     `json:"decision"` // nil while it is undecided
	Earlier    []models.Event    `json:"earlier_decisions"`
	Changes    *changes          `json:"changes,omitempty"`
}

func reviewShow(ctx context.Context, in *call) error {
	if in.on("stat") && in.on("no-diff") {
		return models.Invalid("stat", "--stat and --no-diff exclude each other").Hint("leave one of the two out")
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	found, err := in.handoff(ctx, l)
	if err != nil {
		return err
	}
	v, err := viewHandoff(ctx, l, found.Event)
	if err != nil {
		return err
	}
	if !in.on("no-diff") {
		limit := in.whole("max-bytes")
		if in.on("stat") {
			limit = 0
		}
		c, err := compare(ctx, l, v.Assignment, v.Run, limit)
		if err != nil {
			return err
		}
		if c.Stat != nil && c.Note == "" && v.Assignment.HandoffEventID != v.Event.ID {
			c.Note = "these are the files as they are now; they may have changed since this handoff"
		}
		v.Changes = &c
	}
	return in.answer(fields{"review": v}, func(p *printer) { in.handoffView(p, v) })
}

// viewHandoff reads the contract, the run and the decisions of a handoff.
func viewHandoff(ctx context.Context, l *ledger.Ledger, e models.Event) (handoffView, error) {
	v := handoffView{Event: e, Earlier: []models.Event{}}
	var err error
	if v.Assignment, err = l.Assignment(ctx, e.AssignmentID); err != nil {
		return v, err
	}
	if v.Run, err = l.Run(ctx, e.RunID); err != nil {
		return v, err
	}
	decisions, err := l.Events(ctx, ledger.EventFilter{AssignmentID: e.AssignmentID, Types: []string{models.EventIntegratorReview}, Limit: 1000, Newest: true})
	for _, d := range decisions {
		if d.ReviewedEventID == e.ID {
			v.Decision = &d
		} else if d.Sequence < e.Sequence {
			v.Earlier = append(v.Earlier, d)
		}
	}
	return v, err
}

func (in *call) handoffView(p *printer, v handoffView) {
	said, _ := v.Event.Payload["summary"].(string)
	decision := "undecided"
	if v.Decision != nil {
		decision = v.Decision.Status + " by " + v.Decision.ActorID
	}
	p.facts("assignment", v.Assignment.ID, "title", v.Assignment.Title, "handoff", v.Event.ID, "handed off", v.Event.CreatedAt,
		"worker", v.Event.ActorID, "decision", decision, "run", v.Run.ID, "attempt", v.Run.Attempt, "tokens", tokens(v.Run.Tokens),
		"thread", v.Run.InteractiveURL, "worktree", v.Run.WorktreePath, "branch", v.Run.Branch,
		"base commit", v.Run.BaseCommit, "head commit", v.Run.HeadCommit, "allowed paths", pathsOrAll(v.Assignment.AllowedPaths))
	p.heading("Acceptance criteria")
	for n, c := range v.Assignment.AcceptanceCriteria {
		p.line("%d. %s", n+1, c)
	}
	if len(v.Assignment.AcceptanceCriteria) == 0 {
		p.line("None were written down: the title is the goal.")
	}
	p.heading("What the worker says")
	p.line("%s", orDash(said))
	for _, key := range sortedKeys(v.Event.Payload, "summary", "head_commit") {
		p.line("%s: %s", key, show(plain(v.Event.Payload[key])))
	}
	if len(v.Earlier) > 0 {
		p.heading("Earlier decisions")
		for _, d := range v.Earlier {
			note, _ := d.Payload["decision_note"].(string)
			p.line("%s  %s by %s: %s", when(d.CreatedAt), d.Status, d.ActorID, orDash(note))
		}
	}
	if v.Changes != nil {
		p.changes(*v.Changes)
	}
	if v.Decision == nil && v.Assignment.HandoffEventID == v.Event.ID {
		p.heading("Decide")
		p.line("cox %sreview accept %s", in.elsewhere(), v.Event.ID)
		p.line("cox %sreview needs-fix --note \"…\" %s", in.elsewhere(), v.Event.ID)
		p.line("cox %sreview reject --note \"…\" %s", in.elsewhere(), v.Event.ID)
	}
}

func pathsOrAll(paths []string) any {
	if len(paths) == 0 {
		return "the whole workspace"
	}
	return paths
}

// sortedKeys are the keys of an object in order, without some.
func sortedKeys(m map[string]any, without ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k string) bool { return slices.Contains(without, k) })
}

// plain shows a JSON value on one line, a text as it is.
func plain(v any) any {
	if _, isText := v.(string); isText {
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
