package cli

import (
	"bytes"
	"strings"
	"testing"

	"coxswain/models"
)

func TestAFolderWithoutGitIsShownWithoutADiff(t *testing.T) {
	c := changes{BaseCommit: "0f3c"}
	if err := c.read(t.Context(), models.Workspace{ID: "plain", RepoRoot: "/srv/plain"}, 1000); err != nil {
		t.Fatal(err)
	}
	if c.Stat != nil || c.Diff != nil || !strings.Contains(c.Note, "no Git repository") {
		t.Errorf("changes %+v", c)
	}
}

// What an agent wrote into a file cannot steer the terminal of who reviews it.
func TestADiffCannotSteerTheTerminal(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: &out}
	p.diff("+\tindented \x1b[2Jgone\r\n+second\u202e")
	if got, want := out.String(), "+\tindented  [2Jgone\n+second \n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
