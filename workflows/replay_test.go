package workflows_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"coxswain/workflows"
)

// histories are recorded from real runs against the real server. They are frozen: what
// has been recorded once replays for ever, and a new path gets a file of its own.
//
//	go test ./worker -run HistoriesAreRecorded -record
const histories = "../testdata/histories"

func replay(t *testing.T, path string) error {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	workflows.Register(r)
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history(t, path))
}

func history(t *testing.T, path string) *historypb.History {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// recorded lists the histories that have to replay.
func recorded(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(histories, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recorded history: %v", err)
	}
	return paths
}

// A change of the workflows that these cannot follow needs workflow.GetVersion.
func TestRecordedHistoriesReplay(t *testing.T) {
	for _, path := range recorded(t) {
		if err := replay(t, path); err != nil {
			t.Errorf("%s does not replay: %v", filepath.Base(path), err)
		}
	}
}

// Every kind of workflow is among them.
func TestEveryWorkflowHasARecordedHistory(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range recorded(t) {
		h := history(t, path)
		seen[h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()] = true
	}
	for _, name := range []string{workflows.LoopName, workflows.AssignmentName, workflows.NudgeName, workflows.DeliveryName, workflows.ClockName} {
		if !seen[name] {
			t.Errorf("there is no history of %s", name)
		}
	}
}

// A history that was recorded once is neither changed nor removed.
func TestRecordedHistoriesAreFrozen(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(histories, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok || listed[name] {
			t.Fatalf("SHA256SUMS has the line %q", line)
		}
		listed[name] = true
		content, err := os.ReadFile(filepath.Join(histories, name))
		if err != nil {
			t.Errorf("a frozen history is gone: %v", err)
		} else if digest := sha256.Sum256(content); hex.EncodeToString(digest[:]) != sum {
			t.Errorf("the frozen history %s was changed", name)
		}
	}
	bad, err := filepath.Glob(filepath.Join(histories, "known-bad", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(recorded(t), bad...) {
		name, err := filepath.Rel(histories, path)
		if err != nil {
			t.Fatal(err)
		}
		if !listed[filepath.ToSlash(name)] {
			t.Errorf("%s is not in SHA256SUMS: append the output of sha256sum", name)
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
	for _, path := range recorded(t) {
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
