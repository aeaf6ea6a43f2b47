package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"coxswain/models"
)

// badLines are lines that are no frames, with the answer each must get.
func badLines() map[string]struct {
	line, id string
	code     int
} {
	type bad = struct {
		line, id string
		code     int
	}
	return map[string]bad{
		"no JSON":             {"hello 4711", "null", -32700},
		"half a frame":        {`{"jsonrpc":"2.0","id":1,`, "null", -32700},
		"two frames":          {`{"jsonrpc":"2.0","method":"ping"} {"jsonrpc":"2.0","method":"ping"}`, "null", -32700},
		"no UTF-8":            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xffng\"}", "null", -32700},
		"a batch":             {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600},
		"an empty batch":      {`[]`, "null", -32600},
		"a number":            {"4711", "null", -32600},
		"null":                {"null", "null", -32600},
		"an empty object":     {"{}", "null", -32600},
		"another version":     {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, "7", -32600},
		"no version":          {`{"id":"seven","method":"ping"}`, `"seven"`, -32600},
		"no method, no id":    {`{"jsonrpc":"2.0","params":{}}`, "null", -32600},
		"no method":           {`{"jsonrpc":"2.0","id":7}`, "7", -32600},
		"a number as method":  {`{"jsonrpc":"2.0","id":7,"method":4711}`, "7", -32600},
		"a null id":           {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600},
		"an object as id":     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600},
		"a fraction as id":    {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "null", -32600},
		"an id of 54 bits":    {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "null", -32600},
		"an answer to nobody": {`{"jsonrpc":"2.0","result":{}}`, "null", -32600},
	}
}

func TestABadLineIsAnsweredAndEndsNothing(t *testing.T) {
	f := newFixture(t)
	for state, start := range map[string]func(*testing.T, Options) *client{"before the handshake": serve, "after it": connected} {
		c := start(t, f.agent("worker-1"))
		for name, bad := range badLines() {
			t.Run(state+"/"+name, func(t *testing.T) {
				c.t = t
				c.send(bad.line)
				c.errorFrame(bad.id, bad.code)
				if answer := c.ask("ping", nil); answer.Error != nil {
					t.Fatalf("the session must go on: %+v", answer.Error)
				}
			})
		}
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// errorFrame reads an error with exactly this id and code, whose message repeats
// nothing of the line.
func (c *client) errorFrame(id string, code int) {
	c.t.Helper()
	line := <-c.lines
	var got struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
		}
	}
	mustDecode(c.t, []byte(line), &got)
	if string(got.ID) != id || got.Error.Code != code || got.Error.Message == "" || strings.Contains(line, "4711") {
		c.t.Fatalf("want id %s and code %d, have %s", id, code, line)
	}
}

// Errors that name no request are not answered: two peers would never end.
func TestAnErrorToNobodyIsNotAnswered(t *testing.T) {
	c := serve(t, newFixture(t).agent("worker-1"))
	c.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`)
	c.send("\r\n  ") // blank lines neither
	if answer := c.ask("ping", nil); answer.Error != nil {
		t.Fatalf("have %+v", answer.Error)
	}
	if !strings.Contains(c.logs.String(), "line refused") {
		t.Fatal("the log must tell")
	}
}

func TestALineThatIsTooLongEndsTheServer(t *testing.T) {
	c := connected(t, newFixture(t).agent("worker-1"))
	go func() { // the server stops reading: the pipe's error is no news
		_, _ = io.Copy(c.in, io.LimitReader(endless{}, lineLimit+64<<10))
	}()
	c.errorFrame("null", -32600)
	if err := c.wait(); models.CodeOf(err) != models.CodeInvalidArgument {
		t.Fatalf("want INVALID_ARGUMENT, have %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestALongLineAndALastLineWithoutItsEndAreFrames(t *testing.T) {
	out := &output{}
	long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("x", 8<<20) + `"}}}`
	o := newFixture(t).agent("worker-1")
	o.In, o.Out = io.NopCloser(strings.NewReader(long+"\r\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`)), out
	if err := Serve(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, `"result"`) != 2 || !out.closed {
		t.Fatalf("want two answers and a closed output, have %q", got)
	}
}

// Answers to bad lines and to calls do not run into each other.
func TestAnswersAreWholeLines(t *testing.T) {
	c := connected(t, newFixture(t).agent("worker-1"))
	const rounds = 50
	var lines bytes.Buffer
	for i := range rounds {
		fmt.Fprintf(&lines, "no frame\n"+`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", 100+i)
	}
	go func() {
		_, err := lines.WriteTo(c.in)
		c.in.CloseWithError(err) // a pipe's Close returns nil
	}()
	answers, refusals := 0, 0
	for line := range c.lines {
		if parseFrame(t, line).ID == nil {
			refusals++
		} else {
			answers++
		}
	}
	if err := c.wait(); err != nil {
		t.Fatal(err)
	}
	if answers != rounds || refusals != rounds {
		t.Fatalf("want %d of both, have %d answers and %d refusals", rounds, answers, refusals)
	}
}

func TestEveryErrorHasACode(t *testing.T) {
	c := serve(t, newFixture(t).agent("worker-1"))
	for _, method := range []string{"tools/call", "no/such", "initialize", "resources/list", "server/discover"} {
		if answer := c.ask(method, nil); answer.Error == nil || answer.Error.Code > -32000 {
			t.Fatalf("before initialize, %s: %+v", method, answer)
		}
	}
	c.initialize("2025-11-25")
	c.notify("notifications/initialized")
	for _, method := range []string{"tools/call", "no/such", "initialize", "resources/read", "logging/setLevel"} {
		if answer := c.ask(method, nil); answer.Error == nil || answer.Error.Code > -32000 {
			t.Fatalf("after the handshake, %s: %+v", method, answer)
		}
	}
}

func TestWrongKindsAreNamedInJSONsWords(t *testing.T) {
	c := connected(t, newFixture(t).person())
	for _, test := range []struct{ tool, arguments, says string }{
		{"register_workspace", `{"workspace_id":"docs","metadata":[]}`, "metadata: must be an object"},
		{"register_workspace", `{"workspace_id":"docs","metadata":"x"}`, "metadata: must be an object"},
		{"register_workspace", `{"workspace_id":1}`, "workspace_id: must be a text"},
		{"register_workspace", `{"workspace_id":"docs","request_id":{}}`, "request_id: must be a text"},
		{"register_workspace", `{"workspace_id":"docs","actor_id":[]}`, "actor_id: must be a text"},
		{"create_assignment", `{"assignment_id":"a","title":"t","team_id":"crew","base_revision":99999999999999999999}`, "base_revision: must be a whole number of at most 64 bits"},
		{"create_assignment", `{"assignment_id":"a","title":"t","base_revision":0,"team_id":"crew","allowed_paths":"src"}`, "allowed_paths: must be a list of texts"},
		{"create_assignment", `{"assignment_id":"a","title":"t","base_revision":0,"team_id":"crew","depends_on":[1]}`, "depends_on: must be a list of texts"},
	} {
		answer := c.ask("tools/call", map[string]any{"name": test.tool, "arguments": json.RawMessage(test.arguments)})
		if out := parseOutcome(t, answer.Result); out.Error.Code != "INVALID_ARGUMENT" || out.Error.Message != test.says {
			t.Errorf("want %q, have %s", test.says, out.raw)
		}
	}
}
