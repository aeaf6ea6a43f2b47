package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wrongFiles are configuration files that no other command takes.
func wrongFiles(db string) map[string]string {
	return map[string]string{
		"a wrong value": "max_runs: lots\ndb: " + db + "\n",
		"no mapping":    "- a\n",
		"broken":        "max_runs: [1\ndb: " + db + "\n",
	}
}

// TestChildrenOfAWorkerDoNotReadTheFile: they get what they need from the worker, so that
// a typo while it runs ends no agent's turn.
func TestChildrenOfAWorkerDoNotReadTheFile(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	if got := cox(t, map[string]string{"COX_STATE_DIR": state}, "actor", "register", "--role", "agent", "a-1"); got.code != 0 {
		t.Fatal(got)
	}
	for name, text := range wrongFiles(filepath.Join(dir, "other.db")) {
		writeConfig(t, dir, text)
		env := map[string]string{"XDG_CONFIG_HOME": dir, "COX_STATE_DIR": state, "COX_BINDING_TOKEN": "nobody"}
		for _, line := range [][]string{{"hook-guard", "--", "true"}, {"fake-agent"}, {"mcp"}} {
			if got := cox(t, env, line...); strings.Contains(got.err, "config") || line[0] == "hook-guard" && got.code == exitUsage {
				t.Errorf("%s: %v: %d %s", name, line, got.code, got.err)
			}
		}
		delete(env, "COX_BINDING_TOKEN")
		if got := cox(t, env, "mcp"); got.code != exitUsage || !strings.Contains(got.err, "config.yaml") || !strings.Contains(got.err, "next: ") {
			t.Errorf("%s: a person's server: %d %s", name, got.code, got.err)
		}
	}
}

// TestBrakesWorkWithAWrongFile: what stops work goes on, warns, and says which ledger it
// works on; the ledger that the file names is taken where that line can be read.
func TestBrakesWorkWithAWrongFile(t *testing.T) {
	dir, db := t.TempDir(), filepath.Join(t.TempDir(), "named.db")
	if got := cox(t, map[string]string{"COX_DB": db, "COX_STATE_DIR": filepath.Dir(db)}, "actor", "register", "--role", "agent", "a-1"); got.code != 0 {
		t.Fatal(got)
	}
	for name, text := range wrongFiles(db) {
		writeConfig(t, dir, text)
		env, ledger := map[string]string{"XDG_CONFIG_HOME": dir, "COX_STATE_DIR": filepath.Dir(db)}, db+" (file)"
		if name == "no mapping" {
			env["COX_DB"], ledger = db, db+" (environment COX_DB)"
		}
		for line, code := range map[string]int{
			"stop --all": 0, "down": 0, "loop pause --all": 0, "loop drain --all": 0,
			"run interrupt run_0": exitNotFound, "assignment cancel --reason x nothing": exitNotFound,
		} {
			got := cox(t, env, strings.Fields(line)...)
			if got.code != code || strings.Count(got.err, "warning: ") != 1 || !strings.Contains(got.err, ledger) || !strings.Contains(got.err, "next: ") {
				t.Errorf("%s: %s ends with %d: %s", name, line, got.code, got.err)
			}
		}
		if got := cox(t, env, "workspace", "list"); got.code != exitUsage || !strings.Contains(got.err, "next: ") {
			t.Errorf("%s: another command ends with %d: %s", name, got.code, got.err)
		}
	}
}

func TestAFolderInTheFilesPlaceIsShownWithTheNextStep(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cox", "config.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"XDG_CONFIG_HOME": dir, "COX_STATE_DIR": dir}
	if got := cox(t, env, "config", "show"); got.code != 0 || !strings.Contains(got.out, "config.yaml cannot be read") {
		t.Errorf("config show: %d %s%s", got.code, got.out, got.err)
	}
	if got := cox(t, env, "team", "list"); got.code != exitUsage || !strings.Contains(got.err, "next: cox config path") {
		t.Errorf("team list: %d %s", got.code, got.err)
	}
}

// TestAFolderThatWentLeavesNoProblem: the file's state, and not its text alone, is followed.
func TestAFolderThatWentLeavesNoProblem(t *testing.T) {
	configured(t, "", workerLines(), func(in *call, _ func(string)) {
		r, now := fileFollowed(t, in), time.Now()
		for _, do := range []func(string, os.FileMode) error{
			func(path string, _ os.FileMode) error { return os.Remove(path) },
			os.Mkdir,
		} {
			if err := do(r.path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		r.look(now, workerLive)
		if !r.look(now.Add(settled), workerLive) || !strings.Contains(r.problem, "cannot be read") {
			t.Errorf("a folder: %q", r.problem)
		}
		if err := os.Remove(r.path); err != nil {
			t.Fatal(err)
		}
		r.look(now.Add(2*settled), workerLive)
		if !r.look(now.Add(3*settled), workerLive) || r.problem != "" {
			t.Errorf("after the folder: %q", r.problem)
		}
	})
}

// TestAHalfWrittenFileDoesNotCount: a file counts once it has said the same for a moment,
// and one error is told once.
func TestAHalfWrittenFileDoesNotCount(t *testing.T) {
	logged := configured(t, "max_runs: 2\n", workerLines(), func(in *call, write func(string)) {
		r, now := fileFollowed(t, in), time.Now()
		for i, half := range []string{"", "max_r", "max_runs: 1", "max_runs: 12\nlog_le", "max_runs: 12\n"} {
			write(half)
			if r.look(now.Add(time.Duration(i)*settled), workerLive) || r.whole("max-runs") != 2 || r.again() > settled {
				t.Errorf("%q: %d %q", half, r.whole("max-runs"), r.problem)
			}
		}
		now = now.Add(5 * settled)
		if !r.look(now, workerLive) || r.whole("max-runs") != 12 || r.again() != reloadEvery {
			t.Errorf("the whole file: %d %q", r.whole("max-runs"), r.problem)
		}
		write("max_runs: lots\n")
		changes := 0
		for i := range 5 {
			if r.look(now.Add(time.Duration(i)*settled), workerLive) {
				changes++
			}
		}
		if changes != 1 {
			t.Errorf("one error was told %d times", changes)
		}
	})
	if n := strings.Count(logged, "the configuration file is wrong"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, logged)
	}
}

func workerLines() []*option {
	return append(append(workerOptions(), notifyOptions()...), workerLevel())
}

func fileFollowed(t *testing.T, in *call) *reloading {
	t.Helper()
	r, err := in.followConfig()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestANamedPolicyThatIsMissingIsRefused(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "nope.yaml")
	for _, from := range []string{"flag", "environment COX_POLICY", "file"} {
		env, flag := map[string]string{"XDG_CONFIG_HOME": dir, "COX_STATE_DIR": dir}, ""
		writeConfig(t, dir, "")
		switch from {
		case "flag":
			flag = " --policy " + missing
		case "file":
			writeConfig(t, dir, fmt.Sprintf("policy: %s\n", missing))
		default:
			env["COX_POLICY"] = missing
		}
		for _, line := range []string{"policy show", "policy check", "up --port 0 --ui-port 0", "up --detach", "worker --address 127.0.0.1:1"} {
			got := cox(t, env, strings.Fields(line+flag)...)
			if got.code != exitUsage || !strings.Contains(got.err, "policy: "+missing) || !strings.Contains(got.err, from+", is not there") || !strings.Contains(got.err, "next: ") {
				t.Errorf("%s: %s ends with %d: %s", from, line, got.code, got.err)
			}
		}
	}
	if got := cox(t, map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, "none"), "COX_STATE_DIR": dir}, "policy", "show"); got.code != 0 {
		t.Errorf("a default that is missing: %d %s", got.code, got.err)
	}
}
