package models

import (
	"path/filepath"
	"strings"
	"time"
)

// A setting that is switched.
const (
	SettingOn  = "on"
	SettingOff = "off"
)

// What Codex takes of a project's own .codex folder.
const (
	ProjectConfigOff     = "off"     // nothing: its configuration, hooks and servers stay off
	ProjectConfigTrusted = "trusted" // all of it: the owner's recorded opt-in
)

// IsolationSettings are what a workspace's owner decided about worktrees, hooks and
// the project's own Codex configuration.
type IsolationSettings struct {
	Worktree      string `json:"worktree"`       // SettingOn or SettingOff (default): whether each assignment gets one
	WorktreeRoot  string `json:"worktree_root"`  // an absolute folder; "" is the state directory's own name with -worktrees
	WorktreeKeep  Span   `json:"worktree_keep"`  // how long a clean one outlives its assignment; 24 hours
	BranchPrefix  string `json:"branch_prefix"`  // cox/
	ProjectConfig string `json:"project_config"` // ProjectConfigOff (default) or ProjectConfigTrusted

	HookAfterCreate  string `json:"hook_after_create"`  // none, as the following
	HookBeforeRun    string `json:"hook_before_run"`    //
	HookAfterRun     string `json:"hook_after_run"`     //
	HookBeforeRemove string `json:"hook_before_remove"` //
	HookTimeout      Span   `json:"hook_timeout"`       // of each hook; 60 seconds
}

// Limits of hooks: one may not hold up its assignment for longer, and its command
// stays readable.
const (
	MinHookTimeout = Span(time.Second)
	MaxHookTimeout = Span(10 * time.Minute)
	MaxHookCommand = 4000
)

// DefaultIsolation are the settings of a workspace whose owner set none.
func DefaultIsolation() IsolationSettings {
	return IsolationSettings{
		Worktree: SettingOff, WorktreeKeep: Span(24 * time.Hour), BranchPrefix: "cox/", ProjectConfig: ProjectConfigOff,
		HookTimeout: Span(time.Minute),
	}
}

func isolationKeys() []SettingKey {
	return []SettingKey{
		wordSetting("worktree", "a Git worktree for each assignment that does not say otherwise",
			func(s *WorkspaceSettings) *string { return &s.Worktree }, SettingOff, SettingOn),
		textSetting("worktree_root", "an absolute folder above all worktrees; by default beside the state directory, its name with -worktrees",
			func(s *WorkspaceSettings) *string { return &s.WorktreeRoot }, checkWorktreeRoot),
		spanSetting("worktree_keep", "a worktree that holds nothing of its own is removed so long after its assignment's end",
			func(s *WorkspaceSettings) *Span { return &s.WorktreeKeep }),
		textSetting("branch_prefix", "what the branches of worktrees begin with",
			func(s *WorkspaceSettings) *string { return &s.BranchPrefix }, CheckBranchPrefix),
		wordSetting("project_config", "whether Codex reads the project's own .codex folder, with its hooks and servers",
			func(s *WorkspaceSettings) *string { return &s.ProjectConfig }, ProjectConfigOff, ProjectConfigTrusted),
		hookSetting("hook_after_create", "a command that is run once a worktree is made; its failure fails the start",
			func(s *WorkspaceSettings) *string { return &s.HookAfterCreate }),
		hookSetting("hook_before_run", "the same before each run",
			func(s *WorkspaceSettings) *string { return &s.HookBeforeRun }),
		hookSetting("hook_after_run", "a command that is run after each run; its failure is recorded",
			func(s *WorkspaceSettings) *string { return &s.HookAfterRun }),
		hookSetting("hook_before_remove", "the same before a worktree is removed",
			func(s *WorkspaceSettings) *string { return &s.HookBeforeRemove }),
		hookTimeout(),
	}
}

// textSetting is a setting whose text is checked.
func textSetting(name, usage string, field func(*WorkspaceSettings) *string, check func(string) error) SettingKey {
	return SettingKey{
		Name: name, Usage: usage,
		Get: func(s WorkspaceSettings) string { return *field(&s) },
		set: func(s *WorkspaceSettings, text string) error {
			if err := check(text); err != nil {
				return err
			}
			*field(s) = text
			return nil
		},
	}
}

func hookSetting(name, usage string, field func(*WorkspaceSettings) *string) SettingKey {
	return textSetting(name, usage, field, func(text string) error {
		if len(text) > MaxHookCommand || strings.ContainsRune(text, 0) {
			return Invalid(name, "must be at most %d bytes of text", MaxHookCommand).Hint("name a script")
		}
		return nil
	})
}

func hookTimeout() SettingKey {
	key := spanSetting("hook_timeout", "a hook that takes longer is killed with all that it started",
		func(s *WorkspaceSettings) *Span { return &s.HookTimeout })
	set := key.set
	key.set = func(s *WorkspaceSettings, text string) error {
		if err := set(s, text); err != nil || s.HookTimeout < MinHookTimeout || s.HookTimeout > MaxHookTimeout {
			return Invalid(key.Name, "%q must be between %s and %s, such as 90s", text, MinHookTimeout, MaxHookTimeout)
		}
		return nil
	}
	return key
}

// Spares refuses a folder for worktrees that lies inside the workspace's repository,
// where they would be files of it. Paths are compared as they are written: the node
// looks again once links are followed.
func (s IsolationSettings) Spares(w Workspace) error {
	for _, repo := range []string{w.RepoRoot, w.GitCommonDir} {
		if s.WorktreeRoot == "" || repo == "" {
			continue
		}
		if rel, err := filepath.Rel(repo, s.WorktreeRoot); err == nil && filepath.IsLocal(rel) {
			return Invalid("worktree_root", "%s lies inside the repository %s", s.WorktreeRoot, repo).
				Hint("cox workspace set --workspace %s worktree_root=…; name a folder outside", w.ID)
		}
	}
	return nil
}

// checkWorktreeRoot refuses a folder that is not one clear place; IsolationSettings.Spares
// refuses one inside the repository.
func checkWorktreeRoot(root string) error {
	clean := filepath.Clean(root)
	if root == "" || filepath.IsAbs(root) && clean == root && clean != filepath.Dir(clean) {
		return nil
	}
	return Invalid("worktree_root", "%q must be an absolute path of one folder, without \".\", \"..\" and double slashes", root)
}
