package projection

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coxswain/models"
)

func accepted() models.Snapshot {
	at := time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	return models.Snapshot{
		SchemaVersion: models.SnapshotSchema, LedgerVersion: "coxswain-ledger.v2", AcceptedThrough: 9,
		Workspaces:        []models.SnapshotWorkspace{{ID: "site"}},
		Teams:             []models.SnapshotTeam{{ID: "web", WorkspaceID: "site"}},
		ActiveAssignments: map[string]models.AcceptedAssignment{"b": {Title: "B"}, "a": {Title: "A <b>"}},
		AcceptedEvents: []models.AcceptedEvent{{
			Sequence: 9, EventID: "evt_9", ReviewedEventID: "evt_8", AssignmentID: "a", Title: "A <b>", AcceptedBy: "boss", AcceptedAt: at,
			Summary: "done\n# no heading of ours\x1b[2J\n\nend", DecisionNote: "fine",
		}},
		SingleWriterRules: models.SingleWriterRules(),
	}
}

func write(t *testing.T, root, dir string, s models.Snapshot) Export {
	t.Helper()
	out, err := Write(root, dir, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheSameStateGivesTheSameBytes(t *testing.T) {
	root := t.TempDir()
	first := write(t, root, "docs", accepted())
	if !first.Changed || first.State != filepath.Join(root, "docs", "coxswain", "snapshots", "accepted-state.json") {
		t.Fatalf("%+v", first)
	}
	state, markdown := read(t, first.State), read(t, first.Events)
	before, err := os.Stat(first.State)
	if err != nil {
		t.Fatal(err)
	}
	again := write(t, root, filepath.Join(root, "docs"), accepted())
	after, err := os.Stat(first.State)
	if err != nil {
		t.Fatal(err)
	}
	if again.Changed || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Error("nothing changed, and the file was written again")
	}
	elsewhere := write(t, t.TempDir(), "", accepted())
	if read(t, elsewhere.State) != state || read(t, elsewhere.Events) != markdown {
		t.Error("two exports of one state differ")
	}
	var decoded models.Snapshot
	if err := json.Unmarshal([]byte(state), &decoded); err != nil || len(decoded.ActiveAssignments) != 2 || !strings.Contains(state, "A <b>") {
		t.Errorf("%v in %s", err, state)
	}
	more := accepted()
	more.AcceptedEvents[0].Summary = "done anew"
	if out := write(t, root, "docs", more); !out.Changed || !strings.Contains(read(t, out.Events), "> done anew") {
		t.Error("a change did not arrive")
	}
}

func TestTextsOfOthersStayQuotes(t *testing.T) {
	markdown := string(events(accepted()))
	if strings.Contains(markdown, "\n# no heading") || !strings.Contains(markdown, "\n> # no heading of ours") || strings.Contains(markdown, "\x1b") {
		t.Errorf("%s", markdown)
	}
	if empty := string(events(models.Snapshot{})); !strings.Contains(empty, "Nothing was accepted yet.") {
		t.Errorf("%s", empty)
	}
}

func TestNothingIsWrittenOutside(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{".git", "real"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"out": other, "in": filepath.Join(root, "real"), "real/coxswain": other} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"..", "../x", "docs/../..", other, filepath.Dir(root), "/", ".git", ".GIT/hooks", "docs/.git", "out", "out/x", "in", "real"} {
		if out, err := Write(root, dir, accepted()); !models.IsCode(err, models.CodeInvalidArgument) {
			t.Errorf("%s: %+v, %v", dir, out, err)
		}
	}
	for _, place := range []string{root, other} {
		if files := filesIn(t, place); len(files) > 0 {
			t.Errorf("a refused export left %v", files)
		}
	}
	if _, err := Write(filepath.Join(root, "none"), "", accepted()); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func filesIn(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Readers never see a part of a file, and no writer leaves its own behind.
func TestExportsAtOnceLeaveWholeFiles(t *testing.T) {
	root := t.TempDir()
	texts := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 100_000)}
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			s := accepted()
			s.AcceptedEvents[0].Summary = texts[i%2]
			if _, err := Write(root, "", s); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true
		default:
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(stateFile)))
		if err != nil {
			continue // not there yet
		}
		var s models.Snapshot
		if err := json.Unmarshal(text, &s); err != nil || !slices.Contains(texts, s.AcceptedEvents[0].Summary) {
			t.Fatalf("a reader saw a part: %v", err)
		}
	}
	if files := filesIn(t, root); len(files) != 2 {
		t.Errorf("left %v", files)
	}
}
