package cli

import (
	"context"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) teamCommand() *urfave.Command {
	return a.group("team", "create teams and see their boards",
		leaf{
			name: "create", usage: "create a team in a workspace", argument: "ID", example: "cox team create --workspace site web",
			about: "A team has one board and one integrator, codex-integrator-<team> unless --owner names another.",
			options: []*option{
				workspaceOption(),
				{name: "name", usage: "`NAME` for people; default: the id"},
				{name: "owner", ids: "actor", kind: identKind, usage: "actor `ID` that integrates the team's work"},
				{name: "phase-key", usage: "the `PHASE` of a plan that the team works on"},
				{name: "settings", kind: objectKind, usage: "free settings as a `JSON` object"},
			},
			run: teamCreate,
		},
		leaf{
			name: "list", usage: "list teams", example: "cox team list --workspace site --format ids",
			options: teamListing().options(workspaceFilter()), run: teamList,
		},
		leaf{
			name: "show", usage: "show a team's board", argument: "[ID]", example: "cox team show web",
			about: "Without ID: the only team of the current workspace.", options: []*option{workspaceOption(), teamOption()}, run: teamShow,
		},
	)
}

func teamCreate(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	w, err := in.workspace(ctx, l)
	if err != nil {
		return err
	}
	request := ledger.NewTeam{ID: in.argument, WorkspaceID: w.ID, Name: in.text("name"), PhaseKey: in.text("phase-key"), OwnerActorID: in.text("owner")}
	if in.given("settings") {
		request.Settings = in.object("settings")
	}
	c := in.request()
	t, err := l.CreateTeam(ctx, c, request)
	if err != nil {
		return err
	}
	return in.answer(fields{"team": t, "replayed": c.Replayed}, func(p *printer) {
		p.line("Team %s of workspace %s is integrated by %s", t.ID, t.WorkspaceID, t.OwnerActorID)
		p.line("next: cox assignment create --team %s --title \"…\"", t.ID)
	})
}

func teamList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace"); err != nil {
		return err
	}
	teams, err := l.Teams(ctx, in.text("workspace"))
	if err != nil {
		return err
	}
	return teamListing().answer(ctx, in, l, teams)
}

func teamListing() listing[models.Team] {
	return listing[models.Team]{
		key: "teams", when: "changed", who: "integrates",
		id:       func(t models.Team) string { return t.ID },
		at:       func(t models.Team) time.Time { return t.UpdatedAt },
		by:       func(t models.Team) []string { return []string{t.OwnerActorID} },
		status:   func(t models.Team) string { return t.Status },
		statuses: []string{models.StatusActive, models.StatusArchived},
		text:     func(t models.Team) []string { return []string{t.ID, t.Name} },
		table:    (*printer).teams,
	}
}

func (p *printer) teams(teams []models.Team) {
	rows := make([][]any, 0, len(teams))
	for _, t := range teams {
		rows = append(rows, []any{t.ID, t.WorkspaceID, t.Status, t.OwnerActorID, onOff(t.Loop.Enabled), t.Name})
	}
	p.table("No team yet: cox team create TEAM", []string{"ID", "WORKSPACE", "STATUS", "INTEGRATOR", "LOOP", "NAME"}, rows)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func teamShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	id := in.argument
	if id == "" {
		t, err := in.team(ctx, l)
		if err != nil {
			return err
		}
		id = t.ID
	}
	board, err := l.Board(ctx, id)
	if err != nil {
		return err
	}
	sight, err := in.sight()
	if err != nil {
		return err
	}
	look, err := l.Status(ctx, sight)
	if err != nil {
		return err
	}
	still := slices.DeleteFunc(look.Still, func(s models.Still) bool { return s.TeamID != id })
	return in.answer(fields{"team": board.Team, "lanes": board.Lanes, "still": still}, func(p *printer) {
		p.board(board)
		p.still(still, true)
	})
}

func (p *printer) board(b ledger.Board) {
	t := b.Team
	p.facts("team", t.ID, "name", t.Name, "workspace", t.WorkspaceID, "status", t.Status, "phase", t.PhaseKey, "integrator", t.OwnerActorID,
		"loop", onOff(t.Loop.Enabled), "adapter", t.Loop.AdapterKind, "max runs", t.Loop.MaxConcurrentRuns)
	rows := [][]any{}
	for _, lane := range models.Lanes() {
		for _, s := range b.Lanes[lane] {
			rows = append(rows, []any{lane, s.ID, s.Priority, orDash(s.ClaimedBy), s.Title})
		}
	}
	p.heading("Board")
	p.table("The board is empty: cox assignment create --title \"…\"", []string{"LANE", "ASSIGNMENT", "PRIORITY", "WORKER", "TITLE"}, rows)
}
