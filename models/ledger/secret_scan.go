package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coxswain/models"
)

// scanSecrets looks through canonical JSON, keys and values alike, and refuses the
// first secret.
func scanSecrets(canonical []byte) error {
	found, err := findSecrets(canonical)
	if err != nil || len(found) == 0 {
		return err
	}
	return found[0].refusal()
}

// findSecrets lists the fields of canonical JSON that hold a secret, in a fixed
// order. Text without a keyword of any rule is not even decoded.
func findSecrets(canonical []byte) ([]secretFound, error) {
	if lower := strings.ToLower(string(canonical)); len(keywords().in(lower)) == 0 && !namesAny(lower) {
		return nil, nil
	}
	var document any
	if err := json.Unmarshal(canonical, &document); err != nil {
		return nil, models.Invalid("arguments", "cannot be read back").Because(err)
	}
	var found []secretFound
	err := walkSecrets("", document, &found)
	return found, err
}

// secretFound is a field that holds a secret, by the rule that found it.
type secretFound struct{ field, rule string }

// refusal names the field and the rule, never the value.
func (s secretFound) refusal() *models.Error {
	field, rule := s.field, s.rule
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

// walkSecrets visits a decoded document in a fixed order and adds each field in which
// a rule finds something.
func walkSecrets(path string, v any, found *[]secretFound) error {
	switch v := v.(type) {
	case string:
		return judgeText(path, v, found)
	case []any:
		for i, e := range v {
			if err := walkSecrets(fmt.Sprintf("%s[%d]", path, i), e, found); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := walkEntry(path, key, v[key], found); err != nil {
				return err
			}
		}
	}
	return nil
}

// walkEntry checks one key by itself, the value by the key's name, and the value.
func walkEntry(path, key string, value any, found *[]secretFound) error {
	if err := judgeText(join(path, "(a key)"), key, found); err != nil {
		return err
	}
	at := join(path, key)
	if namesSecret(key) && secretValue(key, value) {
		*found = append(*found, secretFound{at, "secret-name"})
		return nil
	}
	return walkSecrets(at, value, found)
}

// judgeText adds the field of a text that holds a secret.
func judgeText(field, text string, found *[]secretFound) error {
	rule, err := textRule(text)
	if rule != "" {
		*found = append(*found, secretFound{field, rule})
	}
	return err
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
