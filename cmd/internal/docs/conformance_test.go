package docs_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"coxswain/cmd/internal/docs"
)

var root = filepath.Join("..", "..", "..")

// reference is a named test: package, function, and case if any.
var reference = regexp.MustCompile(`^([a-z][a-z0-9/-]*)\.(Test\w+)(?:/(.+))?$`)

// TestConformanceNamesTestsThatExist reads every reference of docs/conformance.md.
func TestConformanceNamesTestsThatExist(t *testing.T) {
	_, spans, err := docs.Read(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	packages, seen := map[string]*tests{}, 0
	for _, s := range spans {
		match := reference.FindStringSubmatch(s.Text)
		if match == nil || match[1] == "package" {
			continue
		}
		seen++
		dir, name, part := match[1], match[2], match[3]
		if packages[dir] == nil {
			packages[dir] = testsIn(t, dir)
		}
		if !packages[dir].functions[name] {
			t.Errorf("line %d: there is no %s in %s", s.Line, name, dir)
		}
		if part != "" && !packages[dir].has(name, part) {
			t.Errorf("line %d: %s has no case %q", s.Line, name, part)
		}
	}
	if seen < 100 {
		t.Fatalf("only %d references were found", seen)
	}
}

// TestConformanceLeavesNoRowOpen looks for rows that name neither a test nor a reason.
func TestConformanceLeavesNoRowOpen(t *testing.T) {
	f, err := os.Open(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		row := lines.Text()
		if !strings.HasPrefix(row, "| ") || strings.HasSuffix(row, "| proved by |") {
			continue
		}
		rows++
		if !strings.Contains(row, ".Test") && !strings.Contains(row, "*not here*") && !strings.Contains(row, "*later*") {
			t.Errorf("nothing proves %s", row)
		}
	}
	if rows < 80 {
		t.Fatalf("only %d rows were found", rows)
	}
}

// tests are the test functions of a package and the texts in them and in the suite
// that they share with others, of which cases are named.
type tests struct {
	functions map[string]bool
	texts     map[string]bool
}

// shared are the folders of suites that more than one package runs.
var shared = []string{"models/ledger/ledgertest", "activities/codex/codextest"}

func testsIn(t *testing.T, dir string) *tests {
	t.Helper()
	out := &tests{functions: map[string]bool{}, texts: map[string]bool{}}
	for i, d := range append([]string{dir}, shared...) {
		pattern := "*_test.go"
		if i > 0 {
			pattern = "*.go"
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(d), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			out.read(t, file)
		}
	}
	return out
}

func (x *tests) read(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			x.functions[n.Name.Name] = x.functions[n.Name.Name] || n.Recv == nil
		case *ast.BasicLit:
			x.texts[strings.Trim(n.Value, "\"`")] = true
		}
		return true
	})
}

// has tells whether a case is there: a script by its file, others by their name.
func (x *tests) has(name, part string) bool {
	if name == "TestScripts" {
		_, err := os.Stat(filepath.Join(root, "testdata", "scripts", part+".txtar"))
		return err == nil
	}
	return x.texts[part]
}
