package appserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coxswain/activities/codex"
)

// profileName is the permission profile that every thread runs under.
const profileName = "cox"

// secretNames are variables that the agent's shell does not get, besides those
// with KEY, SECRET or TOKEN in their names, which Codex itself leaves out.
var secretNames = []string{
	"*PASSWORD*", "*PASSWD*", "*CREDENTIAL*", "*_AUTH", "*AUTH_*", "*COOKIE*", "*_DSN", "*DATABASE_URL*",
	"COX_*", "CTC_*", "CLT_*", "AWS_*", "CODEX_HOME",
}

// checkSpec refuses what Codex would take without a word: a folder that is not
// there, and paths that mean something else for another working directory.
func checkSpec(spec codex.ThreadSpec) error {
	for _, path := range append([]string{spec.CWD}, spec.DenyPaths...) {
		if !filepath.IsAbs(path) {
			return refused("path %q of the thread is not absolute", path)
		}
	}
	if spec.TempDir != "" && !filepath.IsAbs(spec.TempDir) {
		return refused("temporary folder %q of the thread is not absolute", spec.TempDir)
	}
	if info, err := os.Stat(spec.CWD); err != nil || !info.IsDir() {
		return refused("%s, the thread's folder, is no folder", spec.CWD)
	}
	if spec.MCP.Command != "" && spec.MCP.Name == "" {
		return refused("the coordination server %s has no name", spec.MCP.Command)
	}
	return nil
}

func refused(format string, args ...any) error {
	return &codex.Error{Kind: codex.ErrRefused, Message: fmt.Sprintf(format, args...)}
}

// threadParams are the parameters of thread/start and thread/resume: the whole
// configuration, because Codex keeps none of it.
func (h *Host) threadParams(spec codex.ThreadSpec) map[string]any {
	params := map[string]any{
		"cwd":            spec.CWD,
		"approvalPolicy": "never",
		"config":         h.threadConfig(spec),
	}
	if spec.AskPerson {
		params["approvalPolicy"] = "on-request"
	}
	if spec.Model != "" {
		params["model"] = spec.Model
	}
	if spec.DeveloperInstructions != "" {
		params["developerInstructions"] = spec.DeveloperInstructions
	}
	return params
}

func (h *Host) threadConfig(spec codex.ThreadSpec) map[string]any {
	config := map[string]any{
		"default_permissions":      profileName,
		"permissions":              map[string]any{profileName: profile(spec, h.opts.CodexHome)},
		"projects":                 projects(spec),
		"shell_environment_policy": shellEnvironment(spec),
	}
	if spec.ProjectConfig {
		config["bypass_hook_trust"] = true // the owner trusts the project's hooks, too; else Codex skips each new one
	}
	if spec.MCP.Command != "" {
		config["mcp_servers"] = map[string]any{spec.MCP.Name: h.mcpServer(spec.MCP)}
	}
	return config
}

// profile is the permission profile of a thread: the workspace writable or not,
// .git always read-only, the network off, both temporary folders read-only, the
// thread's own one writable, and the denied paths and Codex's logins unreadable.
func profile(spec codex.ThreadSpec, codexHome string) map[string]any {
	files := map[string]any{":slash_tmp": "read", ":tmpdir": "read"}
	denied := append([]string{
		filepath.Join(codexHome, "auth.json"), filepath.Join(codexHome, ".credentials.json"),
	}, spec.DenyPaths...)
	for _, path := range denied {
		files[path] = "deny"
		if real, err := filepath.EvalSymlinks(path); err == nil {
			files[real] = "deny"
		}
	}
	if spec.TempDir != "" {
		files[spec.TempDir] = "write"
	}
	extends := ":read-only"
	if spec.Writable {
		extends = ":workspace"
	}
	return map[string]any{"extends": extends, "filesystem": files}
}

// projects marks the thread's folder, and the repository that a linked worktree
// belongs to, as not trusted unless the owner said so: project-local configuration,
// hooks and servers stay off. Either way Codex does not write its own trust into the
// user's config.toml.
func projects(spec codex.ThreadSpec) map[string]any {
	level := "untrusted"
	if spec.ProjectConfig {
		level = "trusted"
	}
	out := map[string]any{}
	for _, root := range []string{spec.CWD, repositoryRoot(spec.CWD)} {
		if root != "" {
			out[root] = map[string]any{"trust_level": level}
		}
	}
	return out
}

// repositoryRoot finds the main checkout of the folder by walking up to the
// first .git and, where that is a file, to the repository it names. Git is not
// run: the folder is the agent's.
func repositoryRoot(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil {
			if info.IsDir() {
				return dir
			}
			return worktreeOwner(git)
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// worktreeOwner reads "gitdir: <repo>/.git/worktrees/<name>".
func worktreeOwner(file string) string {
	data, err := os.ReadFile(file)
	if err != nil || len(data) > 4096 {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	common := filepath.Dir(filepath.Dir(filepath.Clean(path)))
	if filepath.Base(common) != ".git" {
		return ""
	}
	return filepath.Dir(common)
}

func shellEnvironment(spec codex.ThreadSpec) map[string]any {
	set := map[string]any{}
	if spec.TempDir != "" {
		set["TMPDIR"] = spec.TempDir
	}
	for name, value := range spec.Env {
		set[name] = value
	}
	return map[string]any{
		"inherit": "all", "ignore_default_excludes": false, "exclude": secretNames, "set": set,
	}
}

func (h *Host) mcpServer(server codex.MCPServer) map[string]any {
	out := map[string]any{
		"command": server.Command, "required": true,
		"default_tools_approval_mode": "approve",
		"startup_timeout_sec":         h.opts.MCPStartTimeout.Seconds(),
	}
	if len(server.Args) > 0 {
		out["args"] = server.Args
	}
	if len(server.Env) > 0 {
		out["env"] = server.Env
	}
	return out
}
