package planfile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coxswain/cmd/internal/planfile"
	"coxswain/models"
)

func sameJSON(t *testing.T, what string, have, want any) {
	t.Helper()
	h, err := json.Marshal(have)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(h) != string(w) {
		t.Errorf("%s:\nhave %s\nwant %s", what, h, w)
	}
}

// places are the problems of a plan as LINE ID FIELD.
func places(p planfile.Plan) []string {
	out := []string{}
	for _, problem := range p.Problems {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s", problem.Line, problem.AssignmentID, problem.Field)))
	}
	return out
}

const contract = `# a plan
team: web
workspace: site
description: For everybody.
assignments:
  - id: search
    title: Add search
    priority: 5
    paths: [src/search/**, README.md]
    criteria: tests pass
    depends_on:
      - schema
    context_refs:
      - docs/search.md#Purpose, Scope
      - path: docs/plan.md
        read: [Assignment Contract]
    target_actor: codex-worker-7
    session_bind: {status: reserved}
    requested_capabilities: [codex_thread, repository_edit]
    preferred_provider: codex
    execution:
      key_files: [a.go]
      risk_notes: [keep the API]
    metadata: {ticket: 7}
  - title: "The schema: version 2"
    team: data
    description: |
      Own words.
`

// The contract of seed 000 in YAML.
func TestYAMLPlan(t *testing.T) {
	plan := planfile.Parse("plan.yaml", []byte(contract))
	if len(plan.Problems) != 0 || len(plan.Entries) != 2 {
		t.Fatalf("%+v", plan)
	}
	sameJSON(t, "search", plan.Entries[0].NewAssignment, models.NewAssignment{
		ID: "search", WorkspaceID: "site", TeamID: "web", Title: "Add search", Priority: 5, AllowedPaths: []string{"src/search/**", "README.md"},
		AcceptanceCriteria: []string{"tests pass"}, DependsOn: []string{"schema"}, Metadata: map[string]any{
			"context_refs": []any{
				map[string]any{"path": "docs/search.md", "read": []any{"Purpose", "Scope"}},
				map[string]any{"path": "docs/plan.md", "read": []any{"Assignment Contract"}},
			},
			"session_bind":           map[string]any{"target_actor_id": "codex-worker-7", "status": "reserved"},
			"requested_capabilities": []any{"codex_thread", "repository_edit"}, "preferred_provider": "codex",
			"execution": map[string]any{"key_files": []any{"a.go"}, "risk_notes": []any{"keep the API"}},
			"ticket":    7, "description": "For everybody.",
		},
	})
	second := plan.Entries[1]
	sameJSON(t, "the rest", []any{second.ID, second.TeamID, second.WorkspaceID, second.Metadata["description"]},
		[]any{"the-schema-version-2", "data", "site", "For everybody.\n\nOwn words."})
	for field, want := range map[string]int{
		"assignment_id": 6, "allowed_paths": 9, "acceptance_criteria": 10, "depends_on[0]": 12, "metadata.context_refs[1].path": 15,
		"metadata.execution.risk_notes[0]": 23, "metadata.ticket": 24, "metadata": 24, "nothing": 6,
	} {
		if got := plan.Entries[0].Line(field); got != want {
			t.Errorf("%s is in line %d, want %d", field, got, want)
		}
	}
}

// Every shape of a YAML file gives its entries.
func TestYAMLShapes(t *testing.T) {
	for text, want := range map[string][]string{
		"title: Do it\n":                                           {"do-it"},
		"- id: a\n- id: b\n":                                       {"a", "b"},
		"id: a\n---\nid: b\n---\n- id: c\n":                        {"a", "b", "c"},
		"assignment_id: a\nallowed_paths: x\n":                     {"a"},
		"- &x {id: a, priority: 3}\n- <<: *x\n  id: b\n":           {"a", "b"},
		`{"assignments": [{"id": "a"}, {"id": "b"}], "team": "t"}`: {"a", "b"},

		"# nothing\n": {},
	} {
		plan := planfile.Parse("p.yml", []byte(text))
		got := []string{}
		for _, e := range plan.Entries {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, want) || len(plan.Problems) != 0 {
			t.Errorf("%q gives %v, %v", text, got, plan.Problems)
		}
	}
}

// Whatever is wrong with the form has its line, and all of it is found at once.
func TestYAMLProblems(t *testing.T) {
	for text, want := range map[string][]string{
		"- id: a\n  titel: x\n  priority: high\n- 7\n- id: b\n  paths: [1, ok]\n": {"2 a titel", "3 a priority", "4", "6 b paths"},
		"id: a\nassignment_id: b\n":                         {"1 b id"},
		"id: a\npriority: 1.5\n":                            {"2 a priority"},
		"id: a\ntitle: 2024\nmetadata: [1]\n":               {"2 a title", "3 a metadata"},
		"id: a\nexecution: x\nmetadata: {execution: {}}\n":  {"2 a execution"},
		"id: a\ncontext_refs: ['#P', {file: x}, {path: 3}]": {"2 a context_refs", "2 a context_refs", "2 a context_refs"},
		"teem: x\nassignments: [{id: a}]\n":                 {"1  teem"},
		"assignments: {a: 1}\n":                             {"1  assignments"},
		"assignments: []\n":                                 {"1  assignments"},
		"paths: x\n":                                        {"1  id"},
		"just words\n":                                      {"1"},
		"id: a\nid: b\n":                                    {"2"},
		"id: [a\n":                                          {"1"},
	} {
		plan := planfile.Parse("p.yaml", []byte(text))
		if got := places(plan); !slices.Equal(got, want) {
			t.Errorf("%q: problems at %q, want %q (%v)", text, got, want, plan.Problems)
		}
	}
	plan := planfile.Parse("p.yaml", []byte("asignments:\n  - id: a\n"))
	if !strings.Contains(plan.Problems[0].Message, "Did you mean assignments?") {
		t.Errorf("no suggestion: %v", plan.Problems)
	}
}

// One assignment in Markdown: heading, text and file name fill in what the front
// matter leaves out.
func TestMarkdownOfOneAssignment(t *testing.T) {
	plan := planfile.Parse("plans/Add Search.md", []byte("\n---\nteam: web\ncriteria: [tests pass]\npriorty: 3\n---\n\n# Add *search*\n\nDo it.\n\n---\n\nid: no front matter\n"))
	if len(plan.Entries) != 1 {
		t.Fatalf("%+v", plan)
	}
	e := plan.Entries[0]
	sameJSON(t, "entry", []any{e.ID, e.Title, e.TeamID, e.Metadata["description"]},
		[]any{"add-search", "Add *search*", "web", "Do it.\n\n---\n\nid: no front matter"})
	if e.Line("acceptance_criteria") != 4 || e.Line("title") != 8 || e.Line("metadata.description") != 7 {
		t.Errorf("criteria in line %d, title in %d, description in %d", e.Line("acceptance_criteria"), e.Line("title"), e.Line("metadata.description"))
	}
	if got := places(plan); !slices.Equal(got, []string{"5 add-search priorty"}) {
		t.Errorf("problems at %q", got)
	}
	plan = planfile.Parse("a.md", []byte("---\ntitle: Named\n---\n# Heading\ntext\n"))
	sameJSON(t, "a named title", []any{plan.Entries[0].Title, plan.Entries[0].Metadata["description"]}, []any{"Named", "# Heading\ntext"})
	plan = planfile.Parse("a.md", []byte("# No front matter\n"))
	if len(plan.Entries) != 0 || len(plan.Problems) != 1 {
		t.Errorf("%+v", plan)
	}
}

// What follows the first entry of a Markdown file does not change its id.
func TestMarkdownIDsDoNotDependOnWhatFollows(t *testing.T) {
	one := "---\ncriteria: [tests pass]\n---\n# Some heading\ntext\n"
	for text, want := range map[string][]string{
		one:                                      {"m1"},
		one + "---\nid: m-two\n---\n# Another\n": {"m1", "m-two"},
		"---\nid: own\n---\n# Some heading\n---\nid: m-two\n---\n# Another\n": {"own", "m-two"},
	} {
		plan := planfile.Parse("m1.md", []byte(text))
		got := []string{}
		for _, e := range plan.Entries {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q gives %v, want %v", text, got, want)
		}
	}
}

// Bytes that are no UTF-8 are refused where they stand, not replaced.
func TestBytesThatAreNoText(t *testing.T) {
	for name, text := range map[string]string{"a.yaml": "id: a\ntitle: \"ü\xff\xfe\"\n", "a.md": "---\nid: a\n---\n# Do \xff\n"} {
		plan := planfile.Parse(name, []byte(text))
		if len(plan.Entries) != 0 || len(plan.Problems) != 1 || !strings.Contains(plan.Problems[0].Message, "no UTF-8") {
			t.Errorf("%s: %+v", name, plan)
		}
	}
	if p := planfile.Parse("a.yaml", []byte("id: a\ntitle: \"ü\xff\"\n")).Problems[0]; p.Line != 2 || !strings.Contains(p.Message, "column 10") {
		t.Errorf("%+v", p)
	}
}

func TestMarkdownOfSeveralAssignments(t *testing.T) {
	text := "---\nid: one\n---\n# One\n\n```\n---\nid: in code\n---\n```\n\n---\nid: two\ndepends_on: one\npriority: x\n---\n# Two\ntext two\n"
	plan := planfile.Parse("many.md", []byte(text))
	if len(plan.Entries) != 2 {
		t.Fatalf("%+v", plan)
	}
	one, two := plan.Entries[0], plan.Entries[1]
	sameJSON(t, "both", []any{one.ID, one.Title, two.ID, two.Title, two.DependsOn, two.Metadata["description"]},
		[]any{"one", "One", "two", "Two", []string{"one"}, "text two"})
	if text, _ := one.Metadata["description"].(string); !strings.Contains(text, "id: in code") {
		t.Errorf("the code was cut: %q", text)
	}
	if got := places(plan); !slices.Equal(got, []string{"15 two priority"}) {
		t.Errorf("problems at %q", got)
	}
}

func TestMarkdownPlanWithSections(t *testing.T) {
	text := "---\nteam: web\nassignments:\n  - id: a\n  - id: b\n    title: Given\n    description: Own.\n---\n# The plan\n\nFor all.\n\n## a: First thing\n\n### Details\nabc\n\n## `b`\ndef\n\n## c\nstays with b\n"
	plan := planfile.Parse("plan.md", []byte(text))
	if len(plan.Entries) != 2 || len(plan.Problems) != 0 {
		t.Fatalf("%+v", plan)
	}
	a, b := plan.Entries[0], plan.Entries[1]
	sameJSON(t, "a", []any{a.Title, a.Metadata["description"], a.Line("title")}, []any{"First thing", "# The plan\n\nFor all.\n\n### Details\nabc", 13})
	sameJSON(t, "b", []any{b.Title, b.Metadata["description"]}, []any{"Given", "# The plan\n\nFor all.\n\nOwn.\n\ndef\n\n## c\nstays with b"})
}

// The standard input tells by its text what it is.
func TestTextWithoutAName(t *testing.T) {
	for text, want := range map[string]string{
		"---\nid: a\n---\n# Title\n":       "Title",
		"---\nid: a\n---\nSome words.\n":   "",
		"---\nid: a\n---\nid: b\n":         "",
		"---\nid: a\ntitle: T\n---\n":      "T",
		"id: a\ntitle: T\n":                "T",
		"---\n- id: a\n  title: T\n":       "T",
		"\ufeff---\nid: a\n---\n# Title\n": "Title",
	} {
		plan := planfile.Parse("(stdin)", []byte(text))
		if len(plan.Problems) != 0 || len(plan.Entries) == 0 || plan.Entries[0].ID != "a" || plan.Entries[0].Title != want {
			t.Errorf("%q: %+v", text, plan)
		}
	}
}

func TestReadFilesFoldersAndStdin(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": "id: b\n", "a.md": "---\nid: a\n---\n", "README.md": "# Read me\n", "notes.txt": "x", "sub/c.yml": "id: c\n", ".hidden/d.yaml": "id: d\n", ".e.yaml": "id: e\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := planfile.Read([]string{dir, "-", filepath.Join(dir, ".e.yaml")}, strings.NewReader("id: s\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range plan.Entries {
		got = append(got, e.ID)
	}
	sameJSON(t, "entries", got, []string{"a", "b", "c", "s", "e"})
	sameJSON(t, "skipped", plan.Skipped, []string{filepath.Join(dir, "README.md")})
	if _, err := planfile.Read([]string{filepath.Join(dir, "none.yaml")}, nil); !models.IsCode(err, models.CodeNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := planfile.Read([]string{"-"}, strings.NewReader("# nothing\n")); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("nothing at all: %v", err)
	}
}

// No text makes the reader panic or find an entry without an id and without a problem.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{contract, "---\nid: a\n---\n# T\n\n---\nid: b\n---\n", "a: &x [*x]\n", "---\nassignments: [{id: a}]\n---\n## a: b\n", "? [a]\n: b\n", "!!x {a: 1}\n"} {
		f.Add("p.yaml", seed)
		f.Add("p.md", seed)
		f.Add("-", seed)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		plan := planfile.Parse(name, []byte(text))
		for _, e := range plan.Entries {
			if e.ID == "" && len(plan.Problems) == 0 {
				t.Errorf("an entry without an id: %+v", e)
			}
		}
	})
}

// What is rendered for an editor reads back as it was.
func TestRenderReadsBack(t *testing.T) {
	for _, metadata := range []map[string]any{
		{},
		{"description": "One line: with a colon"},
		{"description": "# Many\n\nlines\n  indented", "other": map[string]any{"deep": []any{"x", "y"}, "n": 1.5}},
		{"context_refs": []any{map[string]any{"path": "docs/a.md", "read": []any{"One", "Two: three"}}}, "session_bind": map[string]any{"target_actor_id": "a", "status": "pending"}},
		{"execution": map[string]any{"key_files": []any{"a.go"}}, "requested_capabilities": []any{"c"}, "preferred_provider": "codex", "ticket": "007", "flag": true},
	} {
		a := models.Assignment{
			ID: "a", TeamID: "t", Title: "yes: no #1", Priority: -3, AllowedPaths: []string{"*.go", "a b"}, AcceptanceCriteria: []string{"- dash", "two\nlines"},
			DependsOn: []string{"b"}, Metadata: metadata,
		}
		text, err := planfile.Render(a)
		if err != nil {
			t.Fatal(err)
		}
		plan := planfile.Parse("a.yaml", text)
		if len(plan.Problems) != 0 || len(plan.Entries) != 1 {
			t.Fatalf("%s\n%+v", text, plan.Problems)
		}
		e := plan.Entries[0]
		sameJSON(t, string(text), e.NewAssignment, models.NewAssignment{
			ID: a.ID, TeamID: a.TeamID, Title: a.Title, Priority: a.Priority, AllowedPaths: a.AllowedPaths,
			AcceptanceCriteria: a.AcceptanceCriteria, DependsOn: a.DependsOn, Metadata: metadata,
		})
	}
}
