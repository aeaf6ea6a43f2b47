package ledger

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// genericRule is the library's rule for anything assigned to a telling name. Its
// keywords are so common that a text needs the shape of an assignment as well.
const genericRule = "generic-api-key"

// gitleaks holds the library's default rules. They are parsed at the first text
// with a keyword, and each is compiled when a text first has one of its own:
// compiling all takes about 50 ms. The detect package would do the same, but
// importing it costs every process its archive readers and templates.
type gitleaks struct {
	mu       sync.Mutex
	source   config.ViperConfig
	keywords [][]string // lower case, by rule
	compiled map[string]*config.Rule
	allowed  []*config.Allowlist
}

// gitleaksLoads counts how often the rules were parsed in this process, and
// gitleaksAsks how often a text had reason to be checked by them.
var gitleaksLoads, gitleaksAsks atomic.Int64

var loadGitleaks = sync.OnceValues(func() (*gitleaks, error) {
	gitleaksLoads.Add(1)
	g := &gitleaks{compiled: map[string]*config.Rule{}}
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &g.source); err != nil {
		return nil, fmt.Errorf("parse the secret rules: %w", err)
	}
	bare := g.source
	bare.Rules = nil
	translated, err := bare.Translate()
	if err != nil {
		return nil, fmt.Errorf("compile the secret rules: %w", err)
	}
	g.allowed = translated.Allowlists
	for _, r := range g.source.Rules {
		g.keywords = append(g.keywords, lowered(r.Keywords))
	}
	return g, nil
})

// gitleaksRule returns the id of the first library rule that finds a secret.
func gitleaksRule(text, lower string, hits keywordHits) (string, error) {
	generic := hits.any(genericKeywords()) && assignmentLike(lower)
	if !generic && !hits.any(gitleaksKeywords()) {
		return "", nil
	}
	gitleaksAsks.Add(1)
	g, err := loadGitleaks()
	if err != nil {
		return "", err
	}
	for i := range g.source.Rules {
		r := &g.source.Rules[i]
		if r.Regex == "" || r.Path != "" || r.ID == genericRule && !generic || !hits.any(g.keywords[i]) {
			continue
		}
		c, err := g.rule(i)
		if err != nil {
			return "", err
		}
		if g.finds(c, text) {
			return c.RuleID, nil
		}
	}
	return "", nil
}

func lowered(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return out
}

// rule compiles one rule, once.
func (g *gitleaks) rule(i int) (*config.Rule, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.source.Rules[i]
	id := r.ID
	if c := g.compiled[id]; c != nil {
		return c, nil
	}
	r.Keywords = slices.Clone(r.Keywords) // Translate changes them in place
	var one config.ViperConfig
	one.Rules = append(one.Rules, r)
	translated, err := one.Translate()
	if err != nil {
		return nil, fmt.Errorf("compile the secret rule %s: %w", id, err)
	}
	c := translated.Rules[id]
	g.compiled[id] = &c
	return &c, nil
}

// finds applies a rule as the library does: match, group, entropy, allowlists.
func (g *gitleaks) finds(r *config.Rule, text string) bool {
	for _, groups := range r.Regex.FindAllStringSubmatch(text, -1) {
		secret := secretGroup(groups, r.SecretGroup)
		if identity(secret) || r.Entropy != 0 && entropy(secret) <= r.Entropy {
			continue
		}
		if !allowedBy(g.allowed, groups[0], secret, text) && !allowedBy(r.Allowlists, groups[0], secret, text) {
			return true
		}
	}
	return false
}

// secretGroup is the named group, else the first that is not empty, else all.
func secretGroup(groups []string, named int) string {
	if named > 0 && named < len(groups) {
		return groups[named]
	}
	for _, s := range groups[1:] {
		if s != "" {
			return s
		}
	}
	return groups[0]
}

// allowedBy tells whether one of a rule's allowlists lets a finding pass.
func allowedBy(lists []*config.Allowlist, match, secret, line string) bool {
	for _, a := range lists {
		if allows(a, match, secret, line) {
			return true
		}
	}
	return false
}

// allows tells whether one allowlist lets a finding pass: by any of its parts, or
// by all of those it has where its condition is AND.
func allows(a *config.Allowlist, match, secret, line string) bool {
	target := secret
	switch a.RegexTarget {
	case "match":
		target = match
	case "line":
		target = line
	}
	regex, words := a.RegexAllowed(target), false
	if len(a.StopWords) > 0 {
		words, _ = a.ContainsStopWord(secret)
	}
	if a.MatchCondition != config.AllowlistMatchAnd {
		return regex || words
	}
	if len(a.Paths) > 0 {
		return false // needs a file's path, and arguments have none
	}
	some := len(a.Regexes)+len(a.StopWords) > 0
	return some && (regex || len(a.Regexes) == 0) && (words || len(a.StopWords) == 0)
}

// assignmentLike tells whether a telling name is followed closely by an operator
// and ten characters in a row, which the generic rule needs at least.
func assignmentLike(lower string) bool {
	for _, k := range genericKeywords() {
		for rest := lower; ; {
			i := strings.Index(rest, k)
			if i < 0 {
				break
			}
			rest = rest[i+len(k):]
			if assignsLong(rest[:min(len(rest), 64)]) {
				return true
			}
		}
	}
	return false
}

// assignsLong looks for an operator behind at most 23 characters of a name or
// blanks, and for a long word behind it.
func assignsLong(near string) bool {
	op := strings.IndexFunc(near, func(r rune) bool {
		return r != '_' && r != '.' && r != '-' && r != '\'' && r != '"' && !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if op < 0 || op > 23 || !strings.ContainsRune("=:,>|?", rune(near[op])) {
		return false
	}
	value := strings.TrimLeft(near[op:], "=:,>|?` '\"\t\r\n")
	return len(value) >= 10 && !strings.ContainsAny(value[:10], " \t\r\n'\"`;,:()")
}
