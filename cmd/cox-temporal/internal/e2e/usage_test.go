package e2e_test

import (
	"debug/buildinfo"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestUsageErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--no-such-flag"}, "no-such-flag"},
		{[]string{"server", "start-dev", "--ui-codec-endpoint", "x"}, "ui-codec-endpoint"},
		{[]string{"--http-port", "1"}, "http-port"},
		{[]string{"server"}, "start-dev"},
		{[]string{"server", "start-dev", "extra"}, "extra"},
		{[]string{"sevrer", "start-dev"}, "sevrer"},
		{[]string{"--port", "seven"}, "port"},
		{[]string{"--ip", "0.0.0.0"}, "loopback"},
		{[]string{"--ui-ip", "10.0.0.1"}, "loopback"},
		{[]string{"--dynamic-config-value", "no.such.setting=1"}, "no.such.setting"},
		{[]string{"--dynamic-config-value", `frontend.rps="many"`}, "frontend.rps"},
	} {
		got := run(t, c.args...)
		if got.code != 2 || !strings.Contains(got.stderr, c.says) || got.stdout != "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q; want exit 2 and %q on stderr only", c.args, got.code, got.stdout, got.stderr, c.says)
		}
	}
}

func TestUnknownFlagNamesTheNextStep(t *testing.T) {
	if got := run(t, "--no-such-flag"); !strings.Contains(got.stderr, "next: cox-temporal --help") {
		t.Errorf("stderr is %q", got.stderr)
	}
}

func TestFailureIsOneJSONDocumentWhenAsked(t *testing.T) {
	for _, args := range [][]string{{"--json", "--ip", "0.0.0.0"}, {"--log-format", "json", "--nope"}} {
		got := run(t, args...)
		var doc struct {
			OK    *bool
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
			t.Fatalf("%v: stdout %q: %v", args, got.stdout, err)
		}
		if doc.OK == nil || *doc.OK || doc.Error.Code != "INVALID_ARGUMENT" || doc.Error.Message == "" || got.code != 2 {
			t.Errorf("%v: exit %d, %s", args, got.code, got.stdout)
		}
	}
}

func TestHelpShowsAnExample(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"server", "start-dev", "--help"}} {
		got := run(t, args...)
		if got.code != 0 || !strings.Contains(got.stdout, "--db-filename") || !strings.Contains(got.stdout, "cox-temporal") {
			t.Errorf("%v: exit %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	if got := run(t, "--help"); !strings.Contains(got.stdout, "Examples:") {
		t.Errorf("no example in\n%s", got.stdout)
	}
	if got := run(t, "--version"); !strings.Contains(got.stdout, "1.32.0") {
		t.Errorf("version is %q", got.stdout)
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--json", "--ui-port", "0", "--port", port},
		{"--json", "--port", "0", "--ui-port", port},
	} {
		got := run(t, args...)
		if got.code != 7 || !strings.Contains(got.stderr, port) || !strings.Contains(got.stderr, "next:") {
			t.Errorf("%v: exit %d, stderr %q", args, got.code, got.stderr)
		}
		var doc struct {
			Error struct {
				Code    string
				Details struct{ Port int }
			}
		}
		if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
			t.Fatal(err, got.stdout)
		}
		if strconv.Itoa(doc.Error.Details.Port) != port || doc.Error.Code != "ENGINE_UNAVAILABLE" {
			t.Errorf("%v: %s", args, got.stdout)
		}
	}
}

// The API module's newer versions do not compile with this server, and a newer
// SDK asks for one.
func TestModulesThatMustStayTogether(t *testing.T) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"go.temporal.io/api": "v1.63.5", "go.temporal.io/sdk": "v1.50.0",
		"go.temporal.io/server": "v1.32.0", "github.com/temporalio/ui-server/v2": "v2.54.1",
	}
	for _, dep := range info.Deps {
		if version, pinned := want[dep.Path]; pinned && dep.Version != version {
			t.Errorf("%s is %s, want %s", dep.Path, dep.Version, version)
		}
		delete(want, dep.Path)
	}
	if len(want) > 0 {
		t.Errorf("not in the executable: %v", want)
	}
}
