package cli

import (
	"context"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) assignmentCommand() *urfave.Command {
	return a.group("assignment", "create work, see it and call it off",
		assignmentCreateLeaf(),
		assignmentImportLeaf(),
		assignmentEditLeaf(),
		leaf{
			name: "list", usage: "list assignments in the order in which they start", example: "cox assignment list --team web --lane ready",
			options: assignmentListing().options(workspaceFilter(), teamFilter(),
				&option{name: "lane", oneOf: models.Lanes(), usage: "only this `LANE` of the board"}),
			run: assignmentList,
		},
		leaf{name: "show", usage: "show one assignment with its runs and events", argument: "ID", example: "cox assignment show add-search", run: assignmentShow},
		leaf{
			name: "cancel", usage: "call an assignment off", argument: "ID", example: "cox assignment cancel --reason \"no longer wanted\" add-search",
			about:   "A run that is under way is interrupted; its end is waited for by the worker, not by this command.",
			options: []*option{{name: "reason", required: true, usage: "why, in `WORDS`"}, baseOption()},
			run:     assignmentCancel, file: brakes,
		},
		leaf{
			name: "supersede", usage: "replace an assignment by another", argument: "ID", example: "cox assignment supersede --by add-search-2 --reason \"split in two\" add-search",
			options: []*option{
				{name: "by", ids: "assignment", kind: identKind, required: true, usage: "the `ID` of the assignment that replaces it"},
				{name: "reason", required: true, usage: "why, in `WORDS`"},
				baseOption(),
			},
			run: assignmentSupersede,
		},
	)
}

func assignmentList(ctx context.Context, in *call) error {
	statuses, err := in.statuses()
	if err != nil {
		return err
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace", "team"); err != nil {
		return err
	}
	all, err := l.Assignments(ctx, ledger.AssignmentFilter{
		WorkspaceID: in.text("workspace"), TeamID: in.text("team"), Statuses: statuses,
	})
	if err != nil {
		return err
	}
	return assignmentListing().answer(ctx, in, l, all)
}

func assignmentListing() listing[models.Assignment] {
	return listing[models.Assignment]{
		key: "assignments", when: "changed", who: "works or is meant to work on it, or created it",
		id:       func(s models.Assignment) string { return s.ID },
		at:       func(s models.Assignment) time.Time { return s.UpdatedAt },
		by:       func(s models.Assignment) []string { return []string{s.ClaimedBy, s.TargetActorID(), s.CreatedBy} },
		status:   func(s models.Assignment) string { return string(s.Status) },
		statuses: statusWords(allStatuses()),
		text: func(s models.Assignment) []string {
			return append(append([]string{s.ID, s.Title, s.Description()}, s.AcceptanceCriteria...), s.AllowedPaths...)
		},
		table: (*printer).assignments,
	}
}

func (p *printer) assignments(all []models.Assignment) {
	rows := make([][]any, 0, len(all))
	for _, s := range all {
		rows = append(rows, []any{s.ID, s.Status, s.Priority, s.TeamID, orDash(s.ClaimedBy), s.Title})
	}
	p.table("No assignment matches: cox assignment create --title \"…\"", []string{"ID", "STATUS", "PRIORITY", "TEAM", "WORKER", "TITLE"}, rows)
}

// allStatuses are the statuses of an assignment in the order of its life.
func allStatuses() []models.AssignmentStatus {
	return []models.AssignmentStatus{
		models.AssignmentProposed, models.AssignmentReady, models.AssignmentClaimed, models.AssignmentRunning,
		models.AssignmentAwaitingHuman, models.AssignmentAwaitingApproval, models.AssignmentAwaitingReview, models.AssignmentNeedsFix,
		models.AssignmentBlocked, models.AssignmentAccepted, models.AssignmentRejected, models.AssignmentCancelled, models.AssignmentSuperseded,
	}
}

// statusWords are statuses as words.
func statusWords[S ~string](statuses []S) []string {
	out := make([]string, 0, len(statuses))
	for _, s := range statuses {
		out = append(out, string(s))
	}
	return out
}

// statuses are those that --status and --lane leave; nil is all of them.
func (in *call) statuses() ([]models.AssignmentStatus, error) {
	wanted, lane := in.list("status"), in.text("lane")
	if err := assignmentListing().check(in); err != nil {
		return nil, err
	}
	if len(wanted) == 0 && lane == "" {
		return nil, nil
	}
	var out []models.AssignmentStatus
	for _, s := range allStatuses() {
		if (len(wanted) == 0 || slices.Contains(wanted, string(s))) && (lane == "" || s.Lane() == lane) {
			out = append(out, s)
		}
	}
	if out == nil {
		return nil, models.Invalid("status", "no status of --status stands in lane %s", lane)
	}
	return out, nil
}

func assignmentShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	d, err := l.AssignmentDetail(ctx, in.argument)
	if err != nil {
		return err
	}
	doc := fields{"assignment": d.Assignment, "runs": d.Runs, "events": d.Events, "interventions": d.Interventions, "commands": d.Commands, "held": d.Held}
	var still *models.Still
	if !d.Assignment.Status.Terminal() {
		sight, err := in.sight()
		if err != nil {
			return err
		}
		if still, err = l.StillOf(ctx, d.Assignment.ID, sight); err != nil {
			return err
		}
	}
	doc["still"] = still
	return in.answer(doc, func(p *printer) { p.assignment(d, still) })
}

func (p *printer) assignment(d ledger.AssignmentDetail, still *models.Still) {
	s := d.Assignment
	p.facts("assignment", s.ID, "title", s.Title, "status", s.Status, "deferred", s.DeferredReason, "revision", s.Revision, "priority", s.Priority,
		"workspace", s.WorkspaceID, "team", s.TeamID, "worker", s.TargetActorID(), "claimed by", s.ClaimedBy, "claim ends", s.LeaseExpiresAt,
		"paths", s.AllowedPaths, "depends on", s.DependsOn, "handoff", s.HandoffEventID, "superseded by", s.SupersededBy,
		"created by", s.CreatedBy, "created", s.CreatedAt, "completed", s.CompletedAt)
	for _, h := range d.Held {
		p.line("held: %s", h.Reason)
	}
	if still != nil {
		p.line("not moving: %s", still.Reason)
		if still.Next != "" {
			p.line("next: %s", still.Next)
		}
	}
	for _, ref := range s.ContextRefs() {
		p.line("read first: %s %s", ref.Path, show(ref.Read))
	}
	for _, c := range s.AcceptanceCriteria {
		p.line("criterion: %s", c)
	}
	p.heading("Runs")
	p.runs(d.Runs)
	p.heading("Events")
	p.events(d.Events)
	if len(d.Interventions) > 0 {
		p.heading("Interventions")
		p.interventions(d.Interventions)
	}
}

func assignmentCancel(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	s, err := l.CancelAssignment(ctx, c, in.argument, in.base(), in.text("reason"))
	if err != nil {
		return err
	}
	return in.changed(c, s)
}

func assignmentSupersede(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	s, err := l.SupersedeAssignment(ctx, c, in.argument, in.text("by"), in.base(), in.text("reason"))
	if err != nil {
		return err
	}
	return in.changed(c, s)
}

func (in *call) changed(c *ledger.Call, s models.Assignment) error {
	return in.answer(fields{"assignment": s, "replayed": c.Replayed}, func(p *printer) {
		p.line("Assignment %s is %s, revision %d", s.ID, s.Status, s.Revision)
	})
}
