package errorwords_test

import (
	"strings"
	"testing"

	"coxswain/cmd/internal/errorwords"
)

func TestCheckFindsWhatTheCatalogueDoesNotSay(t *testing.T) {
	for name, c := range map[string]struct {
		stdout string
		exit   int
		want   string // in the error; "" for none
	}{
		"success":       {`{"ok":true}`, 0, ""},
		"for people":    {"no such thing\n", 4, ""},
		"nothing":       {"", 1, ""},
		"as it says":    {`{"ok":false,"error":{"code":"NOT_FOUND","message":"run"}}`, 4, ""},
		"of a tool":     {`{"ok":false,"error":{"code":"NOT_FOUND","message":"run"}}`, errorwords.Unknown, ""},
		"unknown":       {`{"ok":false,"error":{"code":"ODD","message":"odd"}}`, 1, "ODD is not in the catalogue"},
		"other exit":    {`{"ok":false,"error":{"code":"NOT_FOUND","message":"run"}}`, 3, "the catalogue says 4"},
		"silent":        {`{"ok":false,"error":{"code":"NOT_FOUND"}}`, 4, "without a message"},
		"without code":  {`{"ok":false,"status":"odd"}`, 5, "names no code"},
		"second of two": {`{"ok":true} {"ok":false,"error":{"code":"ODD","message":"odd"}}`, 1, "ODD"},
	} {
		err := errorwords.Check([]byte(c.stdout), c.exit)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
