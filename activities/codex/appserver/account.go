package appserver

import (
	"context"
	"encoding/json"
)

// Account is what Codex says of its login, without anything private.
type Account struct {
	Kind     string // how the user is logged in, such as apiKey or chatgpt; "" is not at all
	Required bool   // the configured model provider needs OpenAI's login
}

// Ready tells whether turns have the login that they need, as far as Codex knows
// without asking its provider.
func (a Account) Ready() bool { return a.Kind != "" || !a.Required }

// Account asks the running Codex who is logged in. It needs no network.
func (h *Host) Account(ctx context.Context) (Account, error) {
	var answer struct {
		Account *struct {
			Type string `json:"type"`
		} `json:"account"`
		Required bool `json:"requiresOpenaiAuth"`
	}
	if err := h.call(ctx, "account/read", json.RawMessage("{}"), &answer); err != nil {
		return Account{}, err
	}
	a := Account{Required: answer.Required}
	if answer.Account != nil {
		a.Kind = answer.Account.Type
	}
	return a, nil
}

// Offline are overrides for a host that shall ask nobody anything: no plugins,
// apps, updates or statistics.
func Offline() []string {
	return []string{
		"check_for_update_on_startup=false", "features.plugins=false", "features.remote_plugin=false", "features.apps=false",
		"features.shell_snapshot=false", "analytics.enabled=false", "feedback.enabled=false",
	}
}
