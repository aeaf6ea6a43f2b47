package ledger

import (
	"strings"
	"sync"
)

// keywordSet finds many keywords in one pass over a text: their first two bytes
// select the few that can begin at a place.
type keywordSet struct {
	pairs [1 << 16 / 64]uint64
	by    map[uint16][]string
}

// keywordHits are the keywords that occur in a text.
type keywordHits map[string]bool

// any tells whether one of the words was found.
func (h keywordHits) any(words []string) bool {
	for _, w := range words {
		if h[w] {
			return true
		}
	}
	return false
}

// keywords is the set of the keywords of all rules, own and the library's.
var keywords = sync.OnceValue(func() *keywordSet { return newKeywordSet(allKeywords()) })

func allKeywords() []string {
	out := append(genericKeywords(), gitleaksKeywords()...)
	for _, r := range ownRules {
		out = append(out, r.keywords...)
	}
	return out
}

// newKeywordSet takes lower-case words of at least two bytes.
func newKeywordSet(words []string) *keywordSet {
	s, seen := &keywordSet{by: map[uint16][]string{}}, map[string]bool{}
	for _, w := range words {
		if seen[w] {
			continue
		}
		seen[w] = true
		pair := uint16(w[0])<<8 | uint16(w[1])
		s.pairs[pair/64] |= 1 << (pair % 64)
		s.by[pair] = append(s.by[pair], w)
	}
	return s
}

// shape is what a very short keyword must be followed by at least, so that "sk"
// in "task" is none: so many characters, alphanumeric or of the extra ones.
type shape struct {
	extra string
	least int
}

// shapes are the least that the library's rules demand after their keywords of
// up to four bytes that are common in prose and names.
var shapes = map[string]shape{
	"ey": {"", 17}, "sk": {"", 32}, "s.": {"", 24}, "q~": {"_~.-", 31}, "a3-": {"-", 33}, "a3t": {"", 17}, "fm1": {"_+/", 100},
	"hf_": {"", 34}, "sc_": {"._/+=-", 50}, "sg.": {"=_.-", 66}, "api-": {"", 26}, "pat.": {"_-", 22}, "sat.": {"_-", 22},
}

// followed tells whether the text behind a keyword has the shape it needs.
func followed(keyword, rest string) bool {
	s, short := shapes[keyword]
	if !short {
		return true
	}
	if len(rest) < s.least {
		return false
	}
	for i := range s.least {
		c := rest[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && strings.IndexByte(s.extra, c) < 0 {
			return false
		}
	}
	return true
}

// in returns the keywords that occur in a lower-case text, nil for none. The
// short ones count in their shape only.
func (s *keywordSet) in(lower string) keywordHits {
	var hits keywordHits
	for i := 0; i+1 < len(lower); i++ {
		pair := uint16(lower[i])<<8 | uint16(lower[i+1])
		if s.pairs[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		for _, w := range s.by[pair] {
			if !hits[w] && strings.HasPrefix(lower[i:], w) && followed(w, lower[i+len(w):]) {
				if hits == nil {
					hits = keywordHits{}
				}
				hits[w] = true
			}
		}
	}
	return hits
}
