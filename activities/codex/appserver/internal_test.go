package appserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/activities/codex"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

func TestRingKeepsTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, all := newRing(8), ""
		for _, part := range rapid.SliceOf(rapid.StringMatching(`[a-z]{0,12}`)).Draw(t, "parts") {
			all += part
			if n, err := r.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("write: %d %v", n, err)
			}
		}
		if want := all[max(0, len(all)-8):]; r.String() != want {
			t.Fatalf("kept %q, want %q", r.String(), want)
		}
	})
}

// Whatever the paths hold, the profile arrives at Codex as it was meant.
func TestInlineTOMLReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "paths")
		files := map[string]any{}
		for path, access := range paths {
			files[strings.ToValidUTF8(path, "")] = strings.ToValidUTF8(access, "")
		}
		text := tomlInline(map[string]any{"extends": ":workspace", "filesystem": files})
		var got struct {
			Value struct {
				Extends    string
				Filesystem map[string]string
			}
		}
		if _, err := toml.Decode("value = "+text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for path, access := range files {
			if got.Value.Filesystem[path] != access {
				t.Fatalf("%q reads back as %q, want %q", path, got.Value.Filesystem[path], access)
			}
		}
	})
}

func TestTurnErrorKinds(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`: "rate_limit",
		`{"httpConnectionFailed":{"httpStatusCode":401}}`:          "auth",
		`{"httpConnectionFailed":{"httpStatusCode":503}}`:          "server",
		`{"httpConnectionFailed":{"httpStatusCode":null}}`:         "connection",
		`"usageLimitExceeded"`:                                     "usage_limit",
		`"contextWindowExceeded"`:                                  "context",
		`"internalServerError"`:                                    "server",
		`"somethingNew"`:                                           "other",
		`{"newer":{"a":"b"}}`:                                      "other",
		`null`:                                                     "other",
	} {
		e := turnError{Info: json.RawMessage(info)}
		if got := e.kind(); got != want {
			t.Errorf("%s: kind %s, want %s", info, got, want)
		}
	}
}

func TestRefusalsAreClassified(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]codex.ErrorKind{
		"no active turn to steer":                            codex.ErrTurnMismatch,
		"expected active turn id `X` but found `Y`":          codex.ErrTurnMismatch,
		"expected active turn id X but found Y":              codex.ErrTurnMismatch,
		"no rollout found for thread id x":                   codex.ErrUnknownID,
		"failed to read thread: rollout at x.jsonl is empty": codex.ErrUnknownID,
		"thread not loaded: x":                               codex.ErrUnknownID,
		"Server is draining; try again":                      codex.ErrDraining,
		"thread x already has an active writer":              codex.ErrBusy,
		"session x is archived. Run `codex unarchive`":       codex.ErrRefused,
		"failed to load configuration: Model provider `x` ":  codex.ErrRefused,
	} {
		err := classify("method", &rpcError{Code: -32600, Message: text})
		if codex.KindOf(err) != want || codex.Happened(err) {
			t.Errorf("%q: %v, want kind %s and nothing happened", text, err, want)
		}
	}
}

func TestItemOfAnUnknownShapeKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	var got wireItem
	raw := `{"type":"later","id":"i1","status":{"deep":1},"content":{"x":1},"text":"kept"}`
	if err := decode(json.RawMessage(raw), &got); err != nil {
		t.Fatal(err)
	}
	if item := got.item("u"); item.ID != "i1" || item.Text != "kept" || item.Type != "later" {
		t.Errorf("item %+v", item)
	}
	long := wireItem{Type: "agentMessage", Text: strings.Repeat("é", maxItemText)}.item("u").Text
	if len(long) > maxItemText || strings.ToValidUTF8(long, "?") != long {
		t.Errorf("long text: %d bytes", len(long))
	}
}

func TestUntrustedCoversTheWorktreesRepository(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo, tree := filepath.Join(root, "repo"), filepath.Join(root, "tree")
	for _, dir := range []string{filepath.Join(repo, ".git/worktrees/tree"), filepath.Join(tree, "sub")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := "gitdir: " + filepath.Join(repo, ".git/worktrees/tree") + "\n"
	if err := os.WriteFile(filepath.Join(tree, ".git"), []byte(link), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cwd := range []string{tree, filepath.Join(tree, "sub")} {
		got := projects(codex.ThreadSpec{CWD: cwd})
		if len(got) != 2 || got[cwd] == nil || got[repo] == nil {
			t.Errorf("%s: %v", cwd, got)
		}
	}
}

func TestProfileKeyNamesVersion(t *testing.T) {
	t.Parallel()
	first, again := ProfileKey("1"), ProfileKey("1")
	if first == ProfileKey("2") || first != again {
		t.Error("the key does not stand for the version")
	}
}

func TestSpecIsCheckedBeforeCodexIsAsked(t *testing.T) {
	t.Parallel()
	good := codex.ThreadSpec{CWD: t.TempDir(), DenyPaths: []string{"/state"}, TempDir: "/temp"}
	if err := checkSpec(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*codex.ThreadSpec){
		"relative folder": func(s *codex.ThreadSpec) { s.CWD = "here" },
		"absent folder":   func(s *codex.ThreadSpec) { s.CWD = filepath.Join(s.CWD, "absent") },
		"relative denial": func(s *codex.ThreadSpec) { s.DenyPaths = []string{"state"} },
		"relative temp":   func(s *codex.ThreadSpec) { s.TempDir = "temp" },
		"nameless server": func(s *codex.ThreadSpec) { s.MCP.Command = "/bin/cox" },
	} {
		spec := good
		spoil(&spec)
		if err := checkSpec(spec); codex.KindOf(err) != codex.ErrRefused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
