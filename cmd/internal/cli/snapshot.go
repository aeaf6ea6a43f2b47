package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"coxswain/activities/projection"
	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) snapshotCommand() *urfave.Command {
	return a.group("snapshot", "see what is accepted and write it into the repository",
		leaf{
			name: "show", usage: "show accepted work and what waits for a decision", example: "cox snapshot show --workspace site",
			options: []*option{workspaceFilter(), teamFilter()}, run: snapshotShow,
		},
		leaf{
			name: "export", usage: "write accepted work into files of the repository", argument: "[DIR]", example: "cox snapshot export docs",
			about: "Writes coxswain/snapshots/accepted-state.json and coxswain/events/accepted-events.md below DIR,\n" +
				"which must lie in the workspace; without DIR below its root. The same state gives the same bytes,\nand nothing is committed.",
			options: []*option{workspaceOption()}, run: snapshotExport,
		},
	)
}

func snapshotShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	s, err := l.Snapshot(ctx, ledger.SnapshotFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team")})
	if err != nil {
		return err
	}
	return in.answer(fields{"snapshot": s}, func(p *printer) { p.snapshot(s) })
}

func (p *printer) snapshot(s models.Snapshot) {
	p.facts("workspaces", len(s.Workspaces), "teams", len(s.Teams), "accepted", len(s.ActiveAssignments),
		"pending reviews", len(s.OpenGovernance.PendingReviews), "open questions", len(s.OpenGovernance.Interventions), "read", s.GeneratedAt)
	rows := make([][]any, 0, len(s.AcceptedEvents))
	for _, e := range s.AcceptedEvents {
		rows = append(rows, []any{e.AssignmentID, e.AcceptedBy, e.AcceptedAt, orDash(short(e.HeadCommit)), e.Title})
	}
	p.heading("Accepted")
	p.table("Nothing was accepted yet.", []string{"ASSIGNMENT", "ACCEPTED BY", "AT", "HEAD", "TITLE"}, rows)
}

func snapshotExport(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	w, err := in.workspace(ctx, l)
	if err != nil {
		return err
	}
	s, w, err := l.Projection(ctx, in.by(), w.ID)
	if err != nil {
		return err
	}
	dir := w.RepoRoot
	if in.argument != "" {
		if dir, err = realPath(in.argument); err != nil {
			return err
		}
	}
	out, err := projection.Write(w.RepoRoot, dir, s)
	if err != nil {
		return err
	}
	doc := fields{"workspace_id": w.ID, "accepted_state": out.State, "accepted_events": out.Events, "changed": out.Changed}
	return in.answer(doc, func(p *printer) {
		p.facts("accepted state", out.State, "accepted events", out.Events)
		if !out.Changed {
			p.line("Nothing changed since the last export.")
		}
	})
}
