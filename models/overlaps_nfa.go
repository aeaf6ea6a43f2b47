package models

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxAlternatives bounds the expansion of braces around "**".
const maxAlternatives = 256

// charset is what one step of an automaton reads: one rune of the ranges, or a
// slash. Ranges are sorted, do not touch and hold no slash.
type charset struct {
	ranges []runeRange
	slash  bool
}

type runeRange struct{ lo, hi rune }

var (
	inSegment = &charset{ranges: []runeRange{{0, '/' - 1}, {'/' + 1, utf8.MaxRune}}}
	anything  = &charset{ranges: inSegment.ranges, slash: true}
)

// shares tells whether two sets have a rune besides the slash in common.
func (c *charset) shares(d *charset) bool {
	for i, j := 0, 0; i < len(c.ranges) && j < len(d.ranges); {
		a, b := c.ranges[i], d.ranges[j]
		if a.lo <= b.hi && b.lo <= a.hi {
			return true
		}
		if a.hi < b.hi {
			i++
		} else {
			j++
		}
	}
	return false
}

// state is one state: free steps read nothing, the other one reads a rune.
type state struct {
	free []int
	on   *charset
	to   int
}

// automaton accepts the paths that a pattern names (Thompson's construction).
type automaton struct {
	states     []state
	start, end int
}

// newAutomaton builds the automaton of a cleaned pattern.
func newAutomaton(pattern string) *automaton {
	x := &automaton{}
	x.start, x.end = x.state(), x.state()
	for _, p := range expansions(pattern) {
		at := x.state()
		x.free(x.start, at)
		b := builder{automaton: x, text: p}
		last, ok := b.sequence(at, 0)
		if !ok || b.pos < len(p) {
			x.spanAny(x.start, x.end) // malformed: err on meeting
			continue
		}
		x.free(last, x.end)
		if literalPrefix(p) == p && p == pattern {
			x.spanAny(x.read(last, &charset{slash: true}), x.end)
		}
	}
	return x
}

func (x *automaton) state() int {
	x.states = append(x.states, state{})
	return len(x.states) - 1
}

func (x *automaton) free(from, to int) { x.states[from].free = append(x.states[from].free, to) }

// read adds a step that reads one rune of a set and returns where it leads.
func (x *automaton) read(from int, set *charset) int {
	hold, to := x.state(), x.state()
	x.free(from, hold)
	x.states[hold].on, x.states[hold].to = set, to
	return to
}

// loop adds any number of steps that read one rune of a set.
func (x *automaton) loop(from int, set *charset) int {
	again, out := x.state(), x.state()
	x.free(from, again)
	x.free(x.read(again, set), again)
	x.free(again, out)
	return out
}

func (x *automaton) spanAny(from, to int) { x.free(x.loop(from, anything), to) }

// expansions are the patterns without braces that a pattern stands for, where
// "**" touches a brace; every other pattern is kept as it is, since alternatives
// are then simply branches. Too many become one that names everything below the
// literal prefix.
func expansions(pattern string) []string {
	touches := false
	for _, s := range []string{"**}", "**,", "{**", ",**", "**{", "}**", "/}", "/,", "{/", ",/"} {
		touches = touches || strings.Contains(pattern, s)
	}
	if !touches || !strings.Contains(pattern, "{") || !strings.Contains(pattern, "**") {
		return []string{pattern}
	}
	out, ok := expand(pattern)
	if !ok {
		return []string{strings.TrimRight(literalPrefix(pattern), "/") + "*/**"}
	}
	return out
}

// expand replaces the first group of braces by each alternative, and so on; ok is
// false beyond maxAlternatives.
func expand(pattern string) (out []string, ok bool) {
	todo := []string{pattern}
	for len(todo) > 0 {
		if len(out)+len(todo) > maxAlternatives {
			return nil, false
		}
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		open, end, commas := braceGroup(p)
		if end < 0 {
			out = append(out, p)
			continue
		}
		from := open + 1
		for _, c := range append(commas, end) {
			todo = append(todo, p[:open]+p[from:c]+p[end+1:])
			from = c + 1
		}
	}
	return out, true
}

// braceGroup finds the first group of braces and the commas of its own level; end
// is -1 when there is none.
func braceGroup(p string) (open, end int, commas []int) {
	depth, open := 0, -1
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			i = skipClass(p, i)
		case '{':
			if depth++; depth == 1 && open < 0 {
				open = i
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth--; depth == 0 {
				return open, i, commas
			}
		}
	}
	return open, -1, nil
}

// skipClass returns the index of the bracket that closes a class, or of the last
// byte.
func skipClass(p string, i int) int {
	for i++; i < len(p) && p[i] != ']'; i++ {
		if p[i] == '\\' {
			i++
		}
	}
	return i
}

// builder reads one pattern into an automaton.
type builder struct {
	*automaton
	text string
	pos  int
}

// sequence reads up to the end of the text or, inside braces, up to the comma or
// brace that ends the alternative. It returns the last state; ok is false for a
// malformed pattern.
func (b *builder) sequence(at, depth int) (last int, ok bool) {
	for ok = true; ok && b.pos < len(b.text); {
		switch c := b.text[b.pos]; {
		case depth > 0 && (c == ',' || c == '}'):
			return at, true
		case c == '*':
			at = b.star(at)
		case c == '?':
			b.pos++
			at = b.read(at, inSegment)
		case c == '[':
			at, ok = b.class(at)
		case c == '{':
			at, ok = b.group(at, depth)
		case c == '/' && b.tail(b.pos+1):
			at, b.pos = b.below(at), len(b.text)
		default:
			at, ok = b.literal(at)
		}
	}
	return at, ok && depth == 0
}

// tail tells whether the text from a position is a final "**".
func (b *builder) tail(pos int) bool { return b.text[pos:] == "**" }

// below is what a final "/**" names: the directory itself and all below it.
func (b *builder) below(at int) int {
	out := b.state()
	b.free(at, out)
	b.spanAny(b.read(at, &charset{slash: true}), out)
	return out
}

// star reads one or more asterisks. Two of them that fill a segment span
// segments, together with the slash that follows.
func (b *builder) star(at int) int {
	from := b.pos
	for b.pos < len(b.text) && b.text[b.pos] == '*' {
		b.pos++
	}
	starts := from == 0 || b.text[from-1] == '/'
	switch {
	case starts && b.pos-from == 2 && b.pos == len(b.text):
		return b.loop(at, anything)
	case starts && b.pos-from == 2 && b.text[b.pos] == '/':
		b.pos++
		out := b.state()
		b.free(at, out)
		b.free(b.read(b.loop(at, anything), &charset{slash: true}), out)
		return out
	}
	return b.loop(at, inSegment)
}

// group reads "{a,b}".
func (b *builder) group(at, depth int) (int, bool) {
	out := b.state()
	for b.text[b.pos] != '}' {
		b.pos++ // the brace or the comma
		branch := b.state()
		b.free(at, branch)
		last, ok := b.sequence(branch, depth+1)
		if !ok {
			return out, false
		}
		b.free(last, out)
	}
	b.pos++
	return out, true
}

// literal reads one rune, escaped or not.
func (b *builder) literal(at int) (int, bool) {
	if b.text[b.pos] == '\\' {
		if b.pos++; b.pos == len(b.text) {
			return at, false
		}
	}
	r, size := utf8.DecodeRuneInString(b.text[b.pos:])
	b.pos += size
	if r == '/' {
		return b.read(at, &charset{slash: true}), true
	}
	return b.read(at, &charset{ranges: []runeRange{{r, r}}}), true
}

// class reads "[a-z]" or "[^a-z]".
func (b *builder) class(at int) (int, bool) {
	b.pos++
	negated := b.pos < len(b.text) && (b.text[b.pos] == '^' || b.text[b.pos] == '!')
	if negated {
		b.pos++
	}
	var ranges []runeRange
	for {
		lo, ok := b.classRune()
		if !ok {
			return at, false
		}
		hi := lo
		if b.pos < len(b.text) && b.text[b.pos] == '-' {
			b.pos++
			if hi, ok = b.classRune(); !ok {
				return at, false
			}
		}
		ranges = append(ranges, runeRange{lo, hi})
		if b.pos < len(b.text) && b.text[b.pos] == ']' {
			b.pos++
			return b.read(at, &charset{ranges: normalRanges(ranges, negated)}), true
		}
	}
}

// classRune reads one rune of a class; ok is false at the end of the text.
func (b *builder) classRune() (rune, bool) {
	if b.pos < len(b.text) && b.text[b.pos] == '\\' {
		b.pos++
	}
	if b.pos >= len(b.text) {
		return 0, false
	}
	r, size := utf8.DecodeRuneInString(b.text[b.pos:])
	b.pos += size
	return r, true
}

// normalRanges sorts ranges, or their complement, and takes the slash out.
func normalRanges(in []runeRange, negated bool) []runeRange {
	slices.SortFunc(in, func(a, b runeRange) int { return int(a.lo - b.lo) })
	var sorted []runeRange
	next := rune(0)
	for _, r := range in {
		lo := max(r.lo, next)
		if r.hi < lo {
			continue
		}
		if negated && lo > next {
			sorted = append(sorted, runeRange{next, lo - 1})
		}
		if !negated {
			sorted = append(sorted, runeRange{lo, r.hi})
		}
		next = r.hi + 1
	}
	if negated && next <= utf8.MaxRune {
		sorted = append(sorted, runeRange{next, utf8.MaxRune})
	}
	return withoutSlash(sorted)
}

func withoutSlash(in []runeRange) []runeRange {
	var out []runeRange
	for _, r := range in {
		if r.lo <= '/' && '/' <= r.hi {
			out = appendRange(out, r.lo, '/'-1)
			out = appendRange(out, '/'+1, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

func appendRange(out []runeRange, lo, hi rune) []runeRange {
	if lo <= hi {
		out = append(out, runeRange{lo, hi})
	}
	return out
}
