package planfile

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"coxswain/models"
)

// document is one decoded YAML document: plain values, and the line of each by its
// path, such as assignments[2].title.
type document struct {
	value any
	rows  map[string]int
}

// decode reads all documents of a text that begins after so many lines of its file.
// Empty documents are left out.
func decode(raw []byte, before int) ([]document, *Problem) {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil, syntaxProblem(err, before)
	}
	var out []document
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		doc := document{rows: map[string]int{}}
		if err := yaml.NodeToValue(d.Body, &doc.value); err != nil {
			return nil, syntaxProblem(err, before)
		}
		locate(doc.rows, "", d.Body, before)
		out = append(out, doc)
	}
	return out, nil
}

func syntaxProblem(err error, before int) *Problem {
	p := Problem{Code: models.CodeInvalidArgument, Message: "this is not YAML: " + err.Error()}
	if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
		p.Line, p.Message = at.GetToken().Position.Line+before, "this is not YAML: "+at.GetMessage()
	}
	return &p
}

// locate notes the line of a value and of everything in it.
func locate(rows map[string]int, path string, n ast.Node, before int) {
	if _, known := rows[path]; !known && n.GetToken() != nil {
		rows[path] = n.GetToken().Position.Line + before
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		locate(rows, path, n.Value, before)
	case *ast.TagNode:
		locate(rows, path, n.Value, before)
	case *ast.MappingNode:
		for _, pair := range n.Values {
			locatePair(rows, path, pair, before)
		}
	case *ast.MappingValueNode:
		locatePair(rows, path, n, before)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			locate(rows, fmt.Sprintf("%s[%d]", path, i), v, before)
		}
	}
}

func locatePair(rows map[string]int, path string, pair *ast.MappingValueNode, before int) {
	at := join(path, pair.Key.GetToken().Value)
	rows[at] = pair.Key.GetToken().Position.Line + before
	locate(rows, at, pair.Value, before)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
