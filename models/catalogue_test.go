package models_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coxswain/models"
)

func TestCatalogueExplainsEveryCode(t *testing.T) {
	declared := declaredCodes(t)
	if len(declared) < 15 {
		t.Fatalf("only %d codes found in errors.go", len(declared))
	}
	listed := []models.Code{}
	for _, f := range models.Catalogue() {
		listed = append(listed, f.Code)
		if f.Meaning == "" || len(f.Causes) == 0 || f.Next == "" || f.Exit == models.ExitDone {
			t.Errorf("%s is not explained: %+v", f.Code, f)
		}
		if f.Code.Exit() != f.Exit {
			t.Errorf("%s has two exit codes, %d and %d", f.Code, f.Code.Exit(), f.Exit)
		}
		if !slices.ContainsFunc(models.Exits(), func(e models.ExitFacts) bool { return e.Exit == f.Exit }) {
			t.Errorf("%s ends with %d, which means nothing", f.Code, f.Exit)
		}
	}
	for _, code := range declared {
		if !slices.Contains(listed, code) {
			t.Errorf("%s is missing in the catalogue", code)
		}
	}
	if !slices.IsSorted(listed) || len(listed) != len(declared) {
		t.Errorf("listed %v, declared %v", listed, declared)
	}
	if got := models.Code("ODD").Exit(); got != models.ExitInternal {
		t.Errorf("an unknown code ends with %d", got)
	}
}

// declaredCodes reads the constants of errors.go.
func declaredCodes(t *testing.T) []models.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []models.Code
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && isCodeType(spec.Type) {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, models.Code(text))
		}
		return true
	})
	return out
}

// An error's code is one of the constants: nothing else in the program converts a
// text to a code, declares another one, or passes a text where a code belongs.
func TestNothingElseMakesACode(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if what := makesCode(n); what != "" && filepath.ToSlash(path) != "../models/errors.go" {
				t.Errorf("%s: %s", set.Position(n.Pos()), what)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("only %d files were read", files)
	}
}

// makesCode says how a node makes a code out of a text, "" when it does not.
func makesCode(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if isCodeType(n.Fun) {
			return "a text is converted to a code"
		}
		if isNamed(n.Fun, "Errorf") && len(n.Args) > 1 && isText(n.Args[0]) && isText(n.Args[1]) {
			return "a text is passed as a code"
		}
	case *ast.ValueSpec:
		if isCodeType(n.Type) && len(n.Values) > 0 {
			return "a code is declared outside errors.go"
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok && isNamed(n.Type, "Error") && isNamed(pair.Key, "Code") && isText(pair.Value) {
				return "a text stands for a code"
			}
		}
	}
	return ""
}

// isCodeType finds the type Code, here or as models.Code.
func isCodeType(e ast.Expr) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		in, ok := s.X.(*ast.Ident)
		return ok && in.Name == "models" && s.Sel.Name == "Code"
	}
	i, ok := e.(*ast.Ident)
	return ok && i.Name == "Code"
}

func isNamed(e ast.Expr, name string) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == name
	case *ast.Ident:
		return e.Name == name
	}
	return false
}

func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}
