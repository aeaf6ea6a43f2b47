package notify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func lookup(name string) (string, bool) {
	if name == "SECRET_TOKEN" {
		return "x", true
	}
	return os.LookupEnv(name)
}

func TestTheCommandGetsOneDocumentAndNoSecrets(t *testing.T) {
	dir := t.TempDir()
	line := "cat > " + filepath.Join(dir, "in") + "; env > " + filepath.Join(dir, "env")
	t.Setenv("COX_DB", "postgres://secret")
	if err := Run(t.Context(), line, 0, map[string]any{"id": "ntc_1", "summary": "two\nlines"}, lookup); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "in"))
	var doc map[string]string
	if err != nil || json.Unmarshal(raw, &doc) != nil || doc["id"] != "ntc_1" || doc["summary"] != "two\nlines" {
		t.Errorf("stdin %q %v", raw, err)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil || strings.Contains(string(env), "secret") || strings.Contains(string(env), "SECRET_TOKEN") || !strings.Contains(string(env), "PATH=") {
		t.Errorf("environment %q %v", env, err)
	}
}

func TestHowTheCommandFailedIsTold(t *testing.T) {
	err := Run(t.Context(), "echo no such chat >&2; exit 3", 0, nil, lookup)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such chat") {
		t.Errorf("%v", err)
	}
	if err := Run(t.Context(), "exec /nowhere/program", 0, nil, lookup); err == nil {
		t.Error("a program that is not there succeeded")
	}
}

func TestACommandThatHangsIsEndedWithItsChildren(t *testing.T) {
	began := time.Now()
	err := Run(t.Context(), "sleep 60 & sleep 60", 200*time.Millisecond, nil, lookup)
	if err == nil || !strings.Contains(err.Error(), "200ms") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
