package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"coxswain/models"
)

func TestBothProtocolVersionsAreSpoken(t *testing.T) {
	for asked, want := range map[string]string{
		"2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2024-11-05": "2025-11-25", "2026-07-28": "2025-11-25", // answered with one that is spoken
	} {
		t.Run(asked, func(t *testing.T) {
			c := serve(t, newFixture(t).agent("worker-1"))
			if got := c.initialize(asked); got != want {
				t.Fatalf("asked for %s, got %s, want %s", asked, got, want)
			}
			c.notify("notifications/initialized")
			var out struct{ Workspaces []models.Workspace }
			c.must(&out, "list_workspaces", nil)
			if len(out.Workspaces) != 1 {
				t.Fatalf("want one workspace, have %+v", out)
			}
			if err := c.end(); err != nil {
				t.Fatalf("the end of input is no error: %v", err)
			}
		})
	}
}

// registration is a call whose effect anybody can see.
func registration(meta map[string]any) map[string]any {
	params := map[string]any{"name": "register_actor", "arguments": map[string]any{
		"actor_id": "worker-1", "actor_kind": "ai", "display_name": "Worker", "capabilities": map[string]any{"seen": true},
	}}
	if meta != nil {
		params["_meta"] = meta
	}
	return params
}

func (f *fixture) registered() bool {
	f.t.Helper()
	actors, err := f.l.Actors(context.Background(), "")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, a := range actors {
		if a.ID == "worker-1" && a.Capabilities["seen"] == true {
			return true
		}
	}
	return false
}

func TestNothingRunsBeforeTheHandshake(t *testing.T) {
	f := newFixture(t)
	c := serve(t, f.agent("worker-1"))
	steps := []struct {
		name string
		step func()
	}{
		{"before initialize", func() {}},
		{"after initialized without initialize", func() { c.notify("notifications/initialized") }},
		{"between initialize and initialized", func() { c.initialize("2025-11-25") }},
	}
	for _, s := range steps {
		s.step()
		for _, method := range []string{"tools/call", "tools/list"} {
			if answer := c.ask(method, registration(nil)); answer.Error == nil || answer.Error.Code != -32600 {
				t.Fatalf("%s: %s: want an invalid request, have %+v", s.name, method, answer)
			}
		}
		if f.registered() {
			t.Fatalf("%s: the call was executed", s.name)
		}
	}
	if answer := c.ask("ping", nil); answer.Error != nil {
		t.Fatalf("ping is allowed at any time: %+v", answer.Error)
	}
	c.notify("notifications/initialized")
	if answer := c.ask("tools/call", registration(nil)); answer.Error != nil || !f.registered() {
		t.Fatalf("after the handshake the call must run: %+v", answer)
	}
}

func TestLaterProtocolsAreRefused(t *testing.T) {
	metas := map[string]map[string]any{
		"complete": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}},
		"bare":     {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
		"draft":    {"io.modelcontextprotocol/protocolVersion": "2026-01-01"},
		"no text":  {"io.modelcontextprotocol/protocolVersion": 20260728},
	}
	for name, meta := range metas {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			fresh := serve(t, f.agent("worker-1"))
			if answer := fresh.ask("tools/call", registration(meta)); answer.Error == nil {
				t.Fatalf("a fresh session answered: %s", answer.Result)
			}
			ready := connected(t, f.agent("worker-1"))
			if answer := ready.ask("tools/call", registration(meta)); answer.Error == nil {
				t.Fatalf("a ready session answered: %s", answer.Result)
			}
			if f.registered() {
				t.Fatal("the call was executed")
			}
			if answer := ready.ask("tools/call", registration(nil)); answer.Error != nil {
				t.Fatalf("the session must go on: %+v", answer.Error)
			}
		})
	}
}

func TestOutputIsFramesAlone(t *testing.T) {
	f := newFixture(t)
	c := serve(t, f.agent("worker-1"))
	c.initialize("2025-11-25")
	c.notify("notifications/initialized")
	c.refused("NOT_FOUND", "get_assignment_detail", map[string]any{"assignment_id": "none"})
	c.send(`{"jsonrpc":"2.0","id":90,"method":"no/such"}`)
	c.send(`{"jsonrpc":"2.0","id":91,"method":"tools/call","params":{"name":"get_team_board","arguments":[]}}`)
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	var answered []int
	for line := range c.lines { // every line has to be a frame
		if answer := parseFrame(t, line); answer.ID != nil {
			answered = append(answered, *answer.ID)
		}
	}
	if len(answered) != 2 {
		t.Fatalf("want the answers to 90 and 91, have %v", answered)
	}
	if err := c.wait(); err != nil {
		t.Fatal(err)
	}
	if logs := c.logs.String(); !strings.Contains(logs, `"level":"DEBUG"`) || !strings.Contains(logs, "tool refused") {
		t.Fatalf("the debug log must have gone to the logger, have %q", logs)
	}
}

func TestUnknownToolIsAProtocolError(t *testing.T) {
	c := connected(t, newFixture(t).agent("worker-1"))
	answer := c.ask("tools/call", map[string]any{"name": "accept_everything", "arguments": map[string]any{}})
	if answer.Error == nil || answer.Error.Code != -32602 || !strings.Contains(answer.Error.Message, "accept_everything") {
		t.Fatalf("want invalid params naming the tool, have %+v", answer)
	}
	if answer := c.ask("tools/list", map[string]any{}); answer.Error != nil {
		t.Fatalf("the session does not go on: %+v", answer)
	}
}

func TestArgumentsAreStrict(t *testing.T) {
	c := connected(t, newFixture(t).agent("worker-1"))
	for name, test := range map[string]struct {
		tool, arguments, names string
	}{
		"a number for a text":    {"get_team_board", `{"team_id":424242}`, "team_id: must be a text"},
		"a text for a number":    {"claim_assignment", `{"assignment_id":"task","base_revision":"one"}`, "base_revision: must be a whole number"},
		"a fraction":             {"claim_assignment", `{"assignment_id":"task","base_revision":1.5}`, "base_revision"},
		"a text for an object":   {"submit_handoff", `{"assignment_id":"task","base_revision":1,"payload":"done"}`, "payload: must be an object"},
		"a number in a list":     {"claim_assignment", `{"assignment_id":["task"],"base_revision":1}`, "assignment_id"},
		"unknown fields":         {"get_team_board", `{"team_id":"crew","lane":"ready","also":1}`, "also, lane"},
		"another case":           {"get_team_board", `{"TEAM_ID":"crew"}`, "TEAM_ID"},
		"a missing field":        {"claim_assignment", `{"assignment_id":"task"}`, "base_revision"},
		"null for a revision":    {"claim_assignment", `{"assignment_id":"task","base_revision":null}`, "base_revision"},
		"missing when unbound":   {"get_assignment_detail", `{}`, "assignment_id"},
		"a list of arguments":    {"get_team_board", `["crew"]`, "arguments"},
		"a claim without a life": {"claim_assignment", `{"assignment_id":"task","base_revision":1,"lease_ttl_seconds":0}`, "lease_ttl_seconds"},
		"a claim without an end": {"claim_assignment", `{"assignment_id":"task","base_revision":1,"lease_ttl_seconds":9223372036854775807}`, "lease_ttl_seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			answer := c.ask("tools/call", map[string]any{"name": test.tool, "arguments": json.RawMessage(test.arguments)})
			out := parseOutcome(t, answer.Result)
			if out.Error.Code != "INVALID_ARGUMENT" || !strings.Contains(out.Error.Message, test.names) {
				t.Fatalf("want INVALID_ARGUMENT naming %q, have %s", test.names, out.raw)
			}
			if strings.Contains(string(out.raw), "424242") {
				t.Fatalf("the refusal repeats the value: %s", out.raw)
			}
		})
	}
}

// A client that writes its calls and hangs up gets every answer.
func TestCallsAreAnsweredBeforeTheEnd(t *testing.T) {
	f := newFixture(t)
	c := connected(t, f.agent("worker-1"))
	const calls = 20
	for i := range calls {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"register_actor","arguments":{"actor_id":"worker-1","actor_kind":"ai","display_name":"name %d"}}}`, 100+i, i))
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	answered := 0
	for line := range c.lines {
		answer := parseFrame(t, line)
		if answer.Error != nil {
			t.Fatalf("call %d was not answered: %+v", *answer.ID, answer.Error)
		}
		if out := parseOutcome(t, answer.Result); !out.OK {
			t.Fatalf("call %d: %s", *answer.ID, out.raw)
		}
		answered++
	}
	if answered != calls {
		t.Fatalf("%d of %d calls were answered", answered, calls)
	}
}

func TestTheContextEndsTheServer(t *testing.T) {
	c := connected(t, newFixture(t).agent("worker-1"))
	c.stop()
	if err := c.wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("want the context's cause, have %v", err)
	}
}

func TestAPanicIsAnInternalErrorOfItsCall(t *testing.T) {
	f := newFixture(t)
	s := &server{Options: f.agent("worker-1")}
	logs := &logBuffer{}
	s.Logger = debugLogger(logs)
	who, err := s.identify(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = protect(func() (any, error) { panic("the value 4711") })
	result := s.refusal(context.Background(), "some_tool", who, err)
	text := string(mustJSON(t, result))
	if !result.IsError || !strings.Contains(text, "INTERNAL") || strings.Contains(text, "4711") {
		t.Fatalf("want an internal error without the value, have %s", text)
	}
	if !strings.Contains(logs.String(), "4711") {
		t.Fatal("the log must have the cause")
	}
}

func TestAServerNeedsAPrincipalOrAToken(t *testing.T) {
	f := newFixture(t)
	for name, o := range map[string]Options{
		"no actor":    {Ledger: f.l, Principal: models.Principal{Role: models.RoleAgent}},
		"no role":     {Ledger: f.l, Principal: models.Principal{ActorID: "a"}},
		"a node":      {Ledger: f.l, Principal: models.Principal{ActorID: "a", Role: models.RoleNode}},
		"wrong token": {Ledger: f.l, Token: "0123", Principal: models.Principal{ActorID: "a", Role: models.RoleHuman}},
	} {
		t.Run(name, func(t *testing.T) {
			out := &output{}
			o.In, o.Out = io.NopCloser(strings.NewReader("")), out
			want := models.CodeInvalidArgument
			if o.Token != "" {
				want = models.CodeForbidden // and not the principal's face
			}
			if err := Serve(context.Background(), o); models.CodeOf(err) != want {
				t.Fatalf("want %s, have %v", want, err)
			}
			if out.closed || out.Len() > 0 {
				t.Fatalf("the caller cannot report the refusal: closed %t after %q", out.closed, out.String())
			}
		})
	}
}

type output struct {
	bytes.Buffer
	closed bool
}

func (o *output) Close() error {
	o.closed = true
	return nil
}
