package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coxswain/models"
)

// scanSecrets looks through canonical JSON, keys and values alike. Text without a
// keyword of any rule is not even decoded.
func scanSecrets(canonical []byte) error {
	if lower := strings.ToLower(string(canonical)); len(keywords().in(lower)) == 0 && !namesAny(lower) {
		return nil
	}
	var document any
	if err := json.Unmarshal(canonical, &document); err != nil {
		return models.Invalid("arguments", "cannot be read back").Because(err)
	}
	field, rule, err := walkSecrets("", document)
	if err != nil || rule == "" {
		return err
	}
	return secretDetected(field, rule)
}

// secretDetected names the field and the rule, never the value.
func secretDetected(field, rule string) error {
	return models.Errorf(models.CodeSecretDetected, "%s: holds what looks like a secret (%s); nothing was stored", field, rule).
		With("field", field).With("rule", rule).
		Hint("name where the secret is kept instead, such as env:NAME, or write <redacted>")
}

// namesAny tells whether a text holds a name of a secret, in any spelling.
func namesAny(lower string) bool {
	for _, n := range secretNames() {
		if strings.Contains(lower, n) {
			return true
		}
	}
	return false
}

// walkSecrets visits a decoded document in a fixed order and returns the first
// field in which a rule finds something.
func walkSecrets(path string, v any) (field, rule string, err error) {
	switch v := v.(type) {
	case string:
		rule, err = textRule(v)
		return path, rule, err
	case []any:
		for i, e := range v {
			if field, rule, err = walkSecrets(fmt.Sprintf("%s[%d]", path, i), e); rule != "" || err != nil {
				return field, rule, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if field, rule, err = walkEntry(path, key, v[key]); rule != "" || err != nil {
				return field, rule, err
			}
		}
	}
	return "", "", nil
}

// walkEntry checks one key by itself, the value by the key's name, and the value.
func walkEntry(path, key string, value any) (field, rule string, err error) {
	if rule, err = textRule(key); rule != "" || err != nil {
		return join(path, "(a key)"), rule, err
	}
	at := join(path, key)
	if namesSecret(key) && secretValue(key, value) {
		return at, "secret-name", nil
	}
	return walkSecrets(at, value)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// textRule returns the id of the first rule that finds a secret in a text.
func textRule(text string) (string, error) {
	lower := strings.ToLower(text)
	hits := keywords().in(lower)
	if len(hits) == 0 {
		return "", nil
	}
	for _, r := range ownRules {
		if r.finds(text, hits) {
			return r.id, nil
		}
	}
	return gitleaksRule(text, lower, hits)
}
