package workflows_test

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"coxswain/workflows"
)

// histories are recorded from real runs against the real server:
//
//	go test ./worker -run AssignmentIsAccepted -update
const histories = "../testdata/histories"

func replay(t *testing.T, path string) error {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	workflows.Register(r)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h)
}

// A change of the workflows that these cannot follow needs workflow.GetVersion.
func TestRecordedHistoriesReplay(t *testing.T) {
	for _, name := range []string{"loop", "assignment", "nudge", "delivery", "clock"} {
		if err := replay(t, filepath.Join(histories, name+".json")); err != nil {
			t.Errorf("%s does not replay: %v", name, err)
		}
	}
}

// A replay that accepts everything would prove nothing.
func TestKnownBadHistoriesFail(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(histories, "known-bad", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no known-bad history: %v", err)
	}
	for _, path := range paths {
		if err := replay(t, path); err == nil || !strings.Contains(err.Error(), "TMPRL1100") {
			t.Errorf("%s: %v, want a nondeterminism error", filepath.Base(path), err)
		}
	}
}

var (
	payload  = regexp.MustCompile(`"data":\s*"([A-Za-z0-9+/=]+)"`)
	identity = regexp.MustCompile(`"identity":\s*"([^"]*)"`)
	machine  = regexp.MustCompile(`/(home|root|tmp|work|var|Users|private)/|[0-9]+@`)
)

func TestRecordedHistoriesNameNoMachine(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(histories, "*.json"))
	if err != nil || len(paths) != 5 {
		t.Fatalf("histories %v, %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Clone(text)
		for _, m := range payload.FindAllSubmatch(text, -1) {
			decoded, err := base64.StdEncoding.DecodeString(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			all = append(append(all, '\n'), decoded...)
		}
		if m := machine.Find(all); m != nil {
			t.Errorf("%s has %q", path, m)
		}
		for _, m := range identity.FindAllSubmatch(text, -1) {
			if string(m[1]) != "cox" {
				t.Errorf("%s has the identity %s", path, m[1])
			}
		}
	}
}
