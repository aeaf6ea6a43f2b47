package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// What a stalled turn leads to.
const (
	OnStallAsk  = "ask"  // a person is asked, and the turn runs on
	OnStallStop = "stop" // the turn is interrupted: the owner's recorded approval
)

// WorkspaceSettings are what a workspace's owner decided about its runs. The zero
// value is not the default: DefaultWorkspaceSettings is. Spans are texts such as
// "5m" in JSON and in the ledger; 0 switches a clock or a cap off.
type WorkspaceSettings struct {
	StallTimeout       Span   `json:"stall_timeout"`        // a turn without progress; 5 minutes
	TurnSilenceTimeout Span   `json:"turn_silence_timeout"` // a turn without any sign of life; 15 minutes
	TurnTotalTimeout   Span   `json:"turn_total_timeout"`   // one turn from start to end; 1 hour
	OnStall            string `json:"on_stall"`             // OnStallAsk (default) or OnStallStop

	// Caps of one assignment over all its runs; a person lets it go on.
	MaxTurns    int   `json:"max_turns"`    // 50
	MaxAttempts int   `json:"max_attempts"` // runs; 10
	MaxTokens   int64 `json:"max_tokens"`   // none
	MaxTime     Span  `json:"max_time"`     // that its turns took, together; none

	IsolationSettings
}

// DefaultWorkspaceSettings are those of a workspace whose owner never set any.
func DefaultWorkspaceSettings() WorkspaceSettings {
	return WorkspaceSettings{
		StallTimeout: Span(5 * time.Minute), TurnSilenceTimeout: Span(15 * time.Minute), TurnTotalTimeout: Span(time.Hour),
		OnStall: OnStallAsk, MaxTurns: 50, MaxAttempts: 10,
		IsolationSettings: DefaultIsolation(),
	}
}

// UnmarshalJSON reads settings over the defaults, so that a key that was never
// stored has its default.
func (s *WorkspaceSettings) UnmarshalJSON(text []byte) error {
	type plain WorkspaceSettings
	out := plain(DefaultWorkspaceSettings())
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	*s = WorkspaceSettings(out)
	return nil
}

// With is the settings with some keys changed; a blank value brings a key's default
// back. Errors: INVALID_ARGUMENT naming the first wrong key by name.
func (s WorkspaceSettings) With(changes map[string]string) (WorkspaceSettings, error) {
	known := WorkspaceSettingKeys()
	usual := DefaultWorkspaceSettings()
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		i := slices.IndexFunc(known, func(k SettingKey) bool { return k.Name == name })
		if i < 0 {
			return s, unknownSetting(name, known)
		}
		text := changes[name]
		if text == "" {
			text = known[i].Get(usual)
		}
		if err := known[i].set(&s, text); err != nil {
			return s, helpedSetting(err)
		}
	}
	return s, nil
}

// settingsHelp is the command that says of every setting what it may be.
const settingsHelp = "cox workspace set --help"

// helpedSetting adds the next step to a refused value that has none of its own.
func helpedSetting(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Next == "" {
		return e.Hint(settingsHelp)
	}
	return err
}

func unknownSetting(name string, known []SettingKey) error {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.Name
	}
	what := fmt.Sprintf("a workspace has no setting %q", name)
	if near := Nearest(name, names); near != "" {
		what += ". Did you mean " + near + "?"
	}
	return Invalid("settings", "%s", what).With("key", name).With("known", names).Hint(settingsHelp)
}

// SettingChange is one key that differs between two settings.
type SettingChange struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
}

// ChangedSettings lists the keys in which two settings differ, in the order of
// WorkspaceSettingKeys.
func ChangedSettings(from, to WorkspaceSettings) []SettingChange {
	out := []SettingChange{}
	for _, k := range WorkspaceSettingKeys() {
		if a, b := k.Get(from), k.Get(to); a != b {
			out = append(out, SettingChange{Key: k.Name, From: a, To: b})
		}
	}
	return out
}
