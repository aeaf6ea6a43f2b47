package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
)

type outcome struct {
	code     int
	out, err string
}

// cox runs one command line with nothing but the given environment.
func cox(t *testing.T, env map[string]string, args ...string) outcome {
	t.Helper()
	full := map[string]string{"HOME": t.TempDir()}
	maps.Copy(full, env)
	var out, errs bytes.Buffer
	lookup := func(k string) (string, bool) { v, ok := full[k]; return v, ok }
	code := Main(context.Background(), append([]string{"cox"}, args...), lookup, IO{In: strings.NewReader(""), Out: &out, Err: &errs})
	return outcome{code, out.String(), errs.String()}
}

// The exit codes that these tests meet.
const (
	exitUsage       = int(models.ExitUsage)
	exitNotFound    = int(models.ExitNotFound)
	exitInterrupted = int(models.ExitInterrupted)
)

// Each source of a value loses to the one before it: leaf flag, group flag, root
// flag, environment, its alias, file, default.
func TestResolveTakesTheNearest(t *testing.T) {
	config := t.TempDir()
	writeConfig(t, config, "db: /file\n")
	env := map[string]string{"XDG_CONFIG_HOME": config, "COX_DB": "/env", "CTC_DB": "/alias"}
	steps := []struct {
		args    []string
		without string
		want    string
		source  string
	}{
		{[]string{"--db", "/root", "group", "--db", "/group", "leaf", "--db", "/leaf"}, "", "/leaf", "flag"},
		{[]string{"--db", "/root", "group", "--db", "/group", "leaf"}, "", "/group", "flag"},
		{[]string{"--db", "/root", "group", "leaf"}, "", "/root", "flag"},
		{[]string{"group", "leaf"}, "", "/env", "environment COX_DB"},
		{[]string{"group", "leaf"}, "COX_DB", "/alias", "environment CTC_DB"},
		{[]string{"group", "leaf"}, "CTC_DB", "/file", "file"},
		{[]string{"group", "leaf"}, "XDG_CONFIG_HOME", "", "default"},
	}
	for _, s := range steps {
		delete(env, s.without)
		got := resolved(t, env, s.args, "db")
		if got.parsed != s.want || got.source != s.source {
			t.Errorf("%v: got %v from %s, want %s from %s", s.args, got.parsed, got.source, s.want, s.source)
		}
	}
}

func resolved(t *testing.T, env map[string]string, args []string, name string, extra ...*option) value {
	t.Helper()
	env["HOME"] = t.TempDir()
	a := &app{
		io: IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, called: "cox", args: args,
		env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	}
	var got value
	root := a.root()
	root.Commands = []*urfave.Command{a.group("group", "", leaf{name: "leaf", options: extra, run: func(_ context.Context, in *call) error {
		got = in.value(name)
		return nil
	}})}
	if err := root.Run(append([]string{"cox"}, args...)); err != nil {
		t.Fatal(err)
	}
	return got
}

func writeConfig(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "cox"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cox", "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The environment of a call is the one it was given, never the process's.
func TestProcessEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("COX_DB", "/from/the/process")
	if got := resolved(t, map[string]string{}, []string{"group", "leaf"}, "db"); got.parsed != "" {
		t.Errorf("db is %v from %s", got.parsed, got.source)
	}
}

func TestListsDoNotSplitOnCommas(t *testing.T) {
	o := &option{name: "criterion", kind: listKind}
	got := resolved(t, map[string]string{}, []string{"group", "leaf", "--criterion", "a, b", "--criterion", "c"}, "criterion", o)
	list, _ := got.parsed.([]string)
	if len(list) != 2 || list[0] != "a, b" {
		t.Errorf("got %q", list)
	}
}

func TestSpansTakeSecondsAndUnits(t *testing.T) {
	for raw, want := range map[string]time.Duration{"10": 10 * time.Second, "10s": 10 * time.Second, "1m30s": 90 * time.Second, "0": 0} {
		if got, err := parseSpan("poll-interval", raw); err != nil || got != want {
			t.Errorf("%q: %v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{"ten", "-1", "-5s", "10 s", "1.5"} {
		if _, err := parseSpan("poll-interval", raw); !models.IsCode(err, models.CodeInvalidArgument) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestConfigFileRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"dbb: /x\nzz: 1\n":                    ":2: unknown key zz",
		"db: [a]\n":                           ":1: db must be a plain value",
		"db: /x\ndb: /y\n":                    "not a YAML mapping",
		"- a\n":                               "not a YAML mapping",
		"log_level: loud\n":                   ":1: log_level",
		"db: mysql://x\n":                     "no kind of database",
		"db: postgres://me:open-sesame@x/y\n": "holds a password",
	} {
		dir := t.TempDir()
		writeConfig(t, dir, text)
		got := cox(t, map[string]string{"XDG_CONFIG_HOME": dir}, "workspace", "list", "--json")
		if got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%q: exit %d, %s", text, got.code, got.err)
		}
		onlyDocument(t, got.out, models.CodeInvalidArgument)
	}
}

// onlyDocument checks that stdout is one failure document of the code.
func onlyDocument(t *testing.T, out string, want models.Code) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(out))
	var doc struct {
		OK    *bool `json:"ok"`
		Error struct {
			Code    models.Code    `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
		} `json:"error"`
	}
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("stdout is not JSON: %v: %q", err, out)
	}
	if dec.More() || doc.OK == nil || *doc.OK || doc.Error.Code != want || doc.Error.Message == "" || doc.Error.Details == nil {
		t.Errorf("want one document of %s: %s", want, out)
	}
}

// Usage errors leave stdout empty, and with --json one document on it, wherever
// the parser gave up.
func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"wrokspace"}, `unknown command "wrokspace" of cox. Did you mean workspace?`},
		{[]string{"config", "bogus"}, `unknown command "bogus" of cox config`},
		{[]string{"workspace", "lst"}, `Did you mean list?`},
		{[]string{"workspace"}, "cox workspace needs a command: add, list, show, set, archive"},
		{[]string{}, "cox needs a command"},
		{[]string{"workspace", "list", "--jsn"}, "Did you mean --json?"},
		{[]string{"--jsn"}, "unknown flag --jsn"},
		{[]string{"-v"}, "unknown flag -v"},
		{[]string{"loop", "--exit-when-finished"}, "unknown flag --exit-when-finished"},
		{[]string{"assignment", "show", "T1", "--newest"}, "flags go before arguments"},
		{[]string{"assignment", "show", "T1", "T2"}, `unexpected argument "T2"`},
		{[]string{"assignment", "show"}, "ID: is required"},
		{[]string{"assignment", "cancel", "T1"}, "--reason is required"},
		{[]string{"assignment", "supersede"}, "--by, --reason, ID are required"},
		{[]string{"assignment", "supersede", "--by", "T2", "T1"}, "--reason is required"},
		{[]string{"events", "--limit", "many"}, "whole number"},
		{[]string{"events", "--limit", "0"}, "must be 1 or more"},
		{[]string{"events", "--format", "xml"}, "must be one of table, text, json"},
		{[]string{"workspace", "list", "--actor", "human:x"}, "must be 1 to 64 of the characters"},
		{[]string{"assignment", "create", "--title", "x", "--metadata", "[1]"}, "must be a JSON object"},
		{[]string{"assignment", "list", "--lane", "nowhere"}, "must be one of"},
		{[]string{"assignment", "list", "--status", "done"}, "is none of proposed, ready"},
		{[]string{"mcp"}, "needs the actor"},
	} {
		plain := cox(t, nil, c.args...)
		if plain.code != exitUsage || plain.out != "" || !strings.Contains(plain.err, c.want) {
			t.Errorf("%v: exit %d, stdout %q, stderr %s", c.args, plain.code, plain.out, plain.err)
		}
		asked := cox(t, map[string]string{"COX_JSON": "1"}, c.args...)
		if asked.code != exitUsage {
			t.Errorf("%v with COX_JSON: exit %d", c.args, asked.code)
		}
		onlyDocument(t, asked.out, models.CodeInvalidArgument)
	}
}

// What only looks like --json asks for nothing.
func TestNoDocumentThatNobodyAskedFor(t *testing.T) {
	for _, args := range [][]string{
		{"assignment", "list", "--json=false"},
		{"assignment", "create", "--title", "--json"},
		{"--format", "text", "assignment", "list"},
	} {
		got := cox(t, map[string]string{"COX_JSON": "", "COX_FORMAT": "text"}, args...)
		if got.code != exitNotFound || got.out != "" {
			t.Errorf("%v: exit %d, stdout %q", args, got.code, got.out)
		}
	}
	if got := cox(t, map[string]string{"COX_JSON": "1"}, "assignment", "list", "--json=false"); got.code != exitNotFound || got.out != "" {
		t.Errorf("exit %d, stdout %q", got.code, got.out)
	}
}

func TestADashMayBeginAnArgumentAfterTwoDashes(t *testing.T) {
	got := cox(t, nil, "assignment", "show", "--", "-x")
	if got.code != exitNotFound {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

// A read never creates a ledger.
func TestReadsDoNotCreateTheLedger(t *testing.T) {
	state := t.TempDir()
	got := cox(t, map[string]string{"COX_STATE_DIR": state}, "--json", "workspace", "list")
	if got.code != exitNotFound || !strings.Contains(got.err, "next: cox workspace add") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	onlyDocument(t, got.out, models.CodeNotFound)
	left, err := os.ReadDir(state)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestInterruptedCommandsExitWith130(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	home := t.TempDir()
	lookup := func(k string) (string, bool) {
		v, ok := map[string]string{"HOME": home, "COX_NODE": "n"}[k]
		return v, ok
	}
	code := Main(ctx, []string{"cox", "--json", "workspace", "add", t.TempDir()}, lookup, IO{Out: &out, Err: &errs})
	if code != exitInterrupted {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	onlyDocument(t, out.String(), models.CodeInterrupted)
}

// Every command has a line of usage and an example that begins with its own
// words and names only flags that it has.
func TestEveryCommandIsDocumented(t *testing.T) {
	a := &app{io: IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, env: func(string) (string, bool) { return "", false }, called: "cox"}
	var walk func(path string, commands []*urfave.Command)
	walk = func(path string, commands []*urfave.Command) {
		for _, c := range commands {
			line := path + " " + c.Name
			if c.Usage == "" {
				t.Errorf("%s has no usage", line)
			}
			if len(c.Subcommands) > 0 {
				walk(line, c.Subcommands)
				continue
			}
			_, example, _ := strings.Cut(c.Description, "Example:\n  ")
			if !strings.HasPrefix(example, line) {
				t.Errorf("%s has the example %q", line, example)
			}
			checkFlags(t, line, example, c.Flags)
		}
	}
	walk("cox", a.root().Commands)
}

func checkFlags(t *testing.T, line, example string, flags []urfave.Flag) {
	t.Helper()
	known := map[string]bool{}
	for _, f := range flags {
		if known[f.Names()[0]] {
			t.Errorf("%s declares --%s twice", line, f.Names()[0])
		}
		known[f.Names()[0]] = true
	}
	if !known["json"] || !known["db"] {
		t.Errorf("%s lacks the common flags", line)
	}
	for word := range strings.FieldsSeq(example) {
		if name, found := strings.CutPrefix(word, "--"); found && !known[name] {
			t.Errorf("%s: the example's --%s does not exist", line, name)
		}
	}
}

func TestTextOfAgentsCannotSteerTheTerminal(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: &out}
	p.table("", []string{"TITLE"}, [][]any{{"a\x1b[2Jb\nforged\u202e"}})
	p.line("%s", "c\x1b]0;x\a\rd")
	if p.err != nil || strings.ContainsAny(out.String(), "\x1b\a\r\u202e") || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("%q", out.String())
	}
}

func TestIDsAreMadeOfAnyName(t *testing.T) {
	for name, want := range map[string]string{"My Site": "My-Site", "..": "", "über": "ber", `DOMAIN\me`: "DOMAIN-me", "_apt": "apt", "x_": "x_", "a_b.c-d": "a_b.c-d"} {
		if got := idFrom(name); got != want {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
	if got := idFrom(strings.Repeat("x", 200)); models.CheckID("id", got) != nil {
		t.Errorf("%q is no id", got)
	}
}
