package appserver_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
)

// place makes an executable file and returns its path.
func place(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/usr/bin/env node\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// vendored is the native binary's place in the npm package of this platform.
func vendored() string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	target := machine + map[string]string{"linux": "-unknown-linux-musl", "darwin": "-apple-darwin"}[runtime.GOOS]
	return filepath.Join("codex-"+runtime.GOOS+"-"+arch, "vendor", target, "bin", "codex")
}

func TestFindResolvesTheNodeWrapper(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]string{"beside": ".", "inside": "codex/node_modules/@openai"} {
		root := t.TempDir()
		scope := filepath.Join(root, "lib/node_modules/@openai")
		wrapper := place(t, scope, "codex/bin/codex.js")
		want := place(t, scope, below, vendored())
		if err := os.Mkdir(filepath.Join(root, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(wrapper, filepath.Join(root, "bin/codex")); err != nil {
			t.Fatal(err)
		}
		got, err := appserver.Find([]string{"PATH=/nonexistent:" + filepath.Join(root, "bin")})
		if err != nil || !sameFile(t, got, want) {
			t.Errorf("%s: found %q (%v), want %q", name, got, err, want)
		}
	}
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

func TestFindOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cached := place(t, root, "cache", appserver.CacheFolder, "node_modules/@openai", vendored())
	env := []string{"PATH=" + filepath.Join(root, "bin"), "XDG_CACHE_HOME=" + filepath.Join(root, "cache")}
	want := func(where, path string) {
		t.Helper()
		if got, err := appserver.Find(env); err != nil || got != path {
			t.Errorf("%s: found %q (%v), want %q", where, got, err, path)
		}
	}
	want("cache", cached)
	want("PATH before cache", place(t, root, "bin/codex"))
	named := place(t, root, "named")
	env = append(env, "COX_CODEX_BIN="+named)
	want("COX_CODEX_BIN before PATH", named)
}

func TestFindNamesThePathItSearched(t *testing.T) {
	t.Parallel()
	_, err := appserver.Find([]string{"PATH=/usr/nowhere:/opt/nowhere", "HOME=" + t.TempDir()})
	wantKind(t, err, codex.ErrNotFound)
	if err == nil || !strings.Contains(err.Error(), "/usr/nowhere:/opt/nowhere") {
		t.Errorf("error %v does not name the PATH", err)
	}
	_, err = appserver.Find([]string{"COX_CODEX_BIN=" + t.TempDir()})
	wantKind(t, err, codex.ErrNotFound)
}

func TestVersionOfAnExecutable(t *testing.T) {
	t.Parallel()
	options := childOptions(t, "version")
	home := filepath.Join(t.TempDir(), "home")
	for text, want := range map[string]string{"codex-cli 1.2.3": "1.2.3", "grep 3.4": ""} {
		env := append(options.Env, "CODEX_HOME="+home, "SAYS="+text)
		got, err := appserver.BinaryVersion(t.Context(), options.Bin, env)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: version %q, %v", text, got, err)
		}
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("asking for the version made Codex's home")
	}
}
