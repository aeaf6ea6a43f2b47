package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/worker"
)

// configured runs fn inside a command whose configuration file it may write.
func configured(t *testing.T, text string, options []*option, fn func(in *call, write func(string))) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "cox", "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write(text)
	var errs bytes.Buffer
	a := &app{called: "cox", args: []string{"cox", "try"}, io: IO{Out: &bytes.Buffer{}, Err: &errs}, env: func(name string) (string, bool) {
		switch name {
		case "XDG_CONFIG_HOME":
			return dir, true
		case "HOME":
			return dir, true
		}
		return "", false
	}}
	root := a.root()
	root.Commands = append(root.Commands, a.command(leaf{name: "try", usage: "try", example: "cox try", options: options, run: func(_ context.Context, in *call) error {
		fn(in, write)
		return nil
	}}))
	if err := root.RunContext(t.Context(), []string{"cox", "try"}); err != nil {
		t.Fatal(err)
	}
	return errs.String()
}

func TestABadConfigurationKeepsTheLastGoodOne(t *testing.T) {
	options := workerLines()
	logged := configured(t, "max_runs: 2\n", options, func(in *call, write func(string)) {
		changes, err := in.watchConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := func() worker.Settings {
			select {
			case s := <-changes:
				return s
			case <-time.After(20 * time.Second):
				t.Fatal("no change came")
			}
			return worker.Settings{}
		}
		for _, bad := range []string{"max_runs: abc\n", "max_run: 3\n", "max_runs: [1]\n", "log_level: loud\nmax_runs: 9\n", "max_runs: \"unclosed\n"} {
			write(bad)
			if s := next(); s.MaxRuns != 2 || s.Config.Problem == "" {
				t.Errorf("%q: %+v", bad, s)
			}
		}
		write("max_runs: 5\ntransport: stdio\nnotify:\n  command: \"true\"\n  timeout: 3s\n")
		s := next()
		if s.MaxRuns != 5 || s.NotifyCommand != "true" || s.NotifyTimeout != 3*time.Second || s.Config.Problem != "" {
			t.Errorf("the good file: %+v", s)
		}
		if len(s.Config.Restart) != 1 || s.Config.Restart[0] != "transport" {
			t.Errorf("at the next start: %v", s.Config.Restart)
		}
		write("")
		if s := next(); s.MaxRuns != 0 || s.NotifyCommand != "" || len(s.Config.Restart) != 0 {
			t.Errorf("back to the defaults: %+v", s)
		}
	})
	if n := strings.Count(logged, "the configuration file is wrong"); n != 5 {
		t.Errorf("5 bad files were logged %d times:\n%s", n, logged)
	}
}

func TestASettingOfAnotherTypeIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"# text\nmax_runs: abc\n":              ":2: max_runs: \"abc\" must be a whole number",
		"notify:\n  timeout: soon\n":           ":2: notify.timeout: \"soon\" must be a duration",
		"notify:\n  comand: x\n":               ":2: unknown key notify.comand (did you mean notify.command?)",
		"notify: x\n":                          ":1: unknown key notify",
		"model:\n  name: x\n":                  ":1: model must be a plain value",
		"log_level: loud\nmax_runs: -1\n":      ":1: log_level: \"loud\" must be one of",
		"notify.command: say\nmodel: [a, b]\n": ":2: model must be a plain value",
	} {
		got, err := parseConfig("config.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "config.yaml"+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if strings.HasPrefix(text, "notify.command") && got["notify.command"] != "say" {
			t.Errorf("the good setting is not returned: %v", got)
		}
	}
}

func TestStatusShowsAWrongConfiguration(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cox"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cox", "config.yaml"), []byte("max_runs: abc\nmodel: gpt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"XDG_CONFIG_HOME": dir, "HOME": dir, "COX_STATE_DIR": filepath.Join(dir, "state")}[name]
		return v, ok
	}
	run := func(args ...string) (int, map[string]any) {
		var out, errs bytes.Buffer
		code := Main(t.Context(), append([]string{"cox"}, args...), env, IO{In: strings.NewReader(""), Out: &out, Err: &errs})
		var doc map[string]any
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v: %v in %s", args, err, out.String())
		}
		return code, doc
	}
	if code, doc := run("config", "show", "--json"); code != 0 || !strings.Contains(doc["config_problem"].(string), "config.yaml:1: max_runs") {
		t.Errorf("config show: %d %v", code, doc["config_problem"])
	}
	if code, _ := run("workspace", "list", "--json"); code != 2 {
		t.Errorf("another command ends with %d", code)
	}
}
