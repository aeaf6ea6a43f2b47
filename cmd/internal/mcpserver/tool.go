package mcpserver

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coxswain/models"
)

// definition is what a client is told about a tool.
type definition struct {
	name, title, text string
	effect            effect
	// unbound names arguments that an unbound caller must give and a bound one
	// may leave out.
	unbound []string
	choices map[string][]string // the allowed values of an argument
}

// effect is what repeating or trying a tool does.
type effect int

const (
	reads      effect = iota // changes nothing
	adds                     // writes one more record at each call
	repeats                  // the same call again changes nothing more
	overwrites               // ends or undoes something
)

func (e effect) annotations(title string) *mcp.ToolAnnotations {
	destructive, openWorld := e == overwrites, false
	return &mcp.ToolAnnotations{
		Title: title, ReadOnlyHint: e == reads, IdempotentHint: e == reads || e == repeats,
		DestructiveHint: &destructive, OpenWorldHint: &openWorld,
	}
}

// identity is who the caller says it is, as the tools of seed 000 take it.
type identity struct {
	ActorID   string `json:"actor_id,omitempty" jsonschema:"You, may be left out. Another actor is refused."`
	ActorRole string `json:"actor_role,omitempty" jsonschema:"Your role, may be left out. Another role is refused."`
}

func (i identity) declares() identity { return i }

// change is what every mutating tool takes besides its own arguments.
type change struct {
	identity
	RequestID string `json:"request_id,omitempty" jsonschema:"Your own id of this call: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit. The same call with the same id again returns the first answer and changes nothing."`
}

// entry is a tool that can be added to a server.
type entry struct {
	name string
	add  func(s *server, m *mcp.Server, bound bool)
}

// tool makes a tool of a typed function: strict arguments in, one answer out.
func tool[In, Out any](d definition, fn func(context.Context, *caller, In) (Out, error)) entry {
	return entry{name: d.name, add: func(s *server, m *mcp.Server, bound bool) {
		schema := d.schema(jsonSchema[In](), bound)
		handler := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.run(ctx, d.name, req, func(c *caller) (any, error) {
				in, err := decode[In](schema, req.Params.Arguments)
				if err != nil {
					return nil, err
				}
				if id, ok := any(in).(interface{ declares() identity }); ok {
					if err := c.declared(id.declares()); err != nil {
						return nil, err
					}
				}
				return fn(ctx, c, in)
			})
		}
		m.AddTool(&mcp.Tool{Name: d.name, Description: d.text, InputSchema: schema, Annotations: d.effect.annotations(d.title)}, handler)
	}}
}

// run proves the caller, then runs the body, and turns every outcome into a
// result of the tool.
func (s *server) run(ctx context.Context, name string, req *mcp.CallToolRequest, body func(*caller) (any, error)) (*mcp.CallToolResult, error) {
	c, err := s.identify(ctx, req.Params.Meta)
	if err != nil {
		return s.refusal(ctx, name, nil, err), nil
	}
	out, err := protect(func() (any, error) { return body(c) })
	if err != nil {
		return s.refusal(ctx, name, c, err), nil
	}
	return s.success(ctx, name, c, out), nil
}

// protect turns a panic into an error, so that one tool's defect does not end
// the session of a thread that needs the others.
func protect(body func() (any, error)) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return body()
}

// jsonSchema is the schema of a type of arguments; a type without one is a
// defect of this package that every start would meet.
func jsonSchema[In any]() *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err)
	}
	return schema
}

func (d definition) schema(s *jsonschema.Schema, bound bool) *jsonschema.Schema {
	if !bound {
		s.Required = append(s.Required, d.unbound...)
	}
	for field, values := range d.choices {
		for _, v := range values {
			s.Properties[field].Enum = append(s.Properties[field].Enum, v)
		}
	}
	return s
}

// chosen refuses a value outside the definition's choices.
func (d definition) chosen(field, value string) error {
	if slices.Contains(d.choices[field], value) {
		return nil
	}
	return models.Invalid(field, "%q must be one of %q", value, d.choices[field])
}
