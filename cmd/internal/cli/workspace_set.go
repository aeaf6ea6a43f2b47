package cli

import (
	"context"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

func workspaceSetLeaf() leaf {
	return leaf{
		name: "set", usage: "change settings of a workspace", argument: "KEY=VALUE…",
		about:   "An empty value brings the default back. What a run goes by is read at each decision,\nso that a change counts for runs under way. Only a person may set one.\n\n" + settingsHelp(),
		example: "cox workspace set --workspace site stall_timeout=10m on_stall=stop",
		options: []*option{
			workspaceOption(),
			{name: "expected-version", kind: countKind, usage: "refuse when the workspace's version is not `N`"},
		},
		run: workspaceSet,
	}
}

// settingsHelp names every key with its default.
func settingsHelp() string {
	usual := models.DefaultWorkspaceSettings()
	lines := make([]string, 0, len(models.WorkspaceSettingKeys()))
	for _, k := range models.WorkspaceSettingKeys() {
		value := k.Get(usual)
		if value == "" {
			value = "none"
		}
		lines = append(lines, k.Name+" ("+value+"): "+k.Usage)
	}
	return strings.Join(lines, "\n")
}

func workspaceSet(ctx context.Context, in *call) error {
	change := ledger.WorkspaceChange{}
	var err error
	if change.Settings, err = assignments(in.many); err != nil {
		return err
	}
	if in.given("expected-version") {
		n := in.whole("expected-version")
		change.ExpectedVersion = &n
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	w, err := in.workspace(ctx, l)
	if err != nil {
		return err
	}
	c := in.request()
	out, err := l.ConfigureWorkspace(ctx, c, w.ID, change)
	if err != nil {
		return err
	}
	return in.answer(fields{"workspace": out.Workspace, "changed": out.Changed, "replayed": c.Replayed}, func(p *printer) {
		for _, s := range out.Changed {
			p.line("Workspace %s: %s is %s, was %s", w.ID, s.Key, orDash(s.To), orDash(s.From))
		}
		if len(out.Changed) == 0 {
			p.line("Workspace %s: nothing changed", w.ID)
		}
	})
}

// assignments reads arguments of the form KEY=VALUE, and refuses a key that is given
// twice.
func assignments(arguments []string) (map[string]string, error) {
	out := make(map[string]string, len(arguments))
	for _, argument := range arguments {
		key, value, found := strings.Cut(argument, "=")
		if !found {
			return nil, models.Invalid("settings", "%q is not of the form KEY=VALUE", argument).Hint("cox workspace set %s=VALUE", argument)
		}
		key = strings.TrimSpace(key)
		if _, twice := out[key]; twice {
			return nil, models.Invalid("settings", "%s is given twice", key).With("key", key).Hint("cox workspace set --help; give each key once")
		}
		out[key] = strings.TrimSpace(value)
	}
	return out, nil
}

// workspaceSettings prints the settings of a workspace; what is not the default is marked.
func (p *printer) workspaceSettings(s models.WorkspaceSettings) {
	usual, rows := models.DefaultWorkspaceSettings(), [][]any{}
	for _, k := range models.WorkspaceSettingKeys() {
		note := ""
		if k.Get(s) != k.Get(usual) {
			note = "default " + orDash(k.Get(usual))
		}
		rows = append(rows, []any{k.Name, orDash(k.Get(s)), note})
	}
	p.table("", []string{"SETTING", "VALUE", ""}, rows)
}
