package ledger

import (
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// secretRule finds secrets that the library's rules miss, or that they let pass
// as examples. Its expression is compiled at first use.
type secretRule struct {
	id       string
	keywords []string // lower case; at least one occurs in the text
	pattern  func() *regexp.Regexp
	secret   func(match string) bool // judges the last group; nil takes every match
}

func rule(id, pattern string, secret func(string) bool, keywords ...string) secretRule {
	return secretRule{
		id: id, keywords: keywords, secret: secret,
		pattern: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) }),
	}
}

// ownRules are checked before the library's (comem section 6 lists the shapes).
var ownRules = []secretRule{
	rule("private-key", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`, nil, "private key"),
	rule("authorization-header", `(?i)authorization["']?\s*[:=]\s*["']?(?:bearer|basic|digest|token)\s+([^\s"',;]{6,})`, notPlaceholder, "authorization"),
	rule("bearer-token", `(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})`, mixed, "bearer"),
	rule("basic-credentials", `(?i)\bbasic\s+([A-Za-z0-9+/]{16,}={0,2})(?:[^A-Za-z0-9+/=]|$)`, base64ish, "basic"),
	rule("cookie", `(?i)\b(?:set-cookie|cookie)["']?\s*:\s*["']?[^\s=;:"']+=([^\s;"']{6,})`, notPlaceholder, "cookie"),
	rule("password-in-url", `(?i)\b[a-z][a-z0-9+.-]*://[^\s/@:?#"']*:([^\s/@?#"']+)@`, notPlaceholder, "://"),
	rule("aws-access-key", `\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`, nil, "akia", "asia"),
	rule("github-token", `\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,})`, nil, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	rule("gitlab-token", `\bglpat-[A-Za-z0-9_-]{20,}`, nil, "glpat-"),
	rule("api-key", `\b(sk-[A-Za-z0-9_-]{20,})`, mixed, "sk-"),
	rule("slack-token", `\bxox[abeprs]-[A-Za-z0-9-]{10,}`, nil, "xox"),
	rule("google-api-key", `\bAIza[A-Za-z0-9_-]{35}`, nil, "aiza"),
	rule("jwt", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, nil, "eyj"),
	rule("secret-assignment", `(?i)(?:^|[^a-z0-9])(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|secret|secret[_-]?key|api[_-]?key|access[_-]?key|private[_-]?key|(?:access|refresh|auth|api|session|id)[_-]?token|token)["']?\s*(?:=|:=)\s*["']?([^\s"',;()]{4,})`,
		assigned, "password", "passwd", "passphrase", "secret", "key", "token"),
	rule("secret-statement", `(?i)(?:^|[^a-z0-9])(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|client[_-]?secret|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|(?:access|refresh|auth|api|session)[_-]?token)["']?\s*:\s*["']?([^\s"',;()]{6,})`,
		mixed, "password", "passwd", "passphrase", "secret", "key", "token"),
}

func (r secretRule) finds(text string, hits keywordHits) bool {
	if !hits.any(r.keywords) {
		return false
	}
	if r.secret == nil {
		return r.pattern().MatchString(text)
	}
	for _, groups := range r.pattern().FindAllStringSubmatch(text, -1) {
		if r.secret(groups[len(groups)-1]) {
			return true
		}
	}
	return false
}

// secretNames are the names whose values are secrets, as the whole key or as its
// last words: "db_password" is one, "token_count" is not.
func secretNames() []string {
	return []string{
		"password", "passwd", "passphrase", "secret", "token", "api_key", "apikey", "access_key", "accesskey", "secret_key",
		"private_key", "privatekey", "client_secret", "authorization", "cookie", "credential", "credentials",
	}
}

// namesSecret tells whether a key of an object names a secret.
func namesSecret(key string) bool {
	name := snake(key)
	for _, n := range secretNames() {
		if name == n || strings.HasSuffix(name, "_"+n) {
			return true
		}
	}
	return false
}

// snake turns "clientSecret" and "Client-Secret" into "client_secret".
func snake(key string) string {
	var b strings.Builder
	var last rune
	for _, r := range key {
		if unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsDigit(last)) {
			b.WriteByte('_')
		}
		if r == '-' || r == '.' || r == ' ' {
			r = '_'
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return b.String()
}

// secretValue tells whether the value of a key that names a secret is one. Objects
// and lists are looked through by themselves; numbers count for passwords only.
func secretValue(key string, value any) bool {
	switch v := value.(type) {
	case string:
		return notPlaceholder(v)
	case float64:
		return strings.Contains(snake(key), "passw")
	}
	return false
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:|<[^>]*>|\[[^\]]*\]|\$\{?\w+\}?|\$\([^)]*\)|%\w+%|\{\{.*\}\}|\{\w*\}|[*.x•#-]+|…|` +
		`redacted|removed|hidden|masked|none|null|nil|unset|empty|required|optional|true|false|n/a|todo|tbd|` +
		`(?:env|vault|op|keychain|secret|file|codex):.*|(?:os\.)?(?:getenv|environ).*)$`)
})

// notPlaceholder tells whether a value is more than a stand-in or a reference to
// where the secret is kept.
func notPlaceholder(v string) bool { return !placeholder().MatchString(strings.TrimSpace(v)) }

// mixed tells whether a value has a digit and is no stand-in, so that prose and
// plain names pass.
func mixed(v string) bool { return strings.ContainsAny(v, "0123456789") && notPlaceholder(v) }

// assigned judges what follows "password=": code that reads it from elsewhere
// passes.
func assigned(v string) bool {
	return notPlaceholder(v) && !identity(v) && !strings.ContainsAny(v, "(){}[]<>") && !selector().MatchString(v)
}

// selector is a reference in code, such as cfg.Token or args.password.
var selector = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]+(?:\.[A-Za-z_]+)+$`) })

// base64ish tells a credential from prose after the word "basic".
func base64ish(v string) bool {
	return strings.ContainsAny(v, "0123456789=") && strings.ContainsFunc(v, unicode.IsUpper)
}

var identityPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64}|sha256[:-][0-9a-f]{64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|` +
		`codex://\S+|(?:run|evt|inv|cmd|msg|tsk|bnd)_[A-Za-z0-9_]+)$`)
})

// identity tells whether a value is a commit, a digest, a UUID, a codex link or
// one of the ledger's own ids.
func identity(v string) bool { return identityPattern().MatchString(v) }

// entropy is the Shannon entropy of a text in bits per byte.
func entropy(text string) float64 {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
