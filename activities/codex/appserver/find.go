package appserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"coxswain/activities/codex"
)

// CacheFolder is where the project's own installation of Codex lives below the
// user's cache folder.
const CacheFolder = "coxswain-codex"

// Find returns the native Codex executable for an environment: COX_CODEX_BIN,
// else `codex` on its PATH, where the node wrapper of the npm package is
// replaced by the native binary that it would start (one process less), else
// the project's npm cache ($XDG_CACHE_HOME or ~/.cache). Without one the error
// is codex.ErrNotFound and names the PATH searched.
func Find(env []string) (string, error) {
	if bin := lookup(env, "COX_CODEX_BIN"); bin != "" {
		if !executable(bin) {
			return "", notFound("COX_CODEX_BIN names %s, which is no executable file", bin)
		}
		return native(bin), nil
	}
	path := lookup(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if bin := filepath.Join(dir, "codex"); filepath.IsAbs(dir) && executable(bin) {
			return native(bin), nil
		}
	}
	cache := cacheDir(env)
	if bin := inPackages(filepath.Join(cache, "node_modules", "@openai")); bin != "" {
		return bin, nil
	}
	return "", notFound("no codex on PATH (%s) nor below %s; install Codex, or set COX_CODEX_BIN to its executable "+
		"(a service has another PATH than a shell)", path, cache)
}

func notFound(format string, args ...any) error {
	return &codex.Error{Kind: codex.ErrNotFound, Message: fmt.Sprintf(format, args...)}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func cacheDir(env []string) string {
	cache := lookup(env, "XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(lookup(env, "HOME"), ".cache")
	}
	return filepath.Join(cache, CacheFolder)
}

// native resolves the npm package's node wrapper, <package>/bin/codex.js, to the
// binary of the platform's package, which lies beside or inside it. Anything
// else is returned as it is.
func native(bin string) string {
	target, err := filepath.EvalSymlinks(bin)
	if err != nil || filepath.Ext(target) != ".js" {
		return bin
	}
	pkg := filepath.Dir(filepath.Dir(target))
	for _, scope := range []string{filepath.Dir(pkg), filepath.Join(pkg, "node_modules", "@openai")} {
		if found := inPackages(scope); found != "" {
			return found
		}
	}
	if found := filepath.Join(pkg, "vendor", triple(), "bin", "codex"); executable(found) {
		return found
	}
	return bin
}

func inPackages(scope string) string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	name := "codex-" + runtime.GOOS + "-" + arch
	if bin := filepath.Join(scope, name, "vendor", triple(), "bin", "codex"); executable(bin) {
		return bin
	}
	return ""
}

// triple is the target name in the npm package's vendor folder.
func triple() string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if runtime.GOOS == "darwin" {
		return arch + "-apple-darwin"
	}
	return arch + "-unknown-linux-musl"
}

// BinaryVersion asks an executable for its version, such as "0.171.0". Codex
// makes folders in its home even for that, so it gets a passing one.
func BinaryVersion(ctx context.Context, bin string, env []string) (version string, err error) {
	home, err := os.MkdirTemp("", "cox-codex-home-")
	if err != nil {
		return "", err
	}
	defer func() {
		if e := os.RemoveAll(home); err == nil {
			err = e
		}
	}()
	cmd := exec.CommandContext(ctx, bin, "--version")
	cmd.Env = setenv(env, "CODEX_HOME", home)
	out, err := cmd.Output()
	if err != nil {
		return "", &codex.Error{Kind: codex.ErrStartup, Message: bin + " --version", Cause: err}
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "codex-cli ")
	if !ok {
		return "", &codex.Error{Kind: codex.ErrStartup, Message: fmt.Sprintf("%s --version says %.80q, which is not Codex", bin, out)}
	}
	return version, nil
}
