package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"coxswain/models"
)

func TestOverlapsExamples(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src", "src", true},
		{"src", "src/main.go", true},
		{"src", "src2", false},
		{"src/a.go", "src/b.go", false},
		{"./src/", "src/x", true},
		{"", "anything", true},
		{".", "anything/below", true},
		{"src/*.go", "src/main.go", true},
		{"src/*.go", "src/sub/main.go", false},
		{"src/*.go", "src/*.md", false},
		{"src/**", "src", true},
		{"src/**", "docs/**", false},
		{"**/*.go", "docs/**", true},
		{"**/*.go", "docs/*.md", false},
		{"**/test/**", "src/**/x.go", true},
		{"a/**/z", "a/z", true},
		{"a/?", "a/bc", false},
		{"a/[a-c]x", "a/[c-e]x", true},
		{"a/[a-c]x", "a/[d-e]x", false},
		{"a/[^b]", "a/b", false},
		{"{src,docs}/a", "docs/a", true},
		{"{src,docs}/a", "lib/a", false},
		{"{src/**,docs/**}", "docs/x/y", true},
		{"{src/**,docs/**}", "lib/**", false},
		{"a*b*c", "ab*bc", true},
		{"*a", "*b", false},
		{`a\*b`, "a*b", true},
		{`a\*b`, "acb", false},
		{"src/*", "src/sub", true},
		{"src/*", "src/sub/deep", false},
		{"**", "x/y", true},
		{"[", "x", true}, // malformed: errs on true
	} {
		if got := models.Overlaps(c.a, c.b); got != c.want {
			t.Errorf("Overlaps(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
		if got := models.Overlaps(c.b, c.a); got != c.want {
			t.Errorf("Overlaps(%q, %q) = %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

func TestPathsMeet(t *testing.T) {
	for _, c := range []struct {
		as, bs []string
		want   bool
	}{
		{nil, []string{"src"}, true},
		{[]string{"src"}, nil, true},
		{[]string{"a", "b"}, []string{"c", "b/x"}, true},
		{[]string{"a", "b"}, []string{"c", "d"}, false},
	} {
		if got := models.PathsMeet(c.as, c.bs); got != c.want {
			t.Errorf("PathsMeet(%v, %v) = %v, want %v", c.as, c.bs, got, c.want)
		}
	}
}

// segments of patterns over a small alphabet, so that they often meet.
func patterns() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "a*", "*b", "[ab]", "[^a]", "[!b-c]", "{a,b}", "{ab,b*}", "{a,}b", "**", "a**", `\a`, "{a,{b,c}}", "{a/b,c}", "{a,**}", "{b/**,a}"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
	})
}

func paths() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "b", "c", "ab", "aab", "ba", "abb", "{", "*"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "segments"), "/")
	})
}

// covers is the meaning of a pattern, by the library that matches paths.
func covers(pattern, path string) bool {
	if !strings.ContainsAny(pattern, `*?[{\`) && strings.HasPrefix(path, pattern+"/") {
		return true
	}
	return doublestar.MatchUnvalidated(pattern, path)
}

// A path that satisfies both patterns means that they overlap.
func TestOverlapsIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, path := patterns().Draw(t, "a"), patterns().Draw(t, "b"), paths().Draw(t, "path")
		if covers(a, path) && covers(b, path) && !models.Overlaps(a, b) {
			t.Fatalf("%q satisfies %q and %q, which are said not to overlap", path, a, b)
		}
	})
}

// Patterns that overlap have a path in common: one is found among all short
// ones. The patterns here are short enough that such a path exists. Left out is
// "*/**" at the end, where the library takes the star for at least one character
// although elsewhere it may be none; there Overlaps errs on true.
func TestOverlapsIsExact(t *testing.T) {
	all := shortPaths()
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "a*", "*b", "[ab]", "[^a]", "{a,b}", "**", "{a,ab}"})
	short := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 1, 2).Draw(t, "parts"), "/") }).
		Filter(func(p string) bool { return !strings.HasSuffix(p, "*/**") })
	rapid.Check(t, func(t *rapid.T) {
		a, b := short.Draw(t, "a"), short.Draw(t, "b")
		common := ""
		for _, p := range all {
			if covers(a, p) && covers(b, p) {
				common = p
				break
			}
		}
		if got := models.Overlaps(a, b); got != (common != "") {
			t.Fatalf("Overlaps(%q, %q) = %v; a common path: %q", a, b, got, common)
		}
	})
}

// shortPaths are all paths of up to four segments of a few names.
func shortPaths() []string {
	names := []string{"a", "b", "ab", "c", "aab"}
	all, level := []string{}, []string{""}
	for range 4 {
		var next []string
		for _, p := range level {
			for _, n := range names {
				next = append(next, strings.TrimPrefix(p+"/"+n, "/"))
			}
		}
		all, level = append(all, next...), next
	}
	return all
}

func TestOverlapsIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := patterns().Draw(t, "a"), patterns().Draw(t, "b")
		if models.Overlaps(a, b) != models.Overlaps(b, a) {
			t.Fatalf("Overlaps(%q, %q) depends on the order", a, b)
		}
		if !models.Overlaps(a, a) {
			t.Fatalf("%q does not overlap itself", a)
		}
	})
}

// Hostile patterns must not take exponential time: the deadline is far above
// what the polynomial walk needs, and far below what backtracking would.
func TestOverlapsStaysPolynomial(t *testing.T) {
	done := make(chan bool, 1)
	go func() {
		a := strings.Repeat("*a", 60) + "x"
		b := strings.Repeat("a*", 60) + "y"
		c := strings.Repeat("**/a*/", 20) + "x"
		d := strings.Repeat("{a,b}", 100)
		e := strings.Repeat("{a,**/}", 30)
		done <- models.Overlaps(a, b) || models.Overlaps(c, strings.Repeat("**/*b/", 20)+"y") ||
			models.Overlaps(d, strings.Repeat("{a,b}", 99)) || !models.Overlaps(e, e)
	}()
	select {
	case wrong := <-done:
		if wrong {
			t.Error("a hostile pair was judged wrongly")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the walk did not end")
	}
}

func BenchmarkPathsMeet(b *testing.B) {
	var as, bs []string
	for i := range 50 {
		as = append(as, "src/"+strings.Repeat("x", i+1)+"/**/*.go")
		bs = append(bs, "src/"+strings.Repeat("y", i+1)+"/**/*.go")
	}
	for b.Loop() {
		if models.PathsMeet(as, bs) {
			b.Fatal("they do not meet")
		}
	}
}

func BenchmarkOverlapsPatterns(b *testing.B) {
	for b.Loop() {
		if models.Overlaps("**/src/**/*.go", "**/docs/**/*_test.md") {
			b.Fatal("they do not overlap")
		}
	}
}
