package codex_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coxswain/activities/codex"
)

// The script installs what the tests expect and what cox version names.
func TestInstallScriptPinsTheSameVersion(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "install-codex.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(script), "\nversion="+codex.TestedVersion+"\n") {
		t.Errorf("scripts/install-codex.sh does not install %s", codex.TestedVersion)
	}
	if !slices.Contains(codex.KnownVersions(), codex.TestedVersion) {
		t.Error("the tested version is not among the known ones")
	}
}
