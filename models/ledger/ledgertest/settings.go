package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

func settingsTests() map[string]func(*env) {
	return map[string]func(*env){
		"workspace/settings_have_defaults_and_a_record": settingsRecorded,
		"workspace/settings_are_checked":                settingsChecked,
	}
}

func (e *env) configure(settings map[string]string) ledger.WorkspaceConfigured {
	e.Helper()
	out, err := e.l.ConfigureWorkspace(e.ctx, ledger.As(ann), space, ledger.WorkspaceChange{Settings: settings})
	e.ok(err)
	return out
}

func settingsRecorded(e *env) {
	w, err := e.l.Workspace(e.ctx, space)
	e.ok(err)
	same(e, "settings at first", w.Settings, models.DefaultWorkspaceSettings())
	out := e.configure(map[string]string{"stall_timeout": "90", "on_stall": "stop", "max_turns": "0"})
	sameJSON(e, "what changed", out.Changed, []models.SettingChange{
		{Key: "stall_timeout", From: "5m", To: "1m30s"}, {Key: "on_stall", From: "ask", To: "stop"}, {Key: "max_turns", From: "50", To: "0"},
	})
	stored, err := e.l.Workspace(e.ctx, space)
	e.ok(err)
	sameJSON(e, "stored workspace", stored, out.Workspace)
	same(e, "version", stored.Version, w.Version+1)
	changed, _ := e.last(models.EventWorkspaceConfigured).Payload["changed"].([]any)
	same(e, "changes in the event", len(changed), 3)
	sameJSON(e, "the first of them", changed[0], map[string]any{"key": "stall_timeout", "from": "5m", "to": "1m30s"})

	again := e.configure(map[string]string{"stall_timeout": "90s"})
	same(e, "version after the same value", again.Workspace.Version, stored.Version)
	back := e.configure(map[string]string{"stall_timeout": "", "on_stall": "", "max_turns": ""})
	same(e, "settings brought back", back.Workspace.Settings, models.DefaultWorkspaceSettings())
	_, err = e.l.RegisterWorkspace(e.ctx, ledger.As(ann), ledger.NewWorkspace{ID: space, Name: "Again"})
	e.ok(err)
}

func settingsChecked(e *env) {
	try := func(by models.Principal, id string, change ledger.WorkspaceChange) error {
		_, err := e.l.ConfigureWorkspace(e.ctx, ledger.As(by), id, change)
		return err
	}
	off := ledger.WorkspaceChange{Settings: map[string]string{"max_turns": "0"}}
	e.refused(models.CodeForbidden, try(agentA, space, off))
	e.refused(models.CodeForbidden, try(boss, space, off))
	e.refused(models.CodeNotFound, try(ann, "nowhere", off))
	wrong := 99
	e.refused(models.CodeVersionConflict, try(ann, space, ledger.WorkspaceChange{Settings: off.Settings, ExpectedVersion: &wrong}))
	near := e.refused(models.CodeInvalidArgument, try(ann, space, ledger.WorkspaceChange{Settings: map[string]string{"max_turn": "3"}}))
	same(e, "the hint", near.Next, "cox workspace set --help")
	for key, text := range map[string]string{"stall_timeout": "-1s", "max_tokens": "many", "on_stall": "kill", "max_time": "99999h"} {
		refusal := e.refused(models.CodeInvalidArgument, try(ann, space, ledger.WorkspaceChange{Settings: map[string]string{key: text}}))
		same(e, "the field", refusal.Details["field"], any(key))
	}
	w, err := e.l.Workspace(e.ctx, space)
	e.ok(err)
	same(e, "settings after refusals", w.Settings, models.DefaultWorkspaceSettings())
}

// last is the last event of a type in the ledger.
func (e *env) last(eventType string) models.Event {
	e.Helper()
	page, err := e.l.Events(e.ctx, ledger.EventFilter{Types: []string{eventType}, Limit: 1000})
	e.ok(err)
	if len(page) == 0 {
		e.Fatalf("no event %s", eventType)
	}
	return page[len(page)-1]
}
