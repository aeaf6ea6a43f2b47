package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) runCommand() *urfave.Command {
	return a.group("run", "see the attempts at assignments",
		leaf{
			name: "list", usage: "list runs", example: "cox run list --team web --open",
			options: runListing().options(workspaceFilter(), teamFilter(),
				&option{name: "assignment", ids: "assignment", kind: identKind, usage: "only runs of this assignment `ID`"},
				&option{name: "open", kind: truthKind, usage: "only runs whose end is not proven"}),
			run: runList,
		},
		leaf{name: "show", usage: "show one run: thread, cursor, tokens, turns", argument: "ID", example: "cox run show run_0f3c", run: runShow},
		runLogsLeaf(),
		runSteerLeaf(),
		runInterruptLeaf(),
	)
}

func runList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace", "team", "assignment"); err != nil {
		return err
	}
	runs, err := l.Runs(ctx, ledger.RunFilter{
		WorkspaceID: in.text("workspace"), TeamID: in.text("team"), AssignmentID: in.text("assignment"),
		OpenOnly: in.on("open"),
	})
	if err != nil {
		return err
	}
	return runListing().answer(ctx, in, l, runs)
}

func runListing() listing[models.Run] {
	return listing[models.Run]{
		key: "runs", when: "started", who: "works",
		id:       func(r models.Run) string { return r.ID },
		at:       func(r models.Run) time.Time { return r.StartedAt },
		by:       func(r models.Run) []string { return []string{r.ActorID} },
		status:   func(r models.Run) string { return string(r.Status) },
		statuses: statusWords(models.RunStatuses()),
		text: func(r models.Run) []string {
			return []string{r.ID, r.AssignmentID, r.SessionRef, r.Branch, r.WorktreePath}
		},
		table: (*printer).runs,
	}
}

func (p *printer) runs(runs []models.Run) {
	rows := make([][]any, 0, len(runs))
	for _, r := range runs {
		rows = append(rows, []any{r.ID, r.AssignmentID, r.Attempt, r.Status, r.ActorID, r.StartedAt, ended(r)})
	}
	p.table("No run yet.", []string{"RUN", "ASSIGNMENT", "ATTEMPT", "STATUS", "ACTOR", "STARTED", "ENDED"}, rows)
}

func ended(r models.Run) string {
	if r.EndedAt == nil {
		return "-"
	}
	return when(*r.EndedAt)
}

func runShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	d, err := l.RunDetail(ctx, in.argument)
	if err != nil {
		return err
	}
	return in.answer(fields{"run": d}, func(p *printer) { p.run(d) })
}

func (p *printer) run(d ledger.RunDetail) {
	r := d.Run
	p.facts("run", r.ID, "assignment", r.AssignmentID, "attempt", r.Attempt, "status", r.Status, "actor", r.ActorID, "node", r.NodeID,
		"session", r.SessionKind+" "+r.SessionRef, "open it", r.InteractiveURL, "worktree", r.WorktreePath, "branch", r.Branch,
		"base commit", r.BaseCommit, "head commit", r.HeadCommit, "resumes", r.ResumeOfRunID,
		"tokens", tokens(r.Tokens), "started", r.StartedAt, "heartbeat", r.HeartbeatAt, "claim ends", r.LeaseExpiresAt,
		"handed off", r.HandedOffAt, "ended", r.EndedAt, "reason", r.EndReason)
	if cursor, ok := r.Metadata["communication_cursor"].(map[string]any); ok {
		p.heading("Cursor")
		p.facts(sortedPairs(cursor)...)
	}
	p.heading("Turns")
	rows := make([][]any, 0, len(d.Turns))
	for _, t := range d.Turns {
		rows = append(rows, []any{t.ID, t.Status, t.Items, orDash(t.LastItem), t.StartedAt, t.EndedAt, t.Error})
	}
	p.table("No turn yet.", []string{"TURN", "STATUS", "ITEMS", "LAST ITEM", "STARTED", "ENDED", "ERROR"}, rows)
	p.heading("Events")
	p.events(d.Events)
	if len(d.Interventions) > 0 {
		p.heading("Interventions")
		p.interventions(d.Interventions)
	}
}

func tokens(u models.TokenUsage) string {
	if u.Total == 0 && !u.Incomplete {
		return ""
	}
	shown := show(u.Total) + " (" + show(u.Input) + " in, " + show(u.Output) + " out)"
	if u.Incomplete {
		shown += ", incomplete"
	}
	return shown
}

// runNamed is the run of the argument: itself, or the latest one of the assignment
// that it names.
func (in *call) runNamed(ctx context.Context, l *ledger.Ledger) (string, error) {
	_, missing := l.Run(ctx, in.argument)
	if !models.IsCode(missing, models.CodeNotFound) {
		return in.argument, missing
	}
	a, err := l.Assignment(ctx, in.argument)
	if models.IsCode(err, models.CodeNotFound) {
		return in.argument, nil // what a command does says best what it misses
	}
	if err != nil {
		return "", err
	}
	runs, err := l.Runs(ctx, ledger.RunFilter{AssignmentID: a.ID})
	if err == nil && len(runs) == 0 {
		err = models.Invalid("ID", "assignment %s has no run yet; it is %s", a.ID, a.Status).Hint("cox assignment show %s", a.ID)
	}
	if err != nil {
		return "", err
	}
	return slices.MaxFunc(runs, func(a, b models.Run) int { return cmp.Compare(a.Attempt, b.Attempt) }).ID, nil
}
