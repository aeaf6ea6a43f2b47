package cli_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coxswain/cmd/internal/cli"
)

// town is a ledger with something of every kind, and a cox on the PATH.
type town struct {
	env  map[string]string
	bin  string
	home string
}

func newTown(t *testing.T) *town {
	t.Helper()
	home := t.TempDir()
	w := &town{home: home, bin: filepath.Join(home, "bin"), env: map[string]string{
		"HOME": home, "COX_STATE_DIR": filepath.Join(home, "state"), "COX_NODE": "n", "COX_COMPLETION_WAIT": "30s", "XDG_CONFIG_HOME": filepath.Join(home, "config"),
	}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(w.bin, "cox")); err != nil { // the test binary is cox when called so
		t.Fatal(err)
	}
	w.cox(t, "workspace", "add", "--id", "site", t.TempDir())
	w.cox(t, "team", "create", "--workspace", "site", "web")
	w.cox(t, "assignment", "create", "--team", "web", "--id", "search", "--title", "Add search")
	w.cox(t, "assignment", "create", "--team", "web", "--id", "schema", "--title", "Add: the schema")
	return w
}

func (w *town) cox(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	lookup := func(k string) (string, bool) { v, ok := w.env[k]; return v, ok }
	if code := cli.Main(context.Background(), append([]string{"cox"}, args...), lookup, cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, errs.String())
	}
	return out.String()
}

// words asks cox itself, as the scripts do.
func (w *town) words(t *testing.T, words ...string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(w.cox(t, append([]string{"complete-words", "--"}, words...)...)) {
		value, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		out = append(out, value)
	}
	return out
}

// shell runs a program of a shell with cox on its PATH, or skips.
func (w *town) shell(t *testing.T, name string, program string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	cmd := exec.CommandContext(t.Context(), path, "-c", program)
	cmd.Env = []string{"PATH=" + w.bin + ":/usr/bin:/bin", "TERM=dumb"}
	for k, v := range w.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

func TestCompletionKnowsTheTreeAndTheLedger(t *testing.T) {
	w := newTown(t)
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"assi"}, []string{"assignment"}},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish"}},
		{[]string{"assignment", "show", ""}, []string{"schema", "search"}},
		{[]string{"assignment", "show", "sea"}, []string{"search"}},
		{[]string{"assignment", "cancel", "--reason", "no: never", "sc"}, []string{"schema"}},
		{[]string{"assignment", "supersede", "--by", ""}, []string{"schema", "search"}},
		{[]string{"assignment", "show", "search", ""}, nil},
		{[]string{"assignment", "import", ""}, []string{":files"}},
		{[]string{"--db", ""}, []string{":files"}},
		{[]string{"team", "show", ""}, []string{"web"}},
		{[]string{"team", "create", ""}, nil},
		{[]string{"team", "list", "--workspace", ""}, []string{"site"}},
		{[]string{"team", "list", "--workspace=s"}, []string{"--workspace=site"}},
		{[]string{"assignment", "list", "--lane", "a"}, []string{"awaiting_human", "awaiting_review", "accepted"}},
		{[]string{"assignment", "list", "--status", "rea"}, []string{"ready"}},
		{[]string{"assignment", "list", "--format", "js"}, []string{"json", "jsonl"}},
		{[]string{"assignment", "list", "--rev"}, []string{"--reverse"}},
		{[]string{"actor", "show", "codex"}, []string{"codex-integrator-web"}},
		{[]string{"workspace", "archive", ""}, []string{"site"}},
		{[]string{"run", "show", ""}, nil},
		{[]string{"explain", "STALE"}, []string{"STALE_REVISION"}},
		{[]string{"--state-dir", filepath.Join(w.home, "nowhere"), "team", "show", ""}, nil},
		{[]string{"--db=" + filepath.Join(w.home, "state", "ledger.db"), "team", "show", ""}, []string{"web"}},
		{[]string{"nonsense", ""}, nil},
		{[]string{"complete"}, nil},
	} {
		got := w.words(t, c.words...)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q completes to %q, want %q", c.words, got, c.want)
		}
	}
	if got := w.words(t, ""); !slices.Contains(got, "assignment") || slices.Contains(got, "complete-words") {
		t.Errorf("the first word may be %q", got)
	}
	if entries, err := os.ReadDir(filepath.Join(w.home, "nowhere")); err == nil {
		t.Errorf("completion made %v", entries)
	}
}

func TestCompletionInBash(t *testing.T) {
	w := newTown(t)
	program := `
eval "$(cox completion bash)"
complete -p cox >/dev/null || exit 1
try() { COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cox cox; echo "${COMPREPLY[*]}"; }
try cox assi
try cox assignment show ''
try cox assignment show sea
try cox team list --workspace = s
try cox team list --workspace =
try cox assignment list --by human : ''
try cox assignment cancel --reason '$(touch '"$HOME"'/hacked)' sch
COX_STATE_DIR=$HOME/none try cox team show ''
`
	out := w.shell(t, "bash", program)
	lines := strings.Split(out, "\n")
	if len(lines) < 8 {
		t.Fatalf("output: %q", out)
	}
	if ids := strings.Fields(lines[1]); len(ids) != 2 || !slices.Contains(ids, "search") || !slices.Contains(ids, "schema") {
		t.Errorf("ids: %q", lines[1])
	}
	lines[1] = ""
	human := lines[5]
	lines[5] = ""
	if want := []string{"assignment", "", "search", "site", "site", "", "schema", "", ""}; !slices.Equal(lines, want) {
		t.Errorf("have %q, want %q", lines, want)
	}
	if human == "" || strings.Contains(human, ":") {
		t.Errorf("an actor behind a colon completes to %q", human)
	}
	if _, err := os.Stat(filepath.Join(w.home, "hacked")); err == nil {
		t.Error("completion carried out a typed word")
	}
}

func TestCompletionInZsh(t *testing.T) {
	w := newTown(t)
	out := w.shell(t, "zsh", `
compdef() { print -r -- "compdef $*" }
_describe() { local -a all; all=("${(@P)argv[-1]}"); print -rl -- "${all[@]}" }
_files() { print files }
source <(cox completion zsh)
try() { words=("$@"); CURRENT=$#words; _cox; print -r -- --- }
try cox assi
try cox assignment show sea
try cox assignment show sch
try cox assignment import ''
try cox team list --workspace=''
`)
	want := "compdef _cox cox\nassignment:create work, see it and call it off\n---\nsearch:ready: Add search\n---\nschema:ready: Add: the schema\n---\nfiles\n---\n--workspace=site:"
	if !strings.HasPrefix(out, want) {
		t.Errorf("have:\n%s\nwant:\n%s", out, want)
	}
}

func TestCompletionInFish(t *testing.T) {
	w := newTown(t)
	out := w.shell(t, "fish", `
cox completion fish | source
complete -C 'cox assi'
echo ---
complete -C 'cox assignment show sea'
echo ---
complete -C 'cox team list --workspace='
echo ---
complete -C 'cox assignment import /et'
`)
	want := "assignment\tcreate work, see it and call it off\n---\nsearch\tready: Add search\n---\n--workspace=site\t"
	if !strings.HasPrefix(out, want) || !strings.Contains(out, "/etc/") {
		t.Errorf("have:\n%s\nwant:\n%s… and /etc/", out, want)
	}
}

// Whatever is wrong, a key press prints nothing on stderr and fails nothing.
func TestCompletionIsSilentWithoutALedger(t *testing.T) {
	w := newTown(t)
	w.env["COX_DB"] = filepath.Join(w.home, "is", "no", "ledger.db")
	if got := w.words(t, "team", "show", ""); got != nil {
		t.Errorf("offers %q", got)
	}
	if err := os.WriteFile(filepath.Join(w.home, "broken.db"), []byte("no database at all, but a text that is long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env["COX_DB"] = filepath.Join(w.home, "broken.db")
	if got := w.words(t, "team", "show", ""); got != nil {
		t.Errorf("offers %q", got)
	}
}
