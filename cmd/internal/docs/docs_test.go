package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coxswain/cmd/internal/docs"
)

const document = "# Title\n\nType `cox status` or `cox up`.\n\n## Way\n\n```console\n$ cox team create \\\n    crew\nTeam crew, 3 of 4\n\n$ cox up\nready …\n…\n```\n\n```console\nall ended\n```\n\n```yaml\nnot: `code`\n```\n\n```yaml\n# plan.yaml\na: `b`\n```\n"

func TestParseFindsWhatIsTyped(t *testing.T) {
	blocks, spans := docs.Parse(document)
	if len(blocks) != 3 || blocks[0].Heading != "Way" || len(blocks[0].Steps) != 2 {
		t.Fatalf("blocks %+v", blocks)
	}
	create, up := blocks[0].Steps[0], blocks[0].Steps[1]
	if create.Typed != "cox team create \\\n    crew" || create.Line != 8 || create.GoesOn || !slices.Equal(create.Shown, []string{"Team crew, 3 of 4"}) {
		t.Errorf("first %+v", create)
	}
	if up.Typed != "cox up" || !up.GoesOn || !slices.Equal(up.Shown, []string{"ready …"}) {
		t.Errorf("second %+v", up)
	}
	if next := blocks[1].Steps[0]; next.Typed != "" || !slices.Equal(next.Shown, []string{"all ended"}) {
		t.Errorf("third %+v", next)
	}
	if file := blocks[2]; file.File != "plan.yaml" || file.Text != "# plan.yaml\na: `b`\n" || file.Steps != nil {
		t.Errorf("the file is %+v", file)
	}
	if want := []docs.Span{{3, "cox status"}, {3, "cox up"}}; !slices.Equal(spans, want) {
		t.Errorf("spans %+v", spans)
	}
}

func TestFindAllowsOtherNumbersAndGapsOnly(t *testing.T) {
	step := docs.Step{Shown: []string{"Team crew,  3 of 4", "ready, node …", "at 10:11:12"}}
	if missing, _ := step.Find("x\nTeam crew, 17 of 4\n ready, node n\nat 9:00:01\n"); missing != nil {
		t.Errorf("missing %q", missing)
	}
	if missing, _ := step.Find("Team bow, 3 of 4\nalready, node so\nat 9:00:01 or later\n"); strings.Join(missing, "|") != "Team crew,  3 of 4|ready, node …|at 10:11:12" {
		t.Errorf("missing %q", missing)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

func TestLinksLeadToFiles(t *testing.T) {
	files, err := docs.Files(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), match[1])); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
	if seen < 4 {
		t.Fatalf("only %d links were found", seen)
	}
}
