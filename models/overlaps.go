package models

import "strings"

// PathsMeet tells whether one path could satisfy both lists of patterns. An empty
// list is the whole workspace.
func PathsMeet(as, bs []string) bool {
	if len(as) == 0 || len(bs) == 0 {
		return true
	}
	others := make([]pathPattern, len(bs))
	for i, b := range bs {
		others[i] = newPathPattern(b)
	}
	for _, a := range as {
		one := newPathPattern(a)
		for i := range others {
			if one.overlaps(&others[i]) {
				return true
			}
		}
	}
	return false
}

// Overlaps tells whether one workspace-relative path could satisfy both patterns.
// A pattern has the syntax of doublestar: "*" and "?" stay within a segment, "**"
// as a whole segment spans any number of them, "[a-z]" and "[^a-z]" are one
// character, "{a,b}" are alternatives, "\" escapes. A pattern without any of
// these is a path and covers everything below it; "" and "." are the whole
// workspace. The answer is exact but for malformed patterns and those of more
// than maxAlternatives expansions, where it errs on true.
func Overlaps(a, b string) bool {
	x, y := newPathPattern(a), newPathPattern(b)
	return x.overlaps(&y)
}

// pathPattern is a cleaned pattern with its automaton, which is built when a pair
// cannot be told apart by its literal beginning or end.
type pathPattern struct {
	text, prefix, suffix string
	automaton            *automaton
}

func newPathPattern(p string) pathPattern {
	p = cleanPattern(p)
	return pathPattern{text: p, prefix: literalPrefix(p), suffix: literalSuffix(p)}
}

func (p *pathPattern) plain() bool { return len(p.prefix) == len(p.text) }

func (p *pathPattern) overlaps(q *pathPattern) bool {
	if p.text == "" || q.text == "" {
		return true
	}
	if p.plain() && q.plain() {
		return p.text == q.text || strings.HasPrefix(p.text, q.text+"/") || strings.HasPrefix(q.text, p.text+"/")
	}
	if n := min(len(p.prefix), len(q.prefix)); p.prefix[:n] != q.prefix[:n] {
		return false
	}
	if n := min(len(p.suffix), len(q.suffix)); !p.plain() && !q.plain() && p.suffix[len(p.suffix)-n:] != q.suffix[len(q.suffix)-n:] {
		return false
	}
	return p.build().meets(q.build())
}

func (p *pathPattern) build() *automaton {
	if p.automaton == nil {
		p.automaton = newAutomaton(p.text)
	}
	return p.automaton
}

// cleanPattern strips what does not change the paths that a pattern names.
func cleanPattern(p string) string {
	for strings.HasPrefix(p, "./") {
		p = strings.TrimLeft(p[2:], "/")
	}
	if !strings.HasSuffix(p, `\/`) {
		p = strings.TrimRight(p, "/")
	}
	if p == "." {
		return ""
	}
	return p
}

// literalPrefix is the part of a pattern before its first special character.
func literalPrefix(p string) string {
	if i := strings.IndexAny(p, `*?[{\`); i >= 0 {
		return p[:i]
	}
	return p
}

// literalSuffix is the part of a pattern within its last segment and after its
// last special character; "" where an escape makes that unclear.
func literalSuffix(p string) string {
	if strings.ContainsRune(p, '\\') {
		return ""
	}
	return p[strings.LastIndexAny(p, "*?]}/")+1:]
}

// meets walks both automata in step over well-formed paths (no empty segment)
// and tells whether some path is accepted by both. It visits every pair of
// states at most twice.
func (x *automaton) meets(y *automaton) bool {
	type point struct {
		a, b    int
		segment bool // inside a segment, where "/" and the end are allowed
	}
	seen, todo := make([]bool, 2*len(x.states)*len(y.states)), []point{}
	visit := func(p point) {
		at := 2 * (p.a*len(y.states) + p.b)
		if p.segment {
			at++
		}
		if !seen[at] {
			seen[at] = true
			todo = append(todo, p)
		}
	}
	visit(point{a: x.start, b: y.start})
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p.segment && p.a == x.end && p.b == y.end {
			return true
		}
		sa, sb := &x.states[p.a], &y.states[p.b]
		for _, to := range sa.free {
			visit(point{to, p.b, p.segment})
		}
		for _, to := range sb.free {
			visit(point{p.a, to, p.segment})
		}
		if sa.on == nil || sb.on == nil {
			continue
		}
		if p.segment && sa.on.slash && sb.on.slash {
			visit(point{a: sa.to, b: sb.to})
		}
		if sa.on.shares(sb.on) {
			visit(point{sa.to, sb.to, true})
		}
	}
	return false
}
