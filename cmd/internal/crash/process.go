package crash

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"coxswain/cmd/internal/crash/audit"
)

// process is a process of a world.
type process struct {
	pid  int
	kind Kind // "" for one that is never killed, such as a command of the person
	args string
}

// processes are those whose command line or environment names the world's folder,
// whoever started them.
func processes(dir string) ([]process, error) {
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var out []process
	for _, path := range found {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(path, "cmdline")) // one that just ended has none
		env, _ := os.ReadFile(filepath.Join(path, "environ"))  // as above, and others' cannot be read
		if bytes.Contains(args, []byte(dir)) || bytes.Contains(env, []byte(dir)) {
			argv := strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")
			out = append(out, process{pid: pid, kind: kindOf(argv), args: strings.Join(argv, " ")})
		}
	}
	return out, nil
}

func kindOf(argv []string) Kind {
	has := func(word string) bool { return slices.Contains(argv[1:], word) }
	switch name := filepath.Base(argv[0]); {
	case name == "cox-temporal":
		return Temporal
	case name == "codex" && has("app-server"):
		return AppServer
	case name != "cox":
		return ""
	case has("worker"):
		return Worker
	case has("mcp"):
		return MCP
	case has("fake-agent"):
		return Agent
	}
	return ""
}

// left are the processes of a world as evidence.
func left(dir string) ([]audit.Process, error) {
	found, err := processes(dir)
	var out []audit.Process
	for _, p := range found {
		out = append(out, audit.Process{PID: p.pid, Args: p.args})
	}
	return out, err
}
