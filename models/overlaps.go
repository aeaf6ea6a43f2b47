package models

import "strings"

// PathsMeet tells whether one path could satisfy both lists of patterns. An empty
// list is the whole workspace.
func PathsMeet(as, bs []string) bool {
	if len(as) == 0 || len(bs) == 0 {
		return true
	}
	for _, a := range as {
		for _, b := range bs {
			if Overlaps(a, b) {
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
	a, b = cleanPattern(a), cleanPattern(b)
	if a == "" || b == "" {
		return true
	}
	pa, pb := literalPrefix(a), literalPrefix(b)
	plainA, plainB := len(pa) == len(a), len(pb) == len(b)
	if plainA && plainB {
		return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
	}
	n := min(len(pa), len(pb))
	if pa[:n] != pb[:n] {
		return false
	}
	return newAutomaton(a).meets(newAutomaton(b))
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

// meets walks both automata in step over well-formed paths (no empty segment)
// and tells whether some path is accepted by both. It visits every pair of
// states at most twice.
func (x *automaton) meets(y *automaton) bool {
	type point struct {
		a, b    int
		segment bool // inside a segment, where "/" and the end are allowed
	}
	seen, todo := map[point]bool{}, []point{}
	visit := func(p point) {
		if !seen[p] {
			seen[p] = true
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
