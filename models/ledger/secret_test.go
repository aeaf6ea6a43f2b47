package ledger

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
	"pgregory.net/rapid"

	"coxswain/models"
)

func scan(t *testing.T, v any) (rule, field string) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	refusal := checkSecrets(text)
	if refusal == nil {
		return "", ""
	}
	if !models.IsCode(refusal, models.CodeSecretDetected) {
		t.Fatalf("unexpected error %v", refusal)
	}
	typed, _ := errors.AsType[*models.Error](refusal)
	details := typed.Details
	return details["rule"].(string), details["field"].(string)
}

// The values are put together here, so that no file of the project holds one.
func TestSecretsAreFound(t *testing.T) {
	for rule, text := range map[string]string{
		"private-key":          "-----BEGIN RSA " + "PRIVATE KEY-----",
		"authorization-header": "curl -H 'Authorization: " + "Bearer abc123def' x",
		"bearer-token":         "send bearer " + "0a1b2c3d4e5f6a7b8c9d",
		"basic-credentials":    "Basic " + "YWxhZGRpbjpvcGVuc2VzYW1l",
		"cookie":               "Set-Cookie: " + "session=8f7a6b5c4d; Path=/",
		"password-in-url":      "postgres://app:" + "hunter2@db.local/app",
		"aws-access-key":       "AKIA" + "IOSFODNN7EXAMPLE",
		"github-token":         "ghp_" + strings.Repeat("a1B2", 9),
		"gitlab-token":         "glpat-" + "x1y2z3x1y2z3x1y2z3x1",
		"api-key":              "sk-" + "ant-api03-0123456789abcdef",
		"slack-token":          "xoxb-" + "123456789012-abcdefghij",
		"google-api-key":       "AIza" + strings.Repeat("Sy0", 11) + "ab",
		"jwt":                  "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w",
		"secret-assignment":    "export DB_PASSWORD=" + "correcthorse",
		"secret-statement":     "the client_secret: " + "n0tForYourEyes",
		"stripe-access-token":  "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc4eC39H",
	} {
		if got, _ := scan(t, map[string]any{"summary": text}); got != rule {
			t.Errorf("%s: found %q in %q", rule, got, text)
		}
		if got, field := scan(t, map[string]any{"list": []any{map[string]any{text: 1}}}); got != rule || field != "list[0].(a key)" {
			t.Errorf("%s as a key: found %q at %q", rule, got, field)
		}
	}
}

func TestNamesOfSecrets(t *testing.T) {
	for _, key := range []string{"password", "DB_PASSWORD", "clientSecret", "Api-Key", "githubToken", "token", "Authorization", "set-cookie", "aws.secret_key"} {
		if rule, field := scan(t, map[string]any{"metadata": map[string]any{key: "something"}}); rule != "secret-name" || field != "metadata."+key {
			t.Errorf("%s: found %q at %q", key, rule, field)
		}
		for _, stand := range []any{"", "<redacted>", "***", "${TOKEN}", "$TOKEN", "env:TOKEN", "{{ token }}", "null", nil, true, "[hidden]"} {
			if rule, _ := scan(t, map[string]any{key: stand}); rule != "" {
				t.Errorf("%s: %v: found %q", key, stand, rule)
			}
		}
	}
	for _, key := range []string{"token_count", "tokens", "max_tokens", "tokenizer", "secretary", "password_policy", "author", "monkey", "keyboard", "cookie_policy"} {
		if rule, _ := scan(t, map[string]any{key: "something1234567"}); rule != "" {
			t.Errorf("%s: found %q", key, rule)
		}
	}
}

func TestInnocentTexts(t *testing.T) {
	for _, text := range []string{
		"a63a2bd3dbb3787b52b3cc644449d76979191f63",
		"key: a63a2bd3dbb3787b52b3cc644449d76979191f63",
		"token = 019f2093-3b06-7310-bc1f-08ccc3e4f917",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"codex://threads/019f2093-3b06-7310-bc1f-08ccc3e4f917",
		"cmd_start_assignment_task_abc_rev7_attempt1",
		"idempotency key: cmd_start_assignment_task_abc_rev7_attempt1",
		"token := cfg.AccessToken", "password = os.Getenv(\"DB_PASSWORD\")", "secret=$SECRET", "api_key: required",
		"We read the token, then the password is checked; the secret never leaves the keychain.",
		"bearer authentication-middleware", "basic understanding-of-the-design", "task-1234567890-abcdefghijkl and risk-assessment-2024-final",
		"git@github.com:org/repo.git and ssh://git@host:22/x and https://example.com:8080/a@b",
		"-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
		"src/coordination_memory_mcp/cli.py",
	} {
		if rule, _ := scan(t, map[string]any{"summary": text}); rule != "" {
			t.Errorf("%q: found %q", text, rule)
		}
	}
}

// Text without a keyword does not ask the library's rules, and so does not load
// them; they are loaded once.
func TestRulesAreLoadedOnlyWhenNeeded(t *testing.T) {
	before := gitleaksAsks.Load()
	for _, clean := range []string{
		"Reading the design, then the tests. All 12 pass; password rules unchanged.",
		"task.alpha: the api-server keeps its token count; see they.go, docs/design/local-codex-loop-detailed-design.md and task-12.",
		"codex-worker-a", "codex://threads/019f2093-3b06-7310-bc1f-08ccc3e4f917", "a63a2bd3dbb3787b52b3cc644449d76979191f63",
	} {
		if rule, _ := scan(t, map[string]any{"assignment_id": "task.alpha", "summary": clean}); rule != "" {
			t.Fatalf("%q: found %q", clean, rule)
		}
		if n := gitleaksAsks.Load(); n != before {
			t.Fatalf("%q asked the library's rules", clean)
		}
	}
	for range 2 {
		scan(t, map[string]any{"summary": "dop_v1_x"})
	}
	if n := gitleaksAsks.Load(); n != before+2 {
		t.Fatalf("a keyword of the library asked its rules %d times, want 2", n-before)
	}
	if n := gitleaksLoads.Load(); n != 1 {
		t.Fatalf("the rules were loaded %d times in this process", n)
	}
}

// The keywords that decide whether rules are loaded are those of the library.
func TestKeywordsAreTheLibrarys(t *testing.T) {
	var source config.ViperConfig
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &source); err != nil {
		t.Fatal(err)
	}
	want, generic := map[string]bool{}, []string{}
	for _, r := range source.Rules {
		switch {
		case r.ID == genericRule:
			generic = lowered(r.Keywords)
		case r.Path != "" || r.Regex == "": // needs a file's path
		case len(r.Keywords) == 0:
			t.Errorf("rule %s has no keyword, and would never be asked", r.ID)
		default:
			for _, k := range lowered(r.Keywords) {
				want[k] = true
			}
		}
	}
	if got := slices.Sorted(slices.Values(gitleaksKeywords())); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("keywords differ from the library's: %v", got)
	}
	slices.Sort(generic)
	if !slices.Equal(genericKeywords(), generic) {
		t.Errorf("generic keywords: have %v, want %v", genericKeywords(), generic)
	}
}

// What a short keyword must be followed by is no more than its rule demands.
func TestShapesOfShortKeywords(t *testing.T) {
	for rule, text := range map[string]string{
		"twilio-api-key":                     "SK" + "0123456789abcdef0123456789abcdef",
		"vault-service-token":                "s." + "a1B2c3D4e5F6g7H8i9J0k1L2 ",
		"huggingface-access-token":           "hf_" + "qZxWcVbNmAsDfGhJkLpOiUyTrEwQaZsXeD ",
		"sendgrid-api-token":                 "SG." + "a1B2c3D4e5F6g7H8i9J0kl" + "." + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0abc ",
		"octopus-deploy-api-key":             "API-" + "A1B2C3D4E5F6G7H8I9J0K1L2M3 ",
		"harness-api-key":                    "pat." + "a1B2c3D4e5F6g7H8i9J0kl" + "." + "0a1b2c3d4e5f0a1b2c3d4e5f" + "." + "a1B2c3D4e5F6g7H8i9J0",
		"azure-ad-client-secret":             "=" + "a1b2Q~" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q ",
		"1password-secret-key":               "A3-" + "A1B2C3-D4E5F6G7H8I-J9K0L-M1N2P-Q3R4S",
		"aws-access-token":                   "A3T" + "X" + "A2B3C4D5E6F7G2H3",
		"authress-service-client-access-key": "sc_" + "abcde12345" + "." + "abcd" + ".acc-" + "0123456789" + "." + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5 ",
	} {
		lower := strings.ToLower(text)
		if got, err := gitleaksRule(text, lower, keywords().in(lower)); got != rule || err != nil {
			t.Errorf("%s: found %q in %q (%v)", rule, got, text, err)
		}
	}
}

// The rules of the library that this package skips need the path of a file, and
// every other one compiles.
func TestEveryRuleCompiles(t *testing.T) {
	g, err := loadGitleaks()
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	for i, r := range g.source.Rules {
		if r.Regex == "" || r.Path != "" {
			continue
		}
		if _, err := g.rule(i); err != nil {
			t.Error(err)
		}
		compiled++
	}
	if compiled < 200 {
		t.Errorf("only %d rules", compiled)
	}
}

// One pass finds what a search for each keyword finds.
func TestKeywordsInOnePass(t *testing.T) {
	all := allKeywords()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(all), rapid.StringMatching(`[a-z_:/-]{0,4}`)), 0, 6).Draw(t, "parts")
		text := strings.Join(parts, "")
		hits := keywords().in(text)
		for _, k := range all {
			_, short := shapes[k]
			if hits[k] != strings.Contains(text, k) && (!short || hits[k]) {
				t.Fatalf("%q in %q: %v", k, text, hits[k])
			}
		}
	})
}

func BenchmarkCheckSecretsClean(b *testing.B) {
	text := []byte(`{"summary":"` + strings.Repeat("Reading the design and then its tests. ", 50) + `"}`)
	for b.Loop() {
		if err := checkSecrets(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckSecretsWithKeyword(b *testing.B) {
	text := []byte(`{"summary":"` + strings.Repeat("the api key: see docs/secrets-handling.md in github. ", 50) + `"}`)
	for b.Loop() {
		if err := checkSecrets(text); err != nil {
			b.Fatal(err)
		}
	}
}
