package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"coxswain/cmd/internal/cli"
	"coxswain/cmd/internal/errorwords"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cox": run, "comem": run, "ctc": run})
}

// outside is the variable that names the file for errors which the catalogue does
// not explain, one a line.
const outside = "COX_TEST_OUTSIDE_CATALOGUE"

// run is cox as the scripts start it.
func run() {
	var out bytes.Buffer
	code := cli.Main(context.Background(), os.Args, os.LookupEnv, cli.IO{In: os.Stdin, Out: io.MultiWriter(os.Stdout, &out), Err: os.Stderr})
	if err := errorwords.Check(out.Bytes(), code); err != nil {
		report(fmt.Sprintf("%q: %v\n", os.Args, err))
	}
	os.Exit(code)
}

func report(line string) {
	f, err := os.OpenFile(os.Getenv(outside), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		panic(err)
	}
}

// TestScripts runs the command lines of testdata/scripts. No error that any of them
// prints as a document may be missing in the catalogue, whether it is wanted or not.
func TestScripts(t *testing.T) {
	found := filepath.Join(t.TempDir(), "outside")
	t.Cleanup(func() { // when all scripts have ended
		if text, err := os.ReadFile(found); !os.IsNotExist(err) {
			t.Errorf("outside the catalogue of errors:\n%s%v", text, err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "..", "testdata", "scripts"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("COX_UPDATE_SCRIPTS") == "1",
		Setup: func(env *testscript.Env) error {
			env.Setenv(outside, found)
			return hermetic(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "jsonq": jsonq, "keep": keep},
	})
}

// hermetic gives a script a home, state, configuration and temporary folder of
// its own, and a git without the user's settings.
func hermetic(env *testscript.Env) error {
	for _, dir := range []string{"home", "config", "state", "tmp"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o700); err != nil {
			return err
		}
	}
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
	env.Setenv("TMPDIR", filepath.Join(env.WorkDir, "tmp"))
	env.Setenv("COX_NODE", "test-node")
	env.Setenv("TZ", "UTC")
	env.Setenv("TWOLINES", "multi\nline")
	env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env.Setenv("GIT_"+who+"_NAME", "Tester")
		env.Setenv("GIT_"+who+"_EMAIL", "tester@example.com")
	}
	return nil
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARGS…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		if _, scanErr := fmt.Sscanf(err.Error(), "exit status %d", &got); scanErr != nil {
			ts.Fatalf("%v", err)
		}
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// jsonq reads a value of the one JSON document in a file: jsonq FILE PATH
// [VALUE]. The path is keys and indices joined by dots; "len" is the length of a
// list or object. With a value the two must be equal as text; without one the
// path must exist. "! jsonq FILE PATH" wants it to be missing.
func jsonq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 || neg && len(args) == 3 {
		ts.Fatalf("usage: [!] jsonq FILE PATH [VALUE]")
	}
	got, found := lookUp(ts, args[0], args[1])
	if found == neg {
		ts.Fatalf("%s: found is %v: %v", args[1], found, got)
	}
	if len(args) == 3 && got != args[2] {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

// keep puts such a value into an environment variable: keep NAME FILE PATH.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: keep NAME FILE PATH")
	}
	got, found := lookUp(ts, args[1], args[2])
	if !found {
		ts.Fatalf("%s is missing", args[2])
	}
	ts.Setenv(args[0], got)
}

func lookUp(ts *testscript.TestScript, file, path string) (string, bool) {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	dec.UseNumber()
	var at any
	if err := dec.Decode(&at); err != nil {
		ts.Fatalf("%s is not JSON: %v", file, err)
	}
	if dec.More() {
		ts.Fatalf("%s holds more than one document", file)
	}
	for key := range strings.SplitSeq(path, ".") {
		next, ok := step(at, key)
		if !ok {
			return "", false
		}
		at = next
	}
	return render(at), true
}

func step(at any, key string) (any, bool) {
	switch at := at.(type) {
	case map[string]any:
		if v, ok := at[key]; ok {
			return v, true
		}
		return len(at), key == "len"
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(at) {
			return at[i], true
		}
		return len(at), key == "len"
	}
	return nil, false
}

func render(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any, []any:
		raw, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
	return fmt.Sprint(v)
}
