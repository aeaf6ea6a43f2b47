package models

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

// MaxIDPart is the longest id a caller may choose, in bytes. Workflow ids are
// built of such parts (design, the workflows).
const MaxIDPart = 64

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckID refuses an id that a caller chose outside
// [A-Za-z0-9][A-Za-z0-9._-]{0,63}: an id that began with a dash would read as a
// flag, and "." and ".." as folders. The field names the argument in the error.
func CheckID(field, id string) error {
	if idPattern.MatchString(id) {
		return nil
	}
	if id == "" {
		return Invalid(field, "is required")
	}
	return Invalid(field, "%q must be 1 to 64 of the characters A-Z a-z 0-9 . _ -, the first a letter or a digit", id)
}

// ShortHash returns the first n hex digits of the SHA-256 of the text.
func ShortHash(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}

// IDPart fits a text into one part of an id: a part that would be longer than
// 64 is cut to 55 and gets "_" and 8 hex of its hash.
func IDPart(text string) string {
	if len(text) <= MaxIDPart {
		return text
	}
	return text[:55] + "_" + ShortHash(text, 8)
}

// CommandID renders the seed's command id
//
//	cmd_<command_type>_<assignment_id>_<revision_or_event_id>_attempt<n>
//
// (seed 000, command journal). Every character outside [A-Za-z0-9_] becomes "_"
// and ends are stripped; an id that this changed gets "_" and 8 hex of its hash,
// so that "a.b" and "a-b" stay two. The journal is unique on the tuple, not on
// this text.
func CommandID(t CommandType, target, cause string, attempt int) string {
	return "cmd_" + string(t) + "_" + sanitiseID(target) + "_" + sanitiseID(cause) + "_attempt" + strconv.Itoa(attempt)
}

func sanitiseID(id string) string {
	mapped := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
	out := strings.Trim(mapped, "_")
	if out != id {
		out += "_" + ShortHash(id, 8)
	}
	return out
}
