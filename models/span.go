package models

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Span is a length of time that is written as people write it: 90s, 5m, 2h, or a
// bare number of seconds. It is never negative.
type Span time.Duration

// MaxSpan is the longest that a Span may be.
const MaxSpan = Span(30 * 24 * time.Hour)

// ParseSpan reads a span; the error is one sentence for a person.
func ParseSpan(text string) (Span, error) {
	if seconds, err := strconv.Atoi(text); err == nil {
		text = strconv.Itoa(seconds) + "s"
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q must be a duration such as 10 (seconds), 90s or 5m", text)
	case d < 0:
		return 0, errors.New("must not be negative")
	case Span(d) > MaxSpan:
		return 0, fmt.Errorf("must be at most %s", MaxSpan)
	}
	return Span(d), nil
}

// Duration is the span as the standard library counts.
func (s Span) Duration() time.Duration { return time.Duration(s) }

// String writes the span without units that are zero, such as 5m; 0 is "0".
func (s Span) String() string {
	if s == 0 {
		return "0"
	}
	text := time.Duration(s).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(text []byte) error {
	v, err := ParseSpan(string(text))
	*s = v
	return err
}
