package ledger

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"coxswain/models"
)

// The limits of what a caller may store by one call. They keep a list, a prompt
// and a page readable, and one call from filling the ledger.
const (
	MaxTitle     = 500        // characters of a title or a name for people
	MaxPlace     = 4096       // characters of a path or a link
	MaxCriterion = 4000       // characters of one acceptance criterion
	MaxCriteria  = 100        // acceptance criteria of one assignment
	MaxText      = 20_000     // characters of a note, reason, response, summary or prompt
	MaxMessage   = 4000       // characters of a person's words into a turn; a prompt holds them whole
	MaxObject    = 256 * 1024 // bytes of one JSON object, as encoded
)

// textLimits are the limits of the arguments that are texts, in characters.
func textLimits() map[string]int {
	return map[string]int{
		"title": MaxTitle, "name": MaxTitle, "display_name": MaxTitle, "phase_key": MaxTitle, "dedupe_key": MaxTitle, "reason_code": MaxTitle,
		"intervention_kind": MaxTitle, "actor_kind": MaxTitle, "provider": MaxTitle, "default_branch": MaxTitle,
		"session_kind": MaxTitle, "session_ref": MaxTitle, "branch": MaxTitle, "base_commit": MaxTitle,
		"interactive_url": MaxPlace, "worktree_path": MaxPlace,
		"note": MaxText, "reason": MaxText, "response": MaxText, "summary": MaxText, "prompt": MaxText,
		"message": MaxMessage, "why_now": MaxText, "recommended_action": MaxText,
	}
}

// checkLimits refuses arguments that are too large, and control characters in
// what stands on one line of a list. The fields are visited by name, so that the
// same arguments are always refused for the same one.
func checkLimits(in args) error {
	if wrong := limitsPassed(in); len(wrong) > 0 {
		return wrong[0]
	}
	return nil
}

// limitsPassed lists what checkLimits refuses, one error a field.
func limitsPassed(in args) []error {
	var wrong []error
	for _, field := range slices.Sorted(maps.Keys(in)) {
		if err := checkLimit(field, in[field]); err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

func checkLimit(field string, v any) error {
	switch v := v.(type) {
	case string:
		return checkText(field, v)
	case map[string]any:
		return checkObject(field, v)
	case []string:
		for _, entry := range v {
			if err := checkStorable(field, entry); err != nil {
				return err
			}
		}
		if field == "acceptance_criteria" {
			return checkCriteria(field, v)
		}
	}
	return nil
}

// checkStorable refuses what not every database can keep.
func checkStorable(field, text string) error {
	if storable(text) != text {
		return models.Invalid(field, "holds a zero character, or bytes that are no UTF-8")
	}
	return nil
}

// storable is a text without what not every database can keep. It is for texts that
// were observed and cannot be refused.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func checkText(field, text string) error {
	if err := checkStorable(field, text); err != nil {
		return err
	}
	limit, limited := textLimits()[field]
	if !limited {
		return nil
	}
	if n := utf8.RuneCountInString(text); n > limit {
		return tooLarge(field, "characters", n, limit)
	}
	if (limit == MaxTitle || limit == MaxPlace) && strings.ContainsFunc(text, steers) {
		return models.Invalid(field, "holds a control character")
	}
	return nil
}

// steers tells whether a character could steer a terminal.
func steers(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

func checkObject(field string, v map[string]any) error {
	if len(v) == 0 {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return models.Invalid(field, "cannot be encoded as JSON").Because(err)
	}
	if len(text) > MaxObject {
		return tooLarge(field, "bytes of JSON", len(text), MaxObject)
	}
	return nil
}

func checkCriteria(field string, criteria []string) error {
	if len(criteria) > MaxCriteria {
		return tooLarge(field, "entries", len(criteria), MaxCriteria)
	}
	for i, c := range criteria {
		if n := utf8.RuneCountInString(c); n > MaxCriterion {
			return tooLarge(field, "characters in one entry", n, MaxCriterion).With("index", i)
		}
	}
	return nil
}

func tooLarge(field, unit string, size, limit int) *models.Error {
	return models.Invalid(field, "has %d %s; at most %d are allowed", size, unit, limit).
		With("size", size).With("limit", limit).Hint("keep long text in a file of the workspace and name its path")
}
