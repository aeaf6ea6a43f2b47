package codextest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"coxswain/activities/codex"
)

// Version is the Codex that the suites are proved with.
const Version = codex.TestedVersion

// Binary returns the native Codex executable: COX_CODEX_BIN, else the npm cache
// of the project ($XDG_CACHE_HOME or ~/.cache, folder coxswain-codex), else
// `codex` on PATH when it is of Version. Without one the test is skipped with
// the reason, and under CI=true it fails.
func Binary(tb testing.TB) string {
	tb.Helper()
	if bin := os.Getenv("COX_CODEX_BIN"); bin != "" {
		return bin
	}
	if bin := cachedBinary(); bin != "" {
		return bin
	}
	if bin, err := exec.LookPath("codex"); err == nil {
		cmd := exec.Command(bin, "--version")
		cmd.Env = Env(tb.TempDir()) // Codex makes folders in its home even for that
		out, err := cmd.Output()
		if err == nil && strings.TrimSpace(string(out)) == "codex-cli "+Version {
			return bin
		}
	}
	reason := "no Codex " + Version + ": set COX_CODEX_BIN, or install it with " +
		"`npm install --prefix ~/.cache/coxswain-codex @openai/codex@" + Version + "`"
	if os.Getenv("CI") == "true" {
		tb.Fatal(reason)
	}
	tb.Skip(reason)
	return ""
}

func cachedBinary() string {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		cache = filepath.Join(home, ".cache")
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	pattern := filepath.Join(cache, "coxswain-codex", "node_modules", "@openai",
		"codex-"+runtime.GOOS+"-"+arch, "vendor", "*", "bin", "codex")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}
