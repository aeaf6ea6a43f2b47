package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"coxswain/models"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	protocolVersion = "2025-06-18"     // the one that Codex speaks
	serverStart     = 20 * time.Second // for the server to start and list its tools
	serverEnd       = 2 * time.Second  // for the server to end by itself
)

// toolbox is the session with the coordination server; without a server it is
// empty.
type toolbox struct {
	session *mcp.ClientSession
	server  string
	names   map[string]bool
}

// connect starts the server as Codex does: its command in the thread's folder,
// with PATH, HOME and the variables of its configuration.
func connect(ctx context.Context, req Request, errw io.Writer) (*toolbox, error) {
	box := &toolbox{server: req.MCP.Name, names: map[string]bool{}}
	if req.MCP.Command == "" {
		return box, nil
	}
	ctx, cancel := context.WithTimeout(ctx, serverStart)
	defer cancel()
	cmd := exec.Command(req.MCP.Command, req.MCP.Args...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = req.CWD, minimalEnv(req.MCP.Env), errw, sameGroup()
	client := mcp.NewClient(&mcp.Implementation{Name: "cox-fake-agent", Version: Version}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: serverEnd},
		&mcp.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if err != nil {
		return nil, fmt.Errorf("the server %s did not start: %w", box.server, err)
	}
	box.session = session
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the server %s lists no tools: %w", box.server, err), session.Close())
		}
		box.names[tool.Name] = true
	}
	return box, nil
}

func (b *toolbox) has(tool string) bool { return b.names[tool] }

func (b *toolbox) close() error {
	if b.session == nil {
		return nil
	}
	return b.session.Close()
}

// toolError is a refused call.
type toolError struct {
	tool    string
	code    models.Code
	message string
}

func (e *toolError) Error() string { return fmt.Sprintf("%s: %s: %s", e.tool, e.code, e.message) }

func isRefusal(err error) bool {
	var refusal *toolError
	return errors.As(err, &refusal)
}

// call calls a tool, with the ids that Codex sends along, and reports the item.
// Every refusal, and a server that has gone, is a *toolError.
func (a *agent) call(ctx context.Context, name string, args map[string]any) (json.RawMessage, error) {
	out, err := a.tools.call(ctx, name, args, mcp.Meta{
		"threadId": a.req.ThreadID, "callId": newID(),
		"x-codex-turn-metadata": map[string]any{"turn_id": a.req.TurnID},
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if reported := a.item(itemTool, a.tools.server+"."+name, err == nil); reported != nil {
		return nil, reported
	}
	return out, err
}

func (b *toolbox) call(ctx context.Context, name string, args map[string]any, meta mcp.Meta) (json.RawMessage, error) {
	if b.session == nil {
		return nil, &toolError{tool: name, code: models.CodeNotFound, message: "the thread has no server"}
	}
	result, err := b.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta})
	if err != nil {
		return nil, &toolError{tool: name, code: models.CodeInternal, message: err.Error()}
	}
	document, err := structured(result)
	if err != nil {
		return nil, &toolError{tool: name, code: models.CodeInternal, message: err.Error()}
	}
	if result.IsError {
		return nil, refusalOf(name, document)
	}
	return document, nil
}

// structured is the result's document, taken from its text where the server
// sends no structured content.
func structured(result *mcp.CallToolResult) (json.RawMessage, error) {
	if result.StructuredContent != nil {
		return json.Marshal(result.StructuredContent)
	}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			return json.RawMessage(text.Text), nil
		}
	}
	return nil, errors.New("the answer is empty")
}

func refusalOf(tool string, document json.RawMessage) error {
	var answer struct {
		Error struct {
			Code    models.Code `json:"code"`
			Message string      `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(document, &answer); err != nil || answer.Error.Code == "" {
		return &toolError{tool: tool, code: models.CodeInternal, message: cut(string(document), historyText)}
	}
	return &toolError{tool: tool, code: answer.Error.Code, message: answer.Error.Message}
}

// use is a response of the imagined model that calls a tool; the answer goes
// into out, nil for one that does not matter.
func (a *agent) use(ctx context.Context, name string, args map[string]any, out any) error {
	if err := a.next(ctx); err != nil {
		return err
	}
	document, err := a.call(ctx, name, args)
	if reported := a.responded(); reported != nil {
		return reported
	}
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(document, out); err != nil {
		return &toolError{tool: name, code: models.CodeInternal, message: "the answer cannot be read: " + err.Error()}
	}
	return nil
}
