package options_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	enumspb "go.temporal.io/api/enums/v1"

	"coxswain/cmd/cox-temporal/internal/options"
	"coxswain/models"
)

// parse runs the flags the way the program does, on the root and below "start".
func parse(args ...string) (got options.Options, err error) {
	read := func(c *cli.Context) (e error) { got, e = options.FromContext(c); return e }
	app := &cli.App{
		Flags: options.Flags(), Action: read, DisableSliceFlagSeparator: true,
		Commands:       []*cli.Command{{Name: "start", Flags: options.Flags(), Action: read}},
		Writer:         io.Discard,
		ErrWriter:      io.Discard,
		ExitErrHandler: func(*cli.Context, error) {},
	}
	err = app.Run(append([]string{"cox-temporal"}, args...))
	return got, err
}

func TestDefaults(t *testing.T) {
	o, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	if o.IP != "127.0.0.1" || o.Port != 7233 || o.UIIP != "127.0.0.1" || o.UIPort != 8233 || o.Headless {
		t.Errorf("addresses: %+v", o)
	}
	if !slices.Equal(o.Namespaces, []string{"default"}) || o.Database != "" || o.JSON || o.LogLevel != "warn" || o.LogFormat != "text" {
		t.Errorf("rest: %+v", o)
	}
}

func TestFlagsAreReadFromTheRootAndTheCommand(t *testing.T) {
	for _, args := range [][]string{
		{"--port", "0", "-n", "a", "-n", "b", "-n", "a", "start", "--ip", "localhost"},
		{"start", "-p", "0", "--namespace", "a", "--namespace", "b", "--ip", "127.0.0.1"},
	} {
		o, err := parse(args...)
		if err != nil {
			t.Fatal(args, err)
		}
		if o.Port != 0 || o.UIPort != 0 || o.IP != "127.0.0.1" || !slices.Equal(o.Namespaces, []string{"a", "b"}) {
			t.Errorf("%v: %+v", args, o)
		}
	}
}

func TestRepeatedPairs(t *testing.T) {
	o, err := parse("--search-attribute", "A=Keyword", "--search-attribute", "B=KeywordList", "--search-attribute", "A=Keyword",
		"--dynamic-config-value", `limit.blobSize.error=[1,2]`, "--sqlite-pragma", "CACHE_SIZE=-2000")
	if err != nil {
		t.Fatal(err)
	}
	if len(o.SearchAttributes) != 2 || o.SearchAttributes["B"] != enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST {
		t.Errorf("search attributes: %v", o.SearchAttributes)
	}
	if string(o.DynamicConfig["limit.blobSize.error"]) != "[1,2]" || o.Pragmas["cache_size"] != "-2000" {
		t.Errorf("pairs: %v %v", o.DynamicConfig, o.Pragmas)
	}
}

func TestJSONLogsMeanJSONOutput(t *testing.T) {
	for _, args := range [][]string{{"--json"}, {"--log-format", "json"}, {"--json", "start"}} {
		if o, err := parse(args...); err != nil || !o.JSON {
			t.Errorf("%v: JSON=%t, error %v", args, o.JSON, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ flag, value, says string }{
		{"ip", "0.0.0.0", "other machines"},
		{"ip", "::", "other machines"},
		{"ip", "example.com", "not an IP"},
		{"ui-ip", "192.168.1.2", "other machines"},
		{"port", "65536", "not a port"},
		{"ui-port", "-1", "not a port"},
		{"namespace", "a/b", "not a name"},
		{"namespace", "temporal-system", "belongs to the server"},
		{"search-attribute", "A=Nope", "unknown type"},
		{"search-attribute", "A", "KEY=VALUE"},
		{"search-attribute", "=Int", "KEY=VALUE"},
		{"dynamic-config-value", "k=plain text", "not JSON"},
		{"sqlite-pragma", "mode=memory", "cannot be set"},
		{"log-level", "loud", "none of"},
		{"log-format", "xml", "none of"},
	} {
		_, err := parse("--"+c.flag, c.value)
		if !models.IsCode(err, models.CodeInvalidArgument) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("--%s %s: error %v, want INVALID_ARGUMENT saying %q", c.flag, c.value, err, c.says)
		}
	}
	if _, err := parse("--search-attribute", "A=Int", "--search-attribute", "A=Keyword"); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("one name, two types: %v", err)
	}
}

func TestHighPortLeavesTheUIAnyPort(t *testing.T) {
	if o, err := parse("--port", "65000"); err != nil || o.UIPort != 0 {
		t.Errorf("UI port %d, error %v", o.UIPort, err)
	}
}
