package live

import (
	"strings"
	"testing"
)

// The demo that people are shown first works on the real Codex as on the fake.
func TestLiveDemoRunsOnTheRealCodex(t *testing.T) {
	t.Parallel()
	r := newRig(t, agents(func(t turn) reply { return work(t) }))
	doc := r.up("--demo", "--adapter", "codex-app-server", "--exit-when-done").finish()
	wantStatus(t, doc, "accepted", "greet-the-crew", "say-farewell", "write-the-guide", "note-the-plan")
	r.intact()
	for _, id := range []string{"greet-the-crew", "say-farewell", "write-the-guide", "note-the-plan"} {
		if out := r.outputsOf("Your assignment is `" + id + "`"); len(out) < 2 || !strings.Contains(out[1], "exited with code 0") {
			t.Errorf("the command of %s: %q", id, out)
		}
	}
	repo := text(doc, "repository")
	wantAll(t, "the greeting", string(read(t, repo+"/src/greeting.txt")), "made by greet-the-crew")
	wantAll(t, "the farewell", string(read(t, repo+"/src/say-farewell.txt")), "made by say-farewell")
}
