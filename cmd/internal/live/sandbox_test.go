package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/activities/codex/codextest"
)

// Secrets of the rig that no agent may see, and the version of the Codex at hand.
const (
	authMarker   = "login-of-the-user-4711"
	codexVersion = codextest.Version
)

// What a sandboxed agent tries beyond its workspace is refused, by Codex and for
// both roles, and leaves no trace.
func TestLiveSandboxHolds(t *testing.T) {
	t.Parallel()
	var r *rig
	tries := func() []string {
		return []string{
			"cat " + filepath.Join(r.state, "ledger.db.key"),
			"ls " + r.state,
			"cat " + filepath.Join(r.codex, "auth.json"),
			"echo x > " + filepath.Join(r.dir, "outside"),
			"echo x >> .git/config",
			"git -c user.name=A -c user.email=a@example.com commit --allow-empty --message=mine",
			"env | grep -c COX_ && false",
			fmt.Sprintf("exec 3<>/dev/tcp/%s", strings.Replace(strings.TrimSuffix(strings.TrimPrefix(r.model.BaseURL(), "http://"), "/v1"), ":", "/", 1)),
		}
	}
	r = newRig(t, func(q codextest.Request) reply {
		turn := readTurn(q)
		if turn.assignment != "" {
			return work(turn, append(tries(), edit(turn.assignment, []any{outFile(turn.assignment)}))...)
		}
		if n := turn.at(); n < len(tries()) {
			return codextest.Exec(turn.id(), tries()[n])
		} else if n == len(tries()) {
			return codextest.Exec(turn.id(), "echo x > src/integrator.txt")
		}
		turn.Outputs = turn.Outputs[len(tries())+1:]
		return acceptAll(turn)
	})
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	head := r.git("rev-parse", "HEAD")
	wantStatus(t, r.up("--exit-when-done").finish(), "accepted", "one")

	worker, integrator := r.outputsOf("Your assignment is "), r.outputsOf("You are Codex integrator actor")
	for i, command := range tries() {
		wantRefused(t, "worker: "+command, worker[1+i])
		wantRefused(t, "integrator: "+command, integrator[i])
	}
	wantRefused(t, "integrator: write in the workspace", integrator[len(tries())])
	if out := worker[1+len(tries())]; !strings.Contains(out, "Process exited with code 0") {
		t.Errorf("the worker could not write its own file: %s", out)
	}
	for _, path := range []string{filepath.Join(r.dir, "outside"), filepath.Join(r.repo, "src", "integrator.txt")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if now := r.git("rev-parse", "HEAD"); now != head {
		t.Errorf("HEAD moved from %s to %s", head, now)
	}
	r.toldOnce(r.ledger())
	r.intact()
}

// wantRefused checks that a command ended in failure and showed no secret.
func wantRefused(t *testing.T, what, output string) {
	t.Helper()
	if !strings.Contains(output, "Process exited with code ") || strings.Contains(output, "Process exited with code 0") {
		t.Errorf("%s was not refused: %s", what, output)
	}
	if strings.Contains(output, authMarker) {
		t.Errorf("%s showed the login: %s", what, output)
	}
}
