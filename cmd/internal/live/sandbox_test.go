package live

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close() // nobody was to connect
	var tries []string
	r := rigFor(t, func(r *rig) codextest.Model {
		tries = r.attempts(listener.Addr().(*net.TCPAddr).Port)
		return overreaching(tries)
	})
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	head := r.git("rev-parse", "HEAD")
	wantStatus(t, r.up("--exit-when-done").finish(), "accepted", "one")

	worker, integrator := r.outputsOf("Your assignment is "), r.outputsOf("You are Codex integrator actor")
	for i, command := range tries {
		wantRefused(t, "worker: "+command, worker[1+i])
		wantRefused(t, "integrator: "+command, integrator[i])
	}
	wantRefused(t, "integrator: write in the workspace", integrator[len(tries)])
	if out := worker[1+len(tries)]; !strings.Contains(out, "Process exited with code 0") {
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

// attempts are commands that no agent may succeed with.
func (r *rig) attempts(port int) []string {
	return []string{
		"cat " + filepath.Join(r.state, "ledger.db.key"),
		"ls " + r.state,
		"cat " + filepath.Join(r.codex, "auth.json"),
		"echo x > " + filepath.Join(r.dir, "outside"),
		"echo x >> .git/config",
		"git -c user.name=A -c user.email=a@example.com commit --allow-empty --message=mine",
		"env | grep COX_",
		fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", port),
	}
}

// overreaching is a model whose worker and integrator try everything, the
// integrator also to write, before they do their work.
func overreaching(tries []string) codextest.Model {
	return func(q codextest.Request) reply {
		t := readTurn(q)
		if t.assignment != "" {
			return work(t, slices.Concat(tries, []string{edit(t.assignment, []any{outFile(t.assignment)})})...)
		}
		all := slices.Concat(tries, []string{"echo x > src/integrator.txt"})
		if n := t.at(); n < len(all) {
			return codextest.Exec(t.id(), all[n])
		}
		t.Outputs = t.Outputs[len(all):]
		return acceptAll(t)
	}
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
