package codextest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// ModelSlug is the model of the tests: with it Codex offers apply_patch and takes calls of
// MCP tools in the namespace form.
const ModelSlug = "gpt-5.5"

const configTOML = `model = %q
model_provider = "scripted"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 600000

[features]
plugins = false
remote_plugin = false
apps = false
shell_snapshot = false
unbounded_connection_retries = false

[analytics]
enabled = false

[feedback]
enabled = false
`

// WriteHome makes a hermetic CODEX_HOME below the folder and returns its path.
// baseURL is Server.BaseURL.
func WriteHome(tb testing.TB, dir, baseURL string) string {
	tb.Helper()
	home, err := MakeHome(dir, baseURL)
	if err != nil {
		tb.Fatal(err)
	}
	return home
}

// MakeHome is WriteHome for programs that are no tests.
func MakeHome(dir, baseURL string) (string, error) {
	home := filepath.Join(dir, "codex-home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	text := fmt.Sprintf(configTOML, ModelSlug, baseURL)
	return home, os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600)
}

// Env is the whole environment of a hermetic Codex: nothing of the tester's own
// but PATH.
func Env(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(home), "CODEX_HOME=" + home,
		"RUST_LOG=error", "LANG=C.UTF-8", "SHELL=/bin/bash",
	}
}
