package models

import (
	"slices"
	"strconv"
	"strings"
)

// SettingKey is one setting of a workspace: its name, what it means and how it is
// read and written as text.
type SettingKey struct {
	Name  string
	Usage string // for people, on one line
	Get   func(WorkspaceSettings) string
	set   func(*WorkspaceSettings, string) error
}

// WorkspaceSettingKeys are all settings of a workspace in the order in which they
// are shown. A new setting is a field and a row here.
func WorkspaceSettingKeys() []SettingKey {
	return append([]SettingKey{
		spanSetting("stall_timeout", "a turn without progress for so long is stalled; 0 never",
			func(s *WorkspaceSettings) *Span { return &s.StallTimeout }),
		spanSetting("turn_silence_timeout", "the same for a turn without any sign of life",
			func(s *WorkspaceSettings) *Span { return &s.TurnSilenceTimeout }),
		spanSetting("turn_total_timeout", "the same for a turn that runs for so long",
			func(s *WorkspaceSettings) *Span { return &s.TurnTotalTimeout }),
		wordSetting("on_stall", "ask a person, or stop the turn and go on",
			func(s *WorkspaceSettings) *string { return &s.OnStall }, OnStallAsk, OnStallStop),
		numberSetting("max_turns", "turns of one assignment before a person is asked; 0 no cap",
			func(s *WorkspaceSettings) *int { return &s.MaxTurns }),
		numberSetting("max_attempts", "the same for its runs",
			func(s *WorkspaceSettings) *int { return &s.MaxAttempts }),
		numberSetting("max_tokens", "the same for its tokens",
			func(s *WorkspaceSettings) *int64 { return &s.MaxTokens }),
		spanSetting("max_time", "the same for the time that its turns took",
			func(s *WorkspaceSettings) *Span { return &s.MaxTime }),
	}, isolationKeys()...)
}

func spanSetting(name, usage string, field func(*WorkspaceSettings) *Span) SettingKey {
	return SettingKey{
		Name: name, Usage: usage,
		Get: func(s WorkspaceSettings) string { return field(&s).String() },
		set: func(s *WorkspaceSettings, text string) error {
			v, err := ParseSpan(text)
			if err != nil {
				return Invalid(name, "%s", err)
			}
			*field(s) = v
			return nil
		},
	}
}

func numberSetting[N int | int64](name, usage string, field func(*WorkspaceSettings) *N) SettingKey {
	return SettingKey{
		Name: name, Usage: usage,
		Get: func(s WorkspaceSettings) string { return strconv.FormatInt(int64(*field(&s)), 10) },
		set: func(s *WorkspaceSettings, text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 || int64(N(n)) != n {
				return Invalid(name, "%q must be a whole number, 0 or more", text)
			}
			*field(s) = N(n)
			return nil
		},
	}
}

func wordSetting(name, usage string, field func(*WorkspaceSettings) *string, words ...string) SettingKey {
	return SettingKey{
		Name: name, Usage: usage + ": " + strings.Join(words, " or "),
		Get: func(s WorkspaceSettings) string { return *field(&s) },
		set: func(s *WorkspaceSettings, text string) error {
			if !slices.Contains(words, text) {
				return Invalid(name, "%q must be %s", text, strings.Join(words, " or "))
			}
			*field(s) = text
			return nil
		},
	}
}
