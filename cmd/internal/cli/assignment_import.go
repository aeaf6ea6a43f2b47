package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coxswain/cmd/internal/planfile"
	"coxswain/models"
	"coxswain/models/ledger"
)

const importAbout = `FILE is a YAML or Markdown file, a folder of such files, or - for the standard input.
All of it is imported in one step or nothing is, and every problem is reported at once.

A YAML file holds one assignment, a list of them, or a plan:

  team: web                    # defaults of the entries: team, workspace, description
  assignments:
    - id: schema               # left out, it is made of the title
      title: Add the search schema
      priority: 5              # higher starts first
      paths: [src/schema/**]   # or allowed_paths
      criteria: [tests pass]   # or acceptance_criteria
      context_refs: ["docs/search.md#Purpose,Scope"]
    - id: search
      title: Add search
      depends_on: [schema]     # entries of the plan or assignments of the ledger
      description: What the worker has to know.
      target_actor: codex-worker-7
      requested_capabilities: [repository_edit]
      execution: {key_files: [src/search.go], risk_notes: [keep the API]}
      metadata: {any: value}

A Markdown file begins with the same fields between two lines ---. Where the fields name
none, the first heading is the title, the text below it the description, and the file's
name the id. A further assignment of the file begins with another line --- that a line
"id: ID" follows; the first one keeps its id. Of a plan with "assignments" a heading "ID" or "ID: TITLE" begins the
description of that entry, and the text before the first one goes to all of them.

Importing a plan again changes nothing. Where an entry's id is in the ledger with another
contract, the plan is refused, or with --update the assignment edited, as long as
cox assignment edit would.`

func assignmentImportLeaf() leaf {
	return leaf{
		name: "import", usage: "create the assignments of a plan", argument: "FILE…", about: importAbout,
		example: "cox assignment import --dry-run --team web plan.yaml",
		options: []*option{
			{name: "team", ids: "team", kind: identKind, env: []string{"COX_TEAM"}, usage: "team `ID` of entries that name none; default: the only one of the workspace"},
			{name: "workspace", ids: "workspace", kind: identKind, env: []string{"COX_WORKSPACE"}, usage: "workspace `ID` of entries that name none; default: the team's"},
			{name: "update", kind: truthKind, usage: "edit assignments whose entry has changed"},
			{name: "dry-run", kind: truthKind, usage: "show what would happen and write nothing"},
		},
		run: assignmentImport,
	}
}

func assignmentImport(ctx context.Context, in *call) error {
	plan, err := planfile.Read(in.many, in.io.In)
	if err != nil {
		return err
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	request, err := in.importRequest(ctx, l, plan)
	if err != nil {
		return err
	}
	var done []ledger.Imported
	c := in.request()
	if len(request.Entries) > 0 {
		done, err = l.ImportAssignments(ctx, c, request)
	}
	if err := in.refusedPlan(&plan, err); err != nil {
		return err
	}
	return in.imported(c, plan, done)
}

// importRequest fills in the team and workspace of entries that name none. A plan whose
// form is wrong is tried without writing, so that all of its problems are found.
func (in *call) importRequest(ctx context.Context, l *ledger.Ledger, plan planfile.Plan) (ledger.ImportRequest, error) {
	r := ledger.ImportRequest{Update: in.on("update"), DryRun: in.on("dry-run") || len(plan.Problems) > 0}
	homeless := slices.ContainsFunc(plan.Entries, func(e planfile.Entry) bool { return e.TeamID == "" })
	team := in.text("team")
	if homeless && team == "" {
		t, err := in.team(ctx, l)
		if err != nil {
			return r, err
		}
		team = t.ID
	}
	for _, e := range plan.Entries {
		if e.TeamID == "" {
			e.TeamID = team
		}
		if e.WorkspaceID == "" && in.given("workspace") {
			e.WorkspaceID = in.text("workspace")
		}
		r.Entries = append(r.Entries, e.NewAssignment)
	}
	return r, nil
}

// refusedPlan reports every problem of a plan with its place; nil when there is none.
func (in *call) refusedPlan(plan *planfile.Plan, err error) error {
	refusal, refused := errors.AsType[*models.Error](err)
	found, listed := []models.ImportProblem(nil), false
	if refused {
		found, listed = refusal.Details["problems"].([]models.ImportProblem)
	}
	if err != nil && !listed {
		return err
	}
	plan.Refused(found)
	if len(plan.Problems) == 0 {
		return nil
	}
	codes := make([]models.ImportProblem, 0, len(plan.Problems))
	for _, p := range plan.Problems {
		codes = append(codes, models.ImportProblem{Code: p.Code})
		if len(plan.Problems) > 1 {
			fmt.Fprintln(in.io.Err, clean(placed(p)))
		}
	}
	e := models.Errorf(models.ImportCode(codes), "the plan has %s; nothing was imported", counted(len(codes), "problem", "problems"))
	if len(codes) == 1 {
		e = models.Errorf(codes[0].Code, "%s; nothing was imported", placed(plan.Problems[0]))
	}
	return e.With("problems", plan.Problems).Hint("%s", in.afterRefusal(e.Code, found))
}

// afterRefusal is the next step of a refused plan. Where nothing but contracts differ
// it is this command line with --update.
func (in *call) afterRefusal(code models.Code, found []models.ImportProblem) string {
	if code == models.CodeIdempotencyConflict {
		return in.importLine("--update")
	}
	if len(found) > 0 && found[0].Next != "" && found[0].Code != models.CodeIdempotencyConflict {
		return found[0].Next
	}
	return "mend the plan and import it again"
}

// importLine is the command line of this import with one more flag.
func (in *call) importLine(flag string) string {
	words := []string{"cox assignment import"}
	for _, name := range []string{"team", "workspace"} {
		if v := in.value(name); v.source == "flag" {
			words = append(words, "--"+name, shellWord(v.raw))
		}
	}
	words = append(words, flag)
	for _, file := range in.many {
		words = append(words, shellWord(file))
	}
	return strings.Join(words, " ")
}

// placed says a problem with its file and line in front, as compilers do.
func placed(p planfile.Problem) string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, p.Line)
	}
	if p.AssignmentID != "" {
		at += ": " + p.AssignmentID
	}
	return at + ": " + p.Message
}

// importedRow is what an import did with one entry, and where that stands.
type importedRow struct {
	ledger.Imported
	File string `json:"file"`
	Line int    `json:"line"`
}

func (in *call) imported(c *ledger.Call, plan planfile.Plan, done []ledger.Imported) error {
	rows, counts := make([]importedRow, 0, len(done)), map[models.ImportOutcome]int{}
	for i, d := range done {
		counts[d.Outcome]++
		if !in.on("dry-run") && d.Outcome != models.ImportUnchanged {
			in.queues(d.Assignment.ID)
		}
		rows = append(rows, importedRow{d, plan.Entries[i].File, plan.Entries[i].Row})
	}
	doc := fields{
		"assignments": rows, "dry_run": in.on("dry-run"), "replayed": c.Replayed, "skipped_files": append([]string{}, plan.Skipped...),
		"created": counts[models.ImportCreated], "updated": counts[models.ImportUpdated], "unchanged": counts[models.ImportUnchanged],
	}
	return in.answer(doc, func(p *printer) {
		p.imported(rows)
		for _, file := range plan.Skipped {
			p.line("%s has no front matter and was passed over", file)
		}
		p.line("%s: %d created, %d updated, %d unchanged", counted(len(rows), "assignment", "assignments"),
			counts[models.ImportCreated], counts[models.ImportUpdated], counts[models.ImportUnchanged])
		if in.on("dry-run") {
			p.line("This was a dry run; nothing was written.")
		}
	})
}

func (p *printer) imported(rows []importedRow) {
	table := make([][]any, 0, len(rows))
	for _, r := range rows {
		a := r.Assignment
		table = append(table, []any{a.ID, outcomeText(r), a.TeamID, a.Priority, orDash(strings.Join(a.DependsOn, ", ")), a.Title})
	}
	p.table("", []string{"ID", "OUTCOME", "TEAM", "PRIORITY", "WAITS FOR", "TITLE"}, table)
}

func outcomeText(r importedRow) string {
	if len(r.Changed) == 0 {
		return string(r.Outcome)
	}
	return string(r.Outcome) + " " + strings.Join(r.Changed, ", ")
}
