package failpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coxswain/models/ledger/failpoint"
)

func TestEveryPointIsPlacedAndEveryPlacedOneIsInTheTable(t *testing.T) {
	names := constants(t)
	placed := placedPoints(t, names)
	var table []failpoint.Point
	for _, p := range failpoint.Table() {
		table = append(table, p.Point)
		if !slices.Contains(placed, p.Point) {
			t.Errorf("%s is in the table and nowhere in the code", p.Point)
		}
	}
	for _, p := range placed {
		if !slices.Contains(table, p) {
			t.Errorf("%s is in the code and not in the table", p)
		}
	}
	slices.Sort(table)
	if len(slices.Compact(slices.Clone(table))) != len(table) {
		t.Errorf("a point is twice in the table: %v", table)
	}
	if len(names) != len(table) {
		t.Errorf("%d names of points, and %d rows", len(names), len(table))
	}
}

func TestEveryArrowHasItsPoints(t *testing.T) {
	for _, arrow := range failpoint.Arrows() {
		n := 0
		for _, p := range failpoint.Table() {
			if p.Arrow == arrow {
				n++
			}
		}
		if n < 2 {
			t.Errorf("arrow %s has %d points, want one before and one after its effect", arrow, n)
		}
	}
}

// constants are the names of the points and what they stand for.
func constants(t *testing.T) map[string]failpoint.Point {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "points.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]failpoint.Point{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Point" {
			out[spec.Names[0].Name] = failpoint.Point(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	return out
}

// placedPoints reads the source of the whole module.
func placedPoints(t *testing.T, names map[string]failpoint.Point) []failpoint.Point {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var out []failpoint.Point
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return errOr(err, d)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name := hit(n); name != "" {
				p, known := names[name]
				if !known {
					t.Errorf("%s hits %s, which is no point", path, name)
				}
				out = append(out, p)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func errOr(err error, d fs.DirEntry) error {
	if err == nil && d.IsDir() {
		return fs.SkipDir
	}
	return err
}

// hit is the name in failpoint.Hit(failpoint.Name), "" for everything else. A point
// that is computed would escape the table, so there is no other form.
func hit(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || selected(call.Fun) != "Hit" {
		return ""
	}
	if name := selected(call.Args[0]); name != "" {
		return name
	}
	return "a computed point"
}

func selected(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if pkg, ok := s.X.(*ast.Ident); !ok || pkg.Name != "failpoint" {
		return ""
	}
	return s.Sel.Name
}
