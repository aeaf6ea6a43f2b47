package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coxswain/models"
)

// failure is the document of a refused call.
type failure struct {
	OK    bool    `json:"ok"`
	Error problem `json:"error"`
}

type problem struct {
	Code    models.Code    `json:"code"`
	Message string         `json:"message"`
	Next    string         `json:"next,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// success answers with the fields of out and "ok":true, and "replayed":true when
// an earlier call with the same request id had this answer.
func (s *server) success(ctx context.Context, name string, c *caller, out any) *mcp.CallToolResult {
	document, err := document(c, out)
	if err != nil {
		return s.refusal(ctx, name, c, fmt.Errorf("encode the answer: %w", err))
	}
	s.Logger.DebugContext(ctx, "tool answered", "tool", name, "caller", c)
	return result(document, false)
}

func document(c *caller, out any) ([]byte, error) {
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	fields["ok"] = json.RawMessage("true")
	if c.made != nil && c.made.Replayed {
		fields["replayed"] = json.RawMessage("true")
	}
	return json.Marshal(fields)
}

// refusal answers with the error. The text of an error without a code goes to
// the log alone, since nobody vouches for what it holds.
func (s *server) refusal(ctx context.Context, name string, c *caller, err error) *mcp.CallToolResult {
	p := describe(ctx, err)
	s.logRefusal(ctx, name, c, p.Code, err)
	document, err := json.Marshal(failure{Error: p})
	if err != nil { // a detail that JSON cannot hold
		p.Details = nil
		document, _ = json.Marshal(failure{Error: p}) // strings only: cannot fail
	}
	return result(document, true)
}

// logRefusal logs what was refused, and the cause where there is one: a message
// may quote arguments, a cause comes from below them.
func (s *server) logRefusal(ctx context.Context, name string, c *caller, code models.Code, err error) {
	level, cause := slog.LevelDebug, err
	if code == models.CodeInternal {
		level = slog.LevelError
	}
	if known, ok := errors.AsType[*models.Error](err); ok {
		cause = known.Cause
	}
	attrs := []any{"tool", name, "code", code}
	if c != nil {
		attrs = append(attrs, "caller", c)
	}
	if cause != nil {
		attrs = append(attrs, "cause", cause)
	}
	s.Logger.Log(ctx, level, "tool refused", attrs...)
}

func describe(ctx context.Context, err error) problem {
	var known *models.Error
	switch {
	case errors.As(err, &known):
		return problem{Code: known.Code, Message: known.Message, Next: nextStep(known), Details: known.Details}
	case ctx.Err() != nil:
		return problem{Code: models.CodeInterrupted, Message: "the call was cancelled", Next: "read the state again before you repeat it"}
	}
	return problem{Code: models.CodeInternal, Message: "the call failed for a reason that is in the server's log", Next: "ask a person to look"}
}

func result(document []byte, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(document)}}, StructuredContent: json.RawMessage(document), IsError: isError,
	}
}
